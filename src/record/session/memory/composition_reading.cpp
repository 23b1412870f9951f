#include "record/session/memory/composition_reading.h"

#include "attach/allocators/state/process_reader.h"
#include "base/clock.h"
#include "linux/process/status.h"
#include "record/session/memory/held_memory.h"

namespace fathom::session {

MakeReader reader_of_processes() {
  return [](std::int32_t pid) { return std::make_unique<allocators::ProcessReader>(pid); };
}

HeldInTime read_held_in_time(std::int32_t pid, std::vector<process::MapEntry> maps,
                             allocators::AddressRanges present, const MakeReader& make_reader) {
  auto work = Abandonable<allocators::AllocatorStates>::start(
      [pid, maps = std::move(maps), present = std::move(present), make_reader] {
        const auto reader = make_reader(pid);
        return allocators::read_allocator_states(
            maps, present, *reader, allocators::ReadingLimits::of(present, monotonic_ns() + kHeldNs));
      });
  if (!work) return {};
  if (!work->wait_until(monotonic_ns() + kHeldHangsNs)) return {.states = std::nullopt, .hangs = true};
  return {.states = work->take(), .hangs = false};
}

// A terabyte of which all is cached takes seconds, so what a moment's time does not suffice for is not known. The tables of one
// RocksDB are hundreds of files.
std::vector<sources::CachedFile> ask_databases(std::int32_t pid,
                                               std::span<const sources::MemoryMapping> mappings) {
  constexpr std::size_t kMost = 256;
  constexpr std::uint64_t kTimeNs = 200'000'000;
  const auto asked = sources::databases_worth_asking(mappings, kMost);
  if (asked.empty()) return {};
  return sources::join_tables(sources::read_page_cache(pid, asked, monotonic_ns() + kTimeNs));
}

std::vector<sources::CachedFile> ask_no_database(std::int32_t, std::span<const sources::MemoryMapping>) {
  return {};
}

namespace {

// The kernel takes the memory of a process apart from its SIGKILL on, for a tenth of a second and more: a part of it is no
// picture of the whole.
bool is_torn(std::int32_t pid, const sources::MemoryReading& reading, const process::MemoryUse& before) {
  std::uint64_t read = 0;
  for (const sources::MemoryMapping& mapping : reading.mappings) read += mapping.rss;
  const std::uint64_t rss = before.rss_anon + before.rss_file + before.rss_shmem;
  return read < rss - rss / 50 && process::is_ending(pid);
}

}  // namespace

CompositionReading::Outcome CompositionReading::read(std::int32_t pid, const CompositionOptions& options,
                                                     const MakeReader& make_reader, Plain& plain) {
  Outcome outcome;
  const auto use = process::read_memory(pid);
  const auto files_since = [&plain](std::uint64_t time_ns) {
    const std::lock_guard lock(plain.mutex);
    plain.files_since_ns = time_ns;
  };
  auto reading = sources::read_mappings(
      pid, options.budget_ns, options.by_smaps,
      [&](std::int32_t of, const std::vector<process::MapEntry>& entries, bool has_huge_files) {
        files_since(monotonic_ns());
        auto answers = options.ask_files(of, entries, has_huge_files);
        files_since(0);
        return answers;
      });
  if (reading && use && is_torn(pid, *reading, *use)) {
    outcome.read = fail(ErrorKind::kNotFound, "the process is ending");
    return outcome;
  }
  if (!reading) {
    outcome.read = tl::unexpected<Error>(reading.error());
    return outcome;
  }
  outcome.way = reading->way;
  outcome.whole = reading->whole;
  outcome.took_ns = reading->took_ns;
  outcome.longest_ns = reading->longest_ns;
  if (!reading->whole) return outcome;
  // Also a file that answered a moment ago may not do so now.
  files_since(monotonic_ns());
  outcome.databases = options.ask_databases(pid, reading->mappings);
  files_since(0);
  const auto stacks = sources::read_stack_pointers(pid);
  const bool held =
      (!options.traced || options.free_before) && reading->way == sources::ReadingWay::kPageScan;
  std::vector<process::MapEntry> maps;
  if (held)
    for (const sources::MemoryMapping& mapping : reading->mappings) maps.push_back(mapping.entry);
  auto judged = sources::judge_mappings(std::move(reading->mappings), stacks);
  if (options.traced) {
    if (held) {
      const HeldInTime in_time =
          read_held_in_time(pid, std::move(maps), present_of(reading->pages), make_reader);
      if (in_time.states) outcome.free_before = free_memory_of(*in_time.states, reading->pages);
    }
    outcome.mappings = std::move(judged);
    outcome.pages = std::move(reading->pages);
    return outcome;
  }
  MemoryComposition composition(std::move(judged), {}, {});
  if (held) {
    // Where blocks are not known, the allocators' own records say what is theirs.
    const allocators::AddressRanges present = present_of(reading->pages), huge = huge_pages_of(*reading);
    composition.set_pages(std::move(reading->pages));
    {
      const std::lock_guard lock(plain.mutex);
      plain.composition = std::make_shared<const MemoryComposition>(composition);
      plain.since_ns = monotonic_ns();
    }
    const auto reader = make_reader(pid);
    const auto states = allocators::read_allocator_states(
        maps, present, *reader, allocators::ReadingLimits::of(present, monotonic_ns() + kHeldNs));
    outcome.held_cut = states.cut;
    add_held_by_name(states, huge, composition);
  }
  outcome.composition = std::move(composition);
  return outcome;
}

std::optional<CompositionReading> CompositionReading::start(std::int32_t pid, std::uint64_t time_ns,
                                                            const CompositionOptions& options,
                                                            const MakeReader& make_reader) {
  auto plain = std::make_shared<Plain>();
  auto work = Abandonable<Outcome>::start([pid, options, make_reader, plain] {
    Outcome outcome = read(pid, options, make_reader, *plain);
    // The cost is CPU time: on a full machine the wall clock also measures other programs.
    outcome.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    return outcome;
  });
  if (!work) return std::nullopt;
  return CompositionReading(std::move(*work), std::move(plain), time_ns);
}

CompositionReading::Outcome CompositionReading::take() {
  if (auto outcome = work_.take()) return std::move(*outcome);
  Outcome none;
  none.read = fail(ErrorKind::kSystem, "there is not enough memory for it");
  return none;
}

std::pair<std::shared_ptr<const MemoryComposition>, std::uint64_t> CompositionReading::without_records()
    const {
  const std::lock_guard lock(plain_->mutex);
  return {plain_->composition, plain_->since_ns};
}

std::uint64_t CompositionReading::waits_for_file_since() const {
  const std::lock_guard lock(plain_->mutex);
  return plain_->files_since_ns;
}

}  // namespace fathom::session
