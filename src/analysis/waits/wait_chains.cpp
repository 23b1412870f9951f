#include "analysis/waits/wait_chains.h"

#include <fmt/format.h>

#include <algorithm>
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
    by_thread_.resize(waits.profile().threads.size());
    for (const SelectedWait& row : waits.rows()) {
      const model::Wait& wait = waits.wait(row);
      if (wait.waited_ns >= kLeastNs) by_thread_[wait.thread.value].push_back({wait.start_ns, &row});
    }
    for (auto& rows : by_thread_)
      std::sort(rows.begin(), rows.end(),
                [](const Begun& a, const Begun& b) { return a.start_ns < b.start_ns; });
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
  // A packed wait is not looked up for its start alone.
  struct Begun {
    std::uint64_t start_ns = 0;
    const SelectedWait* row = nullptr;
  };

  // The wait of `thread` that fills most of [from, to); narrows both to the overlap. It must end before `to`,
  // or it could not have woken anybody then.
  const SelectedWait* longest_within(model::ThreadId thread, std::uint64_t& from, std::uint64_t& to) const {
    const SelectedWait* best = nullptr;
    std::uint64_t best_from = 0, best_to = 0;
    const auto& rows = by_thread_[thread.value];
    auto at = std::lower_bound(rows.begin(), rows.end(), from,
                               [](const Begun& row, std::uint64_t time) { return row.start_ns < time; });
    if (at != rows.begin()) --at;  // waits of one thread do not overlap: one more may reach into the window
    for (; at != rows.end() && at->start_ns < to; ++at) {
      const model::Wait& wait = waits_.wait(*at->row);
      const std::uint64_t end = wait.start_ns + wait.waited_ns;
      if (end > to || end <= from || at->row->idle) continue;
      const std::uint64_t begin = std::max(from, wait.start_ns);
      if (best != nullptr && end - begin <= best_to - best_from) continue;
      best = at->row;
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
  std::vector<std::vector<Begun>> by_thread_;  // by start
};

}  // namespace

std::vector<ChainRow> find_chains(const Waits& waits, WaitSites& sites) {
  std::vector<const SelectedWait*> longest;
  for (const SelectedWait& row : waits.rows()) {
    const model::Wait& wait = waits.wait(row);
    if (!row.idle && row.waited_ns >= kLeastNs && wait.waker != model::kNoThread &&
        is_ended_by_a_thread(row.cause))
      longest.push_back(&row);
  }
  stable_sort_rows(longest.begin(), longest.end(),
                   [](const SelectedWait* a, const SelectedWait* b) { return a->waited_ns > b->waited_ns; });
  if (longest.size() > kMostWaits) longest.resize(kMostWaits);
  Finder finder(waits, sites);
  std::map<std::string, ChainRow> by_shape;
  for (const SelectedWait* row : longest) {
    ChainRow chain = finder.follow(*row);
    if (chain.hops.size() < 2) continue;
    std::string shape;
    for (const ChainHop& hop : chain.hops) shape += hop.thread + '\n' + hop.label + '\n' + hop.site + '\n';
    const auto [known, added] =
        by_shape.try_emplace(std::move(shape), std::move(chain));  // the longest comes first
    known->second.sum.add(row->waited_ns, waits.weight(*row));
  }
  std::vector<ChainRow> chains;
  for (auto& [shape, chain] : by_shape) chains.push_back(std::move(chain));
  stable_sort_rows(chains.begin(), chains.end(),
                   [](const ChainRow& a, const ChainRow& b) { return a.sum.total_ns() > b.sum.total_ns(); });
  return chains;
}

}  // namespace fathom::analysis
