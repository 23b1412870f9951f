#include "analysis/waits/lock_holders.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "analysis/core/call_tree.h"
#include "analysis/waits/wait_site.h"
#include "model/wait_sums.h"

namespace fathom::analysis {
namespace {

constexpr double kLeastOfLocks = 0.3;
constexpr std::uint64_t kLeastLockWaitNs = 100'000;
constexpr std::size_t kMostLockWaits = 20'000, kMostHolders = 16;

bool is_at_a_lock(const SelectedWait& row, const model::Wait& wait, const WaitSites& sites) {
  if (row.cause != Cause::kFutex) return false;
  const FutexKind kind = sites.futex_kind(wait.stack);
  return kind == FutexKind::kLock || kind == FutexKind::kReaderWriter;
}

struct WaitPart {
  std::uint64_t from = 0, to = 0;
  const SelectedWait* row = nullptr;
  bool queued = false;
};

class Holders {
 public:
  Holders(const Waits& waits, WaitSites& sites)
      : waits_(waits), sites_(sites), by_thread_(waits.profile().threads.size()) {
    for (const SelectedWait& row : waits.rows()) {
      const model::Wait& wait = waits.wait(row);
      auto& rows = by_thread_[wait.thread.value];
      const std::uint64_t woken = wait.start_ns + wait.waited_ns;
      if (wait.waited_ns != 0) rows.push_back({wait.start_ns, woken, &row, false});
      if (wait.queued_ns != 0) rows.push_back({woken, woken + wait.queued_ns, &row, true});
    }
    for (auto& rows : by_thread_) std::ranges::sort(rows, {}, &WaitPart::from);
  }

  std::optional<HolderDelay> find() {
    std::size_t seen = 0;
    for (const SelectedWait& row : waits_.rows()) {
      const model::Wait& wait = waits_.wait(row);
      if (row.idle || wait.waited_ns < kLeastLockWaitNs || !is_at_a_lock(row, wait, sites_)) continue;
      const double times = waits_.weight(row).times;
      all_ns_ += times * static_cast<double>(wait.waited_ns);
      if (wait.waker == model::kNoThread || wait.waker == wait.thread || ++seen > kMostLockWaits) continue;
      add_what_the_holder_did(wait, times);
    }
    const auto most = std::max_element(delays_.begin(), delays_.end(), [](const auto& a, const auto& b) {
      return a.second.ns < b.second.ns;
    });
    if (most == delays_.end() || most->second.ns < kLeastOfLocks * all_ns_) return std::nullopt;
    const auto& [cause, holder, site] = most->first;
    const Draft& draft = most->second;
    const auto lock = std::max_element(draft.lock_sites.begin(), draft.lock_sites.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return HolderDelay{lock->first, holder, site, draft.label, cause, draft.ns, all_ns_};
  }

 private:
  struct Draft {
    double ns = 0, longest = 0;
    std::string label;
    std::map<std::string, double> lock_sites;
  };

  // A waker that queued for the lock itself had it only from then on: before, the one had it that ended that wait.
  void add_what_the_holder_did(const model::Wait& waiter, double times) {
    const std::uint64_t from = waiter.start_ns;
    std::uint64_t to = from + waiter.waited_ns;
    model::ThreadId holder = waiter.waker;
    for (std::size_t hop = 0; hop < kMostHolders && holder != model::kNoThread && to > from; ++hop)
      holder = add_since_it_queued(waiter, times, holder, from, to);
  }

  // Narrows [from, to) to before `holder` had the lock, and gives the thread that had it then; kNoThread: it had it all the time.
  model::ThreadId add_since_it_queued(const model::Wait& waiter, double times, model::ThreadId holder,
                                      std::uint64_t from, std::uint64_t& to) {
    const auto& rows = by_thread_[holder.value];
    auto at = std::ranges::lower_bound(rows, to, {}, &WaitPart::from);
    while (at != rows.begin()) {
      --at;
      if (at->to <= from) break;
      const model::Wait& wait = waits_.wait(*at->row);
      if (!at->queued && is_at_a_lock(*at->row, wait, sites_)) {
        to = std::min(to, at->to);
        return wait.waker;
      }
      const double ns = times * static_cast<double>(std::min(to, at->to) - std::max(from, at->from));
      const Cause cause = at->queued ? at->row->queue_cause : at->row->cause;
      const std::string name = thread_name(waits_.profile(), holder);
      Draft& draft = delays_[{cause, name, at->queued ? std::string() : sites_.of(wait.stack)}];
      draft.ns += ns;
      draft.lock_sites[sites_.of(waiter.stack)] += ns;
      if (at->queued || ns <= draft.longest) continue;
      draft.longest = ns;
      draft.label = waits_.causes().label(wait);
    }
    return model::kNoThread;
  }

  const Waits& waits_;
  WaitSites& sites_;
  std::vector<std::vector<WaitPart>> by_thread_;  // by start
  std::map<std::tuple<Cause, std::string, std::string>, Draft> delays_;
  double all_ns_ = 0;
};

}  // namespace

std::optional<HolderDelay> find_holder_delay(const model::Profile& profile, const Selection& selection) {
  // What follows needs the moment of each wait, which sums do not have.
  if (profile.meta.facts.contains(model::kWaitSumsFact)) return std::nullopt;
  const Waits waits(profile, selection);
  WaitSites sites(profile, selection.stacks.get());
  return Holders(waits, sites).find();
}

}  // namespace fathom::analysis
