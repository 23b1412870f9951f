#include "analysis/waits/wait_chains.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>

#include "analysis/core/call_tree.h"
#include "analysis/core/words.h"
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
  Finder(const Waits& waits, WaitSites& sites) : waits_(waits), sites_(sites) {
    const std::size_t threads = waits.profile().threads.size();
    std::vector<std::uint32_t> counts(threads);
    for (const SelectedWait& row : waits.rows()) {
      const model::Wait& wait = waits.wait(row);
      if (wait.waited_ns >= kLeastNs) ++counts[wait.thread.value];
    }
    by_thread_.resize(threads);
    for (std::size_t i = 0; i < threads; ++i) by_thread_[i].reserve(counts[i]);
    std::vector<std::uint64_t> last(threads);
    std::vector<char> mixed(threads);
    std::uint32_t at = 0;
    for (const SelectedWait& row : waits.rows()) {
      const model::Wait& wait = waits.wait(row);
      const std::uint32_t number = at++, thread = wait.thread.value;
      if (wait.waited_ns < kLeastNs) continue;
      by_thread_[thread].push_back(number);
      mixed[thread] = static_cast<char>(mixed[thread] != 0 || wait.start_ns < last[thread]);
      last[thread] = wait.start_ns;
    }
    for (std::size_t i = 0; i < threads; ++i)
      if (mixed[i] != 0)
        std::ranges::sort(by_thread_[i], {}, [&](std::uint32_t number) { return start_of(number); });
  }

  ChainRow follow(const SelectedWait& first) {
    ChainRow chain;
    std::set<std::uint32_t> seen;
    const SelectedWait* row = &first;
    std::uint64_t from = waits_.wait(first).start_ns;
    std::uint64_t to = from + waits_.wait(first).waited_ns;
    while (true) {
      const model::Wait& wait = waits_.wait(*row);
      seen.insert(wait.thread.value);
      const model::Profile& profile = waits_.profile();
      chain.hops.push_back({thread_name(profile, wait.thread), profile.threads[wait.thread.value].tid,
                            row->cause, waits_.causes().label(wait), sites_.of(wait.stack), to - from});
      const bool known = wait.waker != model::kNoThread && is_ended_by_a_thread(row->cause);
      chain.waker = !known ? "" : thread_name(profile, wait.waker);
      chain.waker_tid = !known ? 0 : profile.threads[wait.waker.value].tid;
      if (!known || chain.hops.size() == kMostHops || seen.contains(wait.waker.value)) break;
      const SelectedWait* next = longest_within(wait.waker, from, to);
      if (next == nullptr) break;
      row = next;
    }
    return chain;
  }

 private:
  std::uint64_t start_of(std::uint32_t number) const { return waits_.wait(waits_.rows()[number]).start_ns; }

  // The wait of `thread` that fills most of [from, to); narrows both to the overlap. It must end before `to`,
  // or it could not have woken anybody then.
  const SelectedWait* longest_within(model::ThreadId thread, std::uint64_t& from, std::uint64_t& to) const {
    const SelectedWait* best = nullptr;
    std::uint64_t best_from = 0, best_to = 0;
    const std::vector<std::uint32_t>& rows = by_thread_[thread.value];
    auto at =
        std::ranges::lower_bound(rows, from, {}, [&](std::uint32_t number) { return start_of(number); });
    if (at != rows.begin()) --at;  // waits of one thread do not overlap: one more may reach into the window
    for (; at != rows.end(); ++at) {
      const SelectedWait& row = waits_.rows()[*at];
      const model::Wait& wait = waits_.wait(row);
      if (wait.start_ns >= to) break;
      const std::uint64_t end = wait.start_ns + wait.waited_ns;
      if (end > to || end <= from || row.idle) continue;
      const std::uint64_t begin = std::max(from, wait.start_ns);
      if (best != nullptr && end - begin <= best_to - best_from) continue;
      best = &row;
      best_from = begin;
      best_to = end;
    }
    if (best == nullptr ||
        static_cast<double>(best_to - best_from) < kLeastShare * static_cast<double>(to - from)) {
      return nullptr;
    }
    from = best_from;
    to = best_to;
    return best;
  }

  const Waits& waits_;
  WaitSites& sites_;
  std::vector<std::vector<std::uint32_t>> by_thread_;  // numbers of rows, by the start of their waits
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
        waits.wait(row).waker == model::kNoThread)
      continue;
    longest.push_back({row.waited_ns, number});
    if (longest.size() == 2 * kMostWaits) keep();
  }
  keep();
  std::sort(longest.begin(), longest.end());
  Finder finder(waits, sites);
  std::map<std::string, ChainRow> by_shape;
  for (const Candidate& candidate : longest) {
    const SelectedWait& row = waits.rows()[candidate.number];
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
