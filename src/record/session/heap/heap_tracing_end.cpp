// The end of heap tracing: drain the rings, reject what cannot be true, restore the target.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "linux/process/descendants.h"
#include "model/left_changed.h"
#include "record/session/heap/heap_tracing.h"
#include "record/session/tracking/copied_walk.h"

namespace fathom::session {
namespace {

// How long to read what is still in the rings at the end. A leak check waits longer.
constexpr std::uint64_t kLastNs = 1'000'000'000, kLastLosslessNs = 10'000'000'000;
constexpr std::uint64_t kBlocksLookedAt = 1 << 16, kFewBlocks = 16;  // whether they lie in memory
// How long to wait for a debugger or a freezer to go, and for a thread that is inside the tracer and waits for a CPU.
constexpr std::uint64_t kPatienceNs = 1'000'000'000, kThreadInsideNs = 4'000'000'000;
// For all processes that it forked: a few milliseconds for each.
constexpr std::uint64_t kForkedNs = 3'000'000'000;
constexpr auto kObstaclePause = std::chrono::milliseconds(50);

model::LeftChanged left_changed(std::int32_t pid, const inject::Remains& remains) {
  using Reason = inject::Remains::Reason;
  using Left = model::LeftChanged::Reason;
  const Left reason = remains.reason == Reason::kDebugger       ? Left::kDebugger
                      : remains.reason == Reason::kFrozen       ? Left::kFrozen
                      : remains.reason == Reason::kChanged      ? Left::kChanged
                      : remains.reason == Reason::kThreadInside ? Left::kThreadInside
                                                                : Left::kOther;
  return {pid, reason, remains.by, remains.places, remains.bytes, remains.mapped_bytes};
}

}  // namespace

// Reads what was written before the hooks were removed, until the time is up. Counts the rest as lost.
void HeapTracing::drain_last() {
  const std::uint64_t until_ns = monotonic_ns() + (options_.lossless ? kLastLosslessNs : kLastNs);
  for (;;) {
    const Drained drained = drain(until_ns);
    if (!drained.stopped) return;
    if (monotonic_ns() >= until_ns || (options_.hurry && options_.hurry())) break;
    resolve_new();
  }
  const std::lock_guard guard(lock_);
  collector_->end();
}

// A live block lies in memory. If frees were lost, some blocks may be left whose memory is gone, but not most of them: a process that
// reports such blocks makes them up.
std::uint64_t HeapTracing::blocks_nowhere() const {
  const auto now = process::read_maps(pid_);
  if (!now || now->empty() || maps_at_stop_.empty()) return 0;
  const auto lies_in = [](std::span<const process::MapEntry> maps, std::uint64_t address) {
    const auto after = std::ranges::upper_bound(
        maps, address, {}, [](const process::MapEntry& entry) { return entry.start.value; });
    return after != maps.begin() && address < std::prev(after)->end.value;
  };
  std::uint64_t looked_at = 0, nowhere = 0;
  for (std::size_t part = 0; part < sources::heap::LiveSet::kShards && looked_at < kBlocksLookedAt; ++part)
    collector_->for_each_live_of(part, [&](std::uint64_t block, std::uint64_t, const sources::heap::Weight&) {
      const std::uint64_t address = TRACER_BLOCK_ADDRESS(block);
      ++looked_at;
      nowhere += lies_in(*now, address) || lies_in(maps_at_stop_, address) ? 0 : 1;
    });
  return nowhere >= kFewBlocks && nowhere > looked_at / 2 ? nowhere : 0;
}

void HeapTracing::note_refused() {
  const sources::heap::Counters counters = collector_->counters();
  const std::uint64_t nowhere = blocks_nowhere();
  if (counters.lost_at_end != 0)
    notes_.push_back(
        fmt::format("heap: about {} events were still in the rings when the recording ended and are lost",
                    counters.lost_at_end));
  if (counters.impossible != 0)
    notes_.push_back(fmt::format(
        "heap: process {} reported more memory than it can have. fathom dropped {} events and draws no conclusions from the others",
        pid_, counters.impossible));
  if (nowhere != 0)
    notes_.push_back(fmt::format(
        "heap: process {} reported {} blocks at addresses where it has no memory, so fathom draws no conclusions about its heap",
        pid_, nowhere));
  model::put_impossible_events(pid_, counters.impossible + nowhere, context_.profile.meta.facts);
  if (stacks_refused_ != 0)
    notes_.push_back(fmt::format(
        "heap: {} stacks exceed the memory limit for stacks and are shown without frames", stacks_refused_));
  if (threads_refused_ != 0)
    notes_.push_back(fmt::format(
        "heap: {} threads appear only in the heap's own events and are counted together", threads_refused_));
}

void HeapTracing::finish_collecting(bool image_ended) {
  if (!thread_.joinable()) return;
  stop_ = true;
  thread_.join();
  ::usleep(2000);  // a thread that was inside of a hook writes what it has begun
  drain_last();
  // The rings have been read. Their pages would count as ours too while names are looked up: a hundred MB if the target fills them.
  const auto memory = tracer_->memory();
  (void)::madvise(memory.data(), memory.size(), MADV_DONTNEED);
  if (image_ended) rows_->end_image(collector_->end_image());
  if (image_ended && mapped_) mapped_->end_image(monotonic_ns());
  write_slices(SliceEnd::kLast);
  note_refused();
  if (options_.each_block) write_live_blocks();
  if (mapped_) mapped_->write_slice(monotonic_ns(), true);
}

void HeapTracing::end_image() {
  blind_ = false;
  if (ended_) return;
  ended_ = true;
  tracer_->abandon();
  finish_collecting(true);
  stops_ = tracer_->stops();
}

// The target as it was, byte by byte, or the recording says what is left. What passes by itself (a debugger that looks
// and leaves, a thread on its way out of the tracer) is waited for; what stays is the guardian's.
void HeapTracing::take_out(std::uint64_t begun_ns) {
  if (!tracer_ || std::exchange(taken_out_, true)) return;
  const unwind::AddressSpace space = address_space_of(context_.processes.mappings(pid_));
  if (!std::exchange(is_in_, false)) {  // it executed another program, but what it forked before did not
    take_out_of_forked();
    return;
  }
  for (;;) {
    if (tracer_->unhook()) (void)tracer_->unmap(&space);
    remains_ = tracer_->remains();
    const bool leaves = remains_.reason == inject::Remains::Reason::kThreadInside;
    if (remains_.nothing() || monotonic_ns() - begun_ns >= (leaves ? kThreadInsideNs : kPatienceNs)) break;
    std::this_thread::sleep_for(kObstaclePause);
  }
  stops_ = tracer_->stops();
  if (remains_.nothing()) {
    take_out_of_forked();
    return;
  }
  tracer_->abandon();
  model::put_left_changed(left_changed(pid_, remains_), context_.profile.meta.facts);
}

// What the process forked while it was hooked has a copy of the hooks.
void HeapTracing::take_out_of_forked() {
  std::set<int> forked;
  for (const std::int32_t pid : context_.processes.pids()) forked.insert(pid);
  for (const int pid : process::living_children({pid_})) forked.insert(pid);
  forked.erase(pid_);
  const std::uint64_t until_ns = monotonic_ns() + kForkedNs;
  std::size_t left = 0, unseen = 0;
  for (const int pid : forked) {
    if (monotonic_ns() >= until_ns) {
      ++unseen;
      continue;
    }
    // Its mappings are those at the fork. A process that is too young to be known has those of its parent.
    const std::span<const CodeMapping> own = context_.processes.mappings(pid);
    const unwind::AddressSpace space =
        address_space_of(own.empty() ? context_.processes.mappings(pid_) : own);
    const std::optional<inject::Remains> remains = tracer_->restore_forked(pid, &space);
    left += remains && !remains->nothing() ? 1 : 0;
  }
  auto& notes = context_.profile.quality.notes;
  if (left == 1)
    notes.push_back(fmt::format(
        "heap: a process that process {} forked keeps fathom's hooks until it ends; its calls pass through them",
        pid_));
  if (left > 1)
    notes.push_back(fmt::format(
        "heap: {} processes that process {} forked keep fathom's hooks until they end; their calls pass through them",
        left, pid_));
  if (unseen != 0)
    notes.push_back(
        fmt::format("heap: fathom had no time to take its hooks out of {} forked processes", unseen));
}

void HeapTracing::stop() {
  if (ended_) return;
  ended_ = true;
  is_in_ = tracer_.has_value();
  if (auto maps = process::read_maps(pid_)) maps_at_stop_ = std::move(*maps);
  if (is_in_) (void)tracer_->unhook();  // take_out() tries again, and says what is left
  finish_collecting(false);
}

void HeapTracing::end() {
  stop();
  take_out(monotonic_ns());
}

}  // namespace fathom::session
