#include "analysis/waits/wait_chains.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>

#include "analysis/core/call_tree.h"
#include "analysis/core/words.h"
#include "analysis/waits/waits_by_thread.h"
#include "base/stable_sort.h"

namespace fathom::analysis {

bool is_ended_by_a_thread(Cause cause) {
  return cause == Cause::kFutex || cause == Cause::kPoll || cause == Cause::kPipe ||
         cause == Cause::kSocket || cause == Cause::kChild || cause == Cause::kIpc ||
         cause == Cause::kFileLock;
}

namespace {

constexpr std::size_t kMostWaits = 2000;
constexpr std::size_t kMostHops = 8;
constexpr std::uint64_t kLeastNs = 100'000;
// A waker that waited for less than this part of the wait was not what it all hung on.
constexpr double kLeastShare = 0.3;

class Finder {
 public:
  Finder(const Waits& waits, WaitSites& sites) : waits_(waits), sites_(sites), by_thread_(waits, kLeastNs) {}

  ChainRow follow(SelectedWait row) {
    ChainRow chain;
    std::set<std::uint32_t> seen;
    std::uint64_t from = row.wait.start_ns;
    std::uint64_t to = from + row.wait.waited_ns;
    while (true) {
      const model::Wait& wait = row.wait;
      seen.insert(wait.thread.value);
      const model::Profile& profile = waits_.profile();
      chain.hops.push_back({thread_name(profile, wait.thread), profile.threads[wait.thread.value].tid,
                            row.cause, waits_.causes().label(wait), sites_.of(wait.stack), to - from});
      const bool known = wait.waker != model::kNoThread && is_ended_by_a_thread(row.cause);
      chain.waker = !known ? "" : thread_name(profile, wait.waker);
      chain.waker_tid = !known ? 0 : profile.threads[wait.waker.value].tid;
      if (!known || chain.hops.size() == kMostHops || seen.contains(wait.waker.value)) break;
      const std::optional<SelectedWait> next = longest_within(wait.waker, from, to);
      if (!next) break;
      row = *next;
    }
    return chain;
  }

 private:
  // The wait of `thread` that fills most of [from, to); narrows both to the overlap. It must end before `to`,
  // or it could not have woken anybody then.
  std::optional<SelectedWait> longest_within(model::ThreadId thread, std::uint64_t& from,
                                             std::uint64_t& to) const {
    std::optional<SelectedWait> best;
    std::uint64_t best_from = 0, best_to = 0;
    const std::vector<std::uint32_t>& numbers = by_thread_.of(thread);
    std::size_t at = by_thread_.first_since(thread, from);
    if (at != 0) --at;  // waits of one thread do not overlap: one more may reach into the window
    for (; at != numbers.size(); ++at) {
      const SelectedWait row = waits_.rows()[numbers[at]];
      const model::Wait& wait = row.wait;
      if (wait.start_ns >= to) break;
      const std::uint64_t end = wait.start_ns + wait.waited_ns;
      if (end > to || end <= from || row.idle) continue;
      const std::uint64_t begin = std::max(from, wait.start_ns);
      if (best && end - begin <= best_to - best_from) continue;
      best = row;
      best_from = begin;
      best_to = end;
    }
    if (!best || static_cast<double>(best_to - best_from) < kLeastShare * static_cast<double>(to - from))
      return std::nullopt;
    from = best_from;
    to = best_to;
    return best;
  }

  const Waits& waits_;
  WaitSites& sites_;
  WaitsByThread by_thread_;
};

}  // namespace

std::vector<ChainRow> find_chains(const Waits& waits, WaitSites& sites) {
  struct Candidate {
    std::uint64_t waited_ns = 0;
    std::uint32_t number = 0;
    // The longest first, and of equals the first.
    bool operator<(const Candidate& other) const {
      return waited_ns != other.waited_ns ? waited_ns > other.waited_ns : number < other.number;
    }
  };
  std::vector<Candidate> longest;  // at most twice as many as are kept
  const auto keep = [&] {
    if (longest.size() <= kMostWaits) return;
    const auto end = longest.begin() + static_cast<std::ptrdiff_t>(kMostWaits);
    std::nth_element(longest.begin(), end, longest.end());
    longest.erase(end, longest.end());
  };
  std::uint32_t at = 0;
  for (const SelectedWait& row : waits.rows()) {
    const std::uint32_t number = at++;
    if (row.idle || row.waited_ns < kLeastNs || !is_ended_by_a_thread(row.cause) ||
        row.wait.waker == model::kNoThread)
      continue;
    longest.push_back({row.waited_ns, number});
    if (longest.size() == 2 * kMostWaits) keep();
  }
  keep();
  std::sort(longest.begin(), longest.end());
  Finder finder(waits, sites);
  std::map<std::string, ChainRow> by_shape;
  for (const Candidate& candidate : longest) {
    const SelectedWait row = waits.rows()[candidate.number];
    ChainRow chain = finder.follow(row);
    if (chain.hops.size() < 2) continue;
    std::string shape;
    for (const ChainHop& hop : chain.hops) shape += hop.thread + '\n' + hop.label + '\n' + hop.site + '\n';
    const auto [known, added] =
        by_shape.try_emplace(std::move(shape), std::move(chain));  // the longest comes first
    known->second.sum.add(row.waited_ns, waits.weight(row));
  }
  std::vector<ChainRow> chains;
  for (auto& [shape, chain] : by_shape) chains.push_back(std::move(chain));
  stable_sort_rows(chains.begin(), chains.end(),
                   [](const ChainRow& a, const ChainRow& b) { return a.sum.total_ns() > b.sum.total_ns(); });
  return chains;
}

}  // namespace fathom::analysis
