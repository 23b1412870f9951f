#include "session/memory/memory_snapshots.h"

#include <fmt/format.h>

#include <algorithm>

#include "allocators/state/process_reader.h"
#include "base/clock.h"
#include "process/status.h"
#include "session/memory/held_memory.h"
#include "session/memory/memory_composition.h"
#include "sources/memory/memory_reading.h"

namespace fathom::session {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kBudgetNs = 200'000'000;  // of one reading
constexpr std::uint64_t kShare = 200;             // a reading is paid for with so much time without any
// Until it was measured for this process; of a scan with its pauses, and of smaps.
constexpr double kDearestPageNs = 30, kDearestSmapsPageNs = 107;
constexpr std::uint64_t kMostPages = std::uint64_t{1} << 22;  // looked at one by one: 16 GiB, 20 ms
constexpr std::uint32_t kStoredPerDistance = 60;
// RSS up to which the records of allocators are read: half a microsecond for each of some hundred of them in a MiB,
// during which the recording stands still.
constexpr std::uint64_t kMostHeld = std::uint64_t{256} << 20, kMostHeldAtEnd = std::uint64_t{4} << 30;
// Growth by which a composition is worth keeping, whatever the time.
constexpr std::uint64_t kLeastGrowth = 4 << 20, kMostGrowth = 256 << 20;

// What it costs is CPU time: on a full machine the clock on the wall tells who else was there.
std::uint64_t own_cpu_ns() {
  return clock_ns(CLOCK_THREAD_CPUTIME_ID);
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

std::vector<model::MemoryRange> MemorySnapshots::take(std::uint64_t now_ns, std::int32_t pid, State& state,
                                                      HeapTracing* heap, bool last) {
  const auto use = process::read_memory(pid);
  if (!use) return {};
  const std::uint64_t rss = use->rss_anon + use->rss_file + use->rss_shmem;
  if (rss == 0) return {};  // on its way out
  const model::ProcessId process = profile_.threads[processes_.thread_row(pid, pid).value].process;
  const auto pages = static_cast<double>(rss) / sources::ResidentPages::kPage;
  const auto give_up = [&](std::string_view why) {
    if (!std::exchange(state.noted, true))
      notes_.push_back(fmt::format("memory: the mappings of process {} are not told apart: {}", pid, why));
    return as_a_whole(now_ns, pid, process);
  };
  const bool scan = sources::has_page_scan();
  // smaps holds up the process, so it is for one look and for the last one.
  if (!scan && !last && std::exchange(state.looked_with_smaps, true)) return as_a_whole(now_ns, pid, process);
  const double dearest_ns = scan ? kDearestPageNs : kDearestSmapsPageNs;
  if (pages * (state.ns_per_page > 0 ? state.ns_per_page : dearest_ns) > static_cast<double>(kBudgetNs))
    return give_up(fmt::format("{} GiB are resident, and reading them would hold up the {}", rss >> 30,
                               scan ? "recording" : "process"));

  auto reading = sources::read_mappings(pid, kBudgetNs, !scan);
  if (!reading)
    return reading.error().kind == ErrorKind::kNotFound ? std::vector<model::MemoryRange>{}
                                                        : give_up(reading.error().message);
  if (!scan && !std::exchange(state.noted_smaps, true))
    notes_.push_back(fmt::format(
        "memory: this kernel has no PAGEMAP_SCAN (Linux 6.7): what the memory of process {} is made of was "
        "read with smaps at the start and at the end only",
        pid));
  ++readings_;
  longest_ns_ = std::max(longest_ns_, reading->longest_ns);
  // Small processes are all fixed cost, which says nothing about larger ones.
  if (pages > 100'000) state.ns_per_page = static_cast<double>(reading->took_ns) / pages;
  if (!reading->whole) {
    state.ns_per_page = std::max(state.ns_per_page, 2 * static_cast<double>(kBudgetNs) / pages);
    return give_up("reading them takes too long");
  }

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
  // Where blocks are not known, the allocators' own records say what is theirs.
  allocators::AllocatorStates held;
  if (heap == nullptr && reading->way == sources::ReadingWay::kPageScan &&
      rss <= (last ? kMostHeldAtEnd : kMostHeld)) {
    std::vector<process::MapEntry> maps;
    for (const sources::MemoryMapping& mapping : reading->mappings) maps.push_back(mapping.entry);
    allocators::ProcessReader reader(pid);
    held = allocators::read_allocator_states(maps, present_of(reading->pages), reader);
  }
  const auto stacks = sources::read_stack_pointers(pid);
  MemoryComposition composition(sources::judge_mappings(std::move(reading->mappings), stacks), own, mapped);
  if (reading->way == sources::ReadingWay::kPageScan) {
    composition.set_pages(std::move(reading->pages));
    add_held_by_name(held, composition);
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
  return composition.rows(now_ns, process,
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

void MemorySnapshots::sample(std::uint64_t now_ns, const std::vector<std::int32_t>& pids,
                             HeapRecordings* heaps) {
  // Of those that ended, the last one.
  for (auto state = states_.begin(); state != states_.end();) {
    if (std::ranges::binary_search(pids, state->first)) {
      ++state;
      continue;
    }
    store(state->second, std::exchange(state->second.kept, {}));
    state = states_.erase(state);
  }
  for (const std::int32_t pid : pids) {
    State& state = states_[pid];
    if (now_ns < state.due_ns) continue;
    if (state.store_every_ns == 0) state.store_every_ns = kSecond;
    const std::uint64_t start = own_cpu_ns();
    auto rows = take(monotonic_ns(), pid, state, heaps != nullptr ? heaps->find(pid) : nullptr, false);
    const std::uint64_t took = own_cpu_ns() - start;
    took_ns_ += took;
    state.due_ns = now_ns + std::max(kSecond, took * kShare * pids.size());
    // The first ones come soon, for programs that do not last a second.
    if (state.stored < 3 && state.store_every_ns == kSecond)
      state.due_ns = now_ns + std::max(kSecond / 5, took * kShare * pids.size());
    if (rows.empty()) continue;
    if (now_ns >= state.store_ns) {
      store(state, rows);
      state.store_ns = now_ns + (state.stored < 3 ? kSecond / 5 : state.store_every_ns);
    } else if (has_grown(state.largest_rss, rss_of(rows))) {
      append(state, rows);
    } else {
      state.kept = std::move(rows);
    }
  }
}

void MemorySnapshots::finish(std::uint64_t now_ns, const std::vector<std::int32_t>& pids,
                             HeapRecordings* heaps) {
  for (const std::int32_t pid : pids) {
    State& state = states_[pid];
    if (state.store_every_ns == 0) state.store_every_ns = kSecond;
    const std::uint64_t start = own_cpu_ns();
    if (auto rows = take(now_ns, pid, state, heaps != nullptr ? heaps->find(pid) : nullptr, true);
        !rows.empty())
      store(state, rows);
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
