#include "analysis/waits/lock_holders.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "analysis/core/call_tree.h"
#include "analysis/waits/wait_site.h"
#include "analysis/waits/waits_by_thread.h"
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

class Holders {
 public:
  Holders(const Waits& waits, WaitSites& sites) : waits_(waits), sites_(sites), by_thread_(waits) {}

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
    const std::vector<std::uint32_t>& numbers = by_thread_.of(holder);
    for (std::size_t at = by_thread_.first_since(holder, to); at != 0;) {
      const SelectedWait row = waits_.rows()[numbers[--at]];
      const std::uint64_t woken = row.wait.start_ns + row.wait.waited_ns, ran = woken + row.wait.queued_ns;
      if (ran <= from) break;
      if (row.wait.queued_ns != 0 && woken < to)
        add(waiter, holder, row, true,
            times * static_cast<double>(std::min(to, ran) - std::max(from, woken)));
      if (row.wait.waited_ns == 0) continue;
      if (woken <= from) break;
      if (is_at_a_lock(row, row.wait, sites_)) {
        to = std::min(to, woken);
        return row.wait.waker;
      }
      add(waiter, holder, row, false,
          times * static_cast<double>(std::min(to, woken) - std::max(from, row.wait.start_ns)));
    }
    return model::kNoThread;
  }

  void add(const model::Wait& waiter, model::ThreadId holder, const SelectedWait& row, bool queued,
           double ns) {
    const Cause cause = queued ? row.queue_cause : row.cause;
    Draft& draft = delays_[{cause, thread_name(waits_.profile(), holder),
                            queued ? std::string() : sites_.of(row.wait.stack)}];
    draft.ns += ns;
    draft.lock_sites[sites_.of(waiter.stack)] += ns;
    if (queued || ns <= draft.longest) return;
    draft.longest = ns;
    draft.label = waits_.causes().label(row.wait);
  }

  const Waits& waits_;
  WaitSites& sites_;
  WaitsByThread by_thread_;
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
