#include "record/session/memory/memory_snapshots.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "linux/memory/memory_reading.h"
#include "linux/process/status.h"
#include "record/session/memory/memory_composition.h"

namespace fathom::session {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kShare = 200;  // a reading is paid for with so much time without any
// Of the pages of one reading: with pauses, during the recording (2 TiB); and by smaps, which delays the
// process.
constexpr std::uint64_t kScanNs = 60 * kSecond, kSmapsNs = kSecond / 5;
constexpr double kDearestSmapsPageNs = 107;
// For which the recording waits for readings, of all processes together: only where blocks are laid over the pages, as
// both should be of one moment. Meanwhile the mappings of a new process are not known, and its stacks are cut.
constexpr std::uint64_t kWaitWithBlocksNs = kSecond / 50, kWaitAtEndNs = 3 * kSecond;
constexpr std::uint64_t kMostPages = std::uint64_t{1} << 22;  // looked at one by one: 16 GiB, 20 ms
constexpr std::uint32_t kStoredPerDistance = 60;
// Growth by which a composition is worth keeping, whatever the time.
constexpr std::uint64_t kLeastGrowth = 4 << 20, kMostGrowth = 256 << 20;

// The cost is CPU time: on a full machine the wall clock also measures other programs.
std::uint64_t own_cpu_ns() {
  return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

std::optional<sources::FileAnswers> ask_no_file(std::int32_t, const std::vector<process::MapEntry>&, bool) {
  return std::nullopt;
}

std::uint64_t rss_of(const std::vector<model::MemoryRange>& rows) {
  std::uint64_t sum = 0;
  for (const model::MemoryRange& row : rows) sum += row.rss_bytes;
  return sum;
}

}  // namespace

bool has_grown(std::uint64_t largest, std::uint64_t rss) {
  return rss > largest && rss - largest >= std::max(kLeastGrowth, std::min(largest / 50, kMostGrowth));
}

std::vector<model::MemoryRange> MemorySnapshots::as_a_whole(std::uint64_t now_ns, std::int32_t pid,
                                                            model::ProcessId process) {
  const auto use = process::read_memory(pid);
  if (!use) return {};
  std::vector<model::MemoryRange> rows;
  for (const auto& [kind, bytes] : {std::pair(model::MemoryKind::kFile, use->rss_file),
                                    std::pair(model::MemoryKind::kShared, use->rss_shmem),
                                    std::pair(model::MemoryKind::kNotSplit, use->rss_anon)}) {
    model::MemoryRange row;
    row.time_ns = now_ns;
    row.process = process;
    row.kind = kind;
    row.rss_bytes = bytes;
    if (kind == model::MemoryKind::kNotSplit) {
      row.anonymous_bytes = bytes;
      row.swap_bytes = use->swap;
    }
    rows.push_back(row);
  }
  return rows;
}

// Memory from before the recording is in no block that it knows.
bool MemorySnapshots::was_there_before(const State& state) const {
  return profile_.processes[state.process.value].start_ns == 0;
}

std::vector<model::MemoryRange> MemorySnapshots::give_up(std::uint64_t now_ns, std::int32_t pid,
                                                         model::ProcessId process, State& state,
                                                         std::string_view why) {
  if (!std::exchange(state.noted, true))
    notes_.push_back(fmt::format("memory: the mappings of process {} are not separated: {}", pid, why));
  return as_a_whole(now_ns, pid, process);
}

std::vector<model::MemoryRange> MemorySnapshots::begin(std::uint64_t now_ns, std::int32_t pid, State& state,
                                                       bool traced, bool last) {
  const auto use = process::read_memory(pid);
  if (!use) return {};
  const std::uint64_t rss = use->rss_anon + use->rss_file + use->rss_shmem;
  if (rss == 0) return {};  // on its way out
  state.process = profile_.threads[processes_.thread_row(pid, pid).value].process;
  if (state.hangs) return as_a_whole(now_ns, pid, state.process);
  CompositionOptions options{
      .by_smaps = !sources::has_page_scan(),
      .traced = traced,
      .free_before = traced && was_there_before(state) && !last && !std::exchange(state.asked_free, true),
      .budget_ns = kScanNs,
      .ask_files = state.files_hang ? ask_no_file : ask_files_,
      .ask_databases = state.files_hang ? ask_no_database : ask_databases};
  if (options.by_smaps) {
    // smaps holds up the process, so it is for one look and for the last one.
    if (!last && std::exchange(state.looked_with_smaps, true)) return as_a_whole(now_ns, pid, state.process);
    const auto pages = static_cast<double>(rss) / sources::ResidentPages::kPage;
    if (pages * kDearestSmapsPageNs > static_cast<double>(kSmapsNs))
      return give_up(
          now_ns, pid, state.process, state,
          fmt::format("{} GiB are resident, and reading them would hold up the process", rss >> 30));
    options.budget_ns = kSmapsNs;
  }
  state.reading = CompositionReading::start(pid, now_ns, options, make_reader_);
  state.no_room = !state.reading;
  if (state.no_room && last)
    return give_up(now_ns, pid, state.process, state,
                   fmt::format("{} readings of other processes hang, which is the limit", kMostAbandonable));
  return {};
}

std::optional<std::vector<model::MemoryRange>> MemorySnapshots::collect(std::int32_t pid, State& state,
                                                                        HeapTracing* heap,
                                                                        std::uint64_t until_ns, bool leave) {
  if (!state.reading->wait_until(until_ns)) {
    const std::uint64_t asked_ns = state.reading->waits_for_file_since();
    if (asked_ns != 0 && monotonic_ns() >= asked_ns + kFilesHangNs) {
      state.reading.reset();
      if (!std::exchange(state.files_hang, true))
        notes_.push_back(fmt::format(
            "memory: a file mapped by process {} does not respond, so its zeroed data, hugetlbfs pages and page cache are unknown",
            pid));
      return std::vector<model::MemoryRange>{};
    }
    const auto [plain, since_ns] = state.reading->without_records();
    const bool hangs = plain != nullptr && monotonic_ns() >= since_ns + kHeldHangsNs;
    if (!hangs && !leave) return std::nullopt;
    const std::uint64_t time_ns = state.reading->time_ns();
    state.reading.reset();
    if (hangs && !std::exchange(state.hangs, true))
      notes_.push_back(fmt::format(
          "memory: fathom could not read all allocator records of process {} because a page did not arrive; its memory is shown without them, and once",
          pid));
    if (plain == nullptr) return std::vector<model::MemoryRange>{};
    return plain->rows(time_ns, state.process, {}, builder_);
  }
  const std::uint64_t time_ns = state.reading->time_ns();
  CompositionReading::Outcome outcome = state.reading->take();
  state.reading.reset();
  took_ns_ += outcome.cpu_ns;
  state.took_ns += outcome.cpu_ns;
  if (!outcome.read)
    return outcome.read.error().kind == ErrorKind::kNotFound
               ? std::vector<model::MemoryRange>{}
               : give_up(time_ns, pid, state.process, state, outcome.read.error().message);
  if (outcome.way == sources::ReadingWay::kSmaps && !std::exchange(state.noted_smaps, true))
    notes_.push_back(fmt::format(
        "memory: this kernel has no PAGEMAP_SCAN (Linux 6.7): what the memory of process {} is made of was read with smaps at the start and at the end only",
        pid));
  if (outcome.free_before) model::put_free_before(pid, *outcome.free_before, profile_.meta.facts);
  file_caches_.add(time_ns, pid, outcome.databases);
  ++readings_;
  longest_ns_ = std::max(longest_ns_, outcome.longest_ns);
  if (!outcome.whole) return give_up(time_ns, pid, state.process, state, "reading them takes too long");
  if (outcome.held_cut && !std::exchange(state.noted_cut, true))
    notes_.push_back(fmt::format("memory: the contents of the allocators of process {} are unknown: {}", pid,
                                 allocators::kTooMuch));
  if (outcome.composition)
    return outcome.composition->rows(time_ns, state.process, model::HeapAllocatorId{}, builder_);
  return rows_with_blocks(std::move(outcome), time_ns, pid, state, heap);
}

std::vector<model::MemoryRange> MemorySnapshots::rows_with_blocks(CompositionReading::Outcome outcome,
                                                                  std::uint64_t time_ns, std::int32_t pid,
                                                                  const State& state, HeapTracing* heap) {
  std::vector<tracer_own_mapping> own;
  std::vector<AddressRange> mapped;
  if (heap != nullptr) {
    const auto ranges = heap->own_mappings();
    own.assign(ranges.begin(), ranges.end());
    if (heap->mapped() != nullptr)
      heap->mapped()->for_each_piece([&](std::uint64_t start, std::uint64_t end) {
        mapped.push_back({start, end});
      });
  }
  MemoryComposition composition(std::move(outcome.mappings), own, mapped);
  if (outcome.way == sources::ReadingWay::kPageScan) {
    composition.set_pages(std::move(outcome.pages));
  } else if (auto resident = sources::ResidentPages::open(pid); heap != nullptr && resident) {
    for (const AddressRange& range : composition.wanted_pages(kMostPages))
      (void)resident->read(range.start, range.end);  // refused: counted by their size
    composition.set_pages(std::move(*resident));
  }
  if (heap != nullptr) {
    heap->for_each_live([&](std::uint64_t address, std::uint64_t size, model::HeapAllocatorId allocator,
                            const sources::heap::Weight& weight) {
      composition.add_block(address, size, allocator, weight);
    });
  }
  return composition.rows(time_ns, state.process,
                          heap != nullptr ? heap->libc_allocator() : model::HeapAllocatorId{}, builder_);
}

void MemorySnapshots::append(State& state, const std::vector<model::MemoryRange>& rows) {
  state.kept.clear();
  state.largest_rss = std::max(state.largest_rss, rss_of(rows));
  profile_.memory_ranges.insert(profile_.memory_ranges.end(), rows.begin(), rows.end());
}

void MemorySnapshots::store(State& state, const std::vector<model::MemoryRange>& rows) {
  if (rows.empty()) return;
  append(state, rows);
  if (++state.stored == kStoredPerDistance) {
    state.stored = 0;
    state.store_every_ns *= 2;
  }
}

void MemorySnapshots::settle(State& state, std::uint64_t now_ns, std::vector<model::MemoryRange> rows) {
  if (rows.empty()) return;
  if (now_ns >= state.store_ns) {
    store(state, rows);
    state.store_ns = now_ns + (state.stored < 3 ? kSecond / 5 : state.store_every_ns);
  } else if (has_grown(state.largest_rss, rss_of(rows))) {
    append(state, rows);
  } else {
    state.kept = std::move(rows);
  }
}

void MemorySnapshots::sample(std::uint64_t now_ns, const std::vector<std::int32_t>& pids,
                             HeapRecordings* heaps) {
  // Of those that ended, the last one.
  for (auto state = states_.begin(); state != states_.end();) {
    if (std::ranges::binary_search(pids, state->first)) {
      ++state;
      continue;
    }
    if (state->second.reading)
      if (auto rows = collect(state->first, state->second, nullptr, 0, true); rows && !rows->empty())
        state->second.kept = std::move(*rows);
    store(state->second, std::exchange(state->second.kept, {}));
    state = states_.erase(state);
  }
  const std::uint64_t until_ns = monotonic_ns() + kWaitWithBlocksNs;
  for (const std::int32_t pid : pids) {
    State& state = states_[pid];
    if (!state.reading && now_ns < state.due_ns) continue;
    if (state.store_every_ns == 0) state.store_every_ns = kSecond;
    HeapTracing* heap = heaps != nullptr ? heaps->find(pid) : nullptr;
    const std::uint64_t start = own_cpu_ns();
    if (state.reading) {
      if (auto rows = collect(pid, state, heap, 0, false)) settle(state, now_ns, std::move(*rows));
    } else {
      state.took_ns = 0;
      auto rows = begin(monotonic_ns(), pid, state, heap != nullptr, false);
      // What takes longer is collected when it is there.
      if (state.reading && heap != nullptr)
        if (auto read = collect(pid, state, heap, until_ns, false)) rows = std::move(*read);
      if (state.no_room) continue;
      settle(state, now_ns, std::move(rows));
    }
    const std::uint64_t took = own_cpu_ns() - start;
    took_ns_ += took;
    state.took_ns += took;
    // The first ones come soon, for programs that do not last a second.
    const bool soon = state.stored < 3 && state.store_every_ns == kSecond;
    const std::uint64_t fair_ns = state.took_ns * kShare * pids.size();
    state.due_ns = now_ns + (soon ? std::clamp(fair_ns, kSecond / 5, kSecond) : std::max(kSecond, fair_ns));
  }
}

void MemorySnapshots::make_due() {
  for (auto& [pid, state] : states_) state.due_ns = state.store_ns = 0;
}

void MemorySnapshots::finish(std::uint64_t now_ns, const std::vector<std::int32_t>& pids,
                             HeapRecordings* heaps) {
  const std::uint64_t until_ns = monotonic_ns() + kWaitAtEndNs;
  // Those that were begun before make room, and their pages will do where the end's do not come.
  for (auto& [pid, state] : states_) {
    if (!state.reading) continue;
    const bool over = state.reading->wait_until(until_ns);
    if (auto rows = collect(pid, state, heaps != nullptr ? heaps->find(pid) : nullptr, 0, true);
        rows && !rows->empty())
      state.kept = std::move(*rows);
    state.hangs = state.hangs || (!over && !state.files_hang);
  }
  for (const std::int32_t pid : pids) {
    State& state = states_[pid];
    if (state.hangs && !state.kept.empty()) continue;
    if (state.store_every_ns == 0) state.store_every_ns = kSecond;
    HeapTracing* heap = heaps != nullptr ? heaps->find(pid) : nullptr;
    const std::uint64_t start = own_cpu_ns();
    std::vector<model::MemoryRange> rows;
    for (bool again = true; again;) {
      const bool knew = state.files_hang;
      rows = begin(now_ns, pid, state, heap != nullptr, true);
      // A reading that timed out has used up everyone's time: this is the time of a reading without it.
      const std::uint64_t own_until_ns = knew ? std::max(until_ns, monotonic_ns() + 2 * kSecond) : until_ns;
      if (state.reading)
        if (auto read = collect(pid, state, heap, own_until_ns, true)) rows = std::move(*read);
      again = state.files_hang && !knew;
    }
    if (!rows.empty()) store(state, rows);
    took_ns_ += own_cpu_ns() - start;
  }
  for (auto& entry : states_) store(entry.second, std::exchange(entry.second.kept, {}));
}

std::string MemorySnapshots::cost() const {
  if (readings_ == 0) return "";
  return fmt::format("{} readings, {:.1f} ms of CPU; the memory map was held for {:.2f} ms at most",
                     readings_, static_cast<double>(took_ns_) * 1e-6,
                     static_cast<double>(longest_ns_) * 1e-6);
}

}  // namespace fathom::session
