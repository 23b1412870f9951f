#include "analysis/stacks/unmoved.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "analysis/core/ending.h"
#include "analysis/stacks/kept_look.h"

namespace fathom::stacks {
namespace {

// From the signal that ends a process to the end of its threads, which wakes each of them.
constexpr std::uint64_t kToEndNs = 100'000'000;

// Threads by process and number, to the time at which the wait ends that the look has seen.
std::map<std::pair<std::int32_t, std::int32_t>, std::uint64_t> lasting_waits(
    const Look& kept, const model::Profile& profile, std::span<const model::Wait> waits) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::uint64_t> ends;
  for (const model::Wait& wait : waits) {
    if (!spans(wait, kept.time_ns)) continue;
    const model::Thread& thread = profile.threads[wait.thread.value];
    const std::uint64_t end = wait.start_ns + wait.waited_ns + wait.queued_ns;
    // The thread that got the signal wakes the others, and another process may have sent it.
    const model::Process& process = profile.processes[thread.process.value];
    const bool by_signal =
        wait.waker == model::kNoThread || analysis::ending_of(profile, process).signal != 0;
    const bool is_cut_off = by_signal && thread.end_ns != 0 && end + kToEndNs >= thread.end_ns;
    if (wait.unfinished || is_cut_off) ends[{process.pid, thread.tid}] = end;
  }
  return ends;
}

}  // namespace

Look keep_unmoved(const Look& kept, const model::Profile& profile, std::span<const model::Wait> waits) {
  const auto ends = lasting_waits(kept, profile, waits);
  Look still = kept;
  const auto has_moved = [&](std::size_t row) {
    return !ends.contains({kept.threads[row].pid, kept.threads[row].tid});
  };
  std::erase_if(still.verdicts, [&](const Verdict& verdict) {
    return std::ranges::any_of(verdict.threads, has_moved) || std::ranges::any_of(verdict.chain, has_moved);
  });
  for (ThreadLook& thread : still.threads) {
    const auto end = ends.find({thread.pid, thread.tid});
    if (end != ends.end() && thread.waited_ns) *thread.waited_ns += end->second - kept.time_ns;
  }
  return keep_trouble(still, 0);
}

}  // namespace fathom::stacks
