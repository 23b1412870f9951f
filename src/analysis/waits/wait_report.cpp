#include "analysis/waits/wait_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "analysis/core/call_tree.h"
#include "analysis/core/words.h"
#include "analysis/waits/open_waits.h"
#include "base/stable_sort.h"
#include "base/text.h"
#include "model/wait_sums.h"

namespace fathom::analysis {
namespace {

// Adds up everything in one pass over the waits.
class Collector {
 public:
  Collector(const model::Profile& profile, const Selection& selection)
      : profile_(profile),
        selection_(selection),
        waits_(profile, selection),
        reasons_(profile, built_in_wait_reasons()),
        sites_(profile, selection.stacks.get()) {}

  WaitReport collect() {
    WaitReport report;
    for (const SelectedWait& row : waits_.rows()) {
      if (row.waited_ns != 0) add_waited(row, report);
      if (row.queued_ns != 0) add_queued(row, report);
    }
    report.causes = sorted_causes();
    report.idle = sorted_idle();
    report.threads = sorted_threads();
    report.blocked = sorted_blocked(report.threads);
    report.reasons = sorted_reasons();
    const HandedOnFutexes handed_on(waits_, sites_);
    report.locks = find_contention(waits_, sites_, handed_on);
    report.files = find_files(waits_, selection_, sites_);
    report.throttled_ns = std::min(report.throttled_ns, queued_of(report.threads));
    // What follows needs the moment of each wait, which sums do not have.
    if (waits_.profile().meta.facts.contains(model::kWaitSumsFact)) {
      double ran = 0;
      for (const WaitThreadRow& row : report.threads) ran += row.ran_ns;
      if (!selection_.stacks) report.thread_time = sum_thread_time(waits_, reasons_, sites_, handed_on, ran);
      return report;
    }
    report.chains = find_chains(waits_, sites_);
    report.unended = find_unended_waits(waits_, sites_);
    report.tasks = find_async_tasks(waits_, selection_, sites_);
    report.wall = find_wall_time(waits_, selection_, reasons_, sites_, handed_on);
    report.open_ns = find_open_waits(waits_, selection_);
    return report;
  }

 private:
  static double queued_of(const std::vector<WaitThreadRow>& threads) {
    double sum = 0;
    for (const WaitThreadRow& row : threads) sum += row.queued_ns;
    return sum;
  }

  struct IdleDraft {
    WaitSum sum;
    std::set<std::uint32_t> threads;
  };
  struct ReasonDraft {
    WaitSum sum;
    std::set<std::uint32_t> threads;
    model::StackId longest;
  };
  struct BlockedDraft {
    WaitSum sum;
    std::map<std::string, double> sites;  // ns, where what is waited for is a file
  };
  // Thread, cause, what, released, and 1 + the rule of the reason.
  using BlockedKey = std::tuple<std::string, Cause, std::string, bool, std::uint32_t>;

  const std::string& name_of(model::ThreadId thread) {
    if (names_.empty()) names_.resize(profile_.threads.size());
    std::string& name = names_[thread.value];
    if (name.empty()) name = thread_name(profile_, thread);
    return name;
  }

  void add_waited(const SelectedWait& row, WaitReport& report) {
    const model::Wait& wait = waits_.wait(row);
    report.waited.add(row.waited_ns, waits_.weight(row));
    const std::string& thread = name_of(wait.thread);
    waited_[thread] += static_cast<double>(weighted_ns(row.waited_ns, waits_.weight(row)));
    CauseRow& cause = causes_[static_cast<std::size_t>(row.cause)];
    if (row.idle) {
      cause.idle.add(row.waited_ns, waits_.weight(row));
      report.idle_waits.add(row.waited_ns, waits_.weight(row));
      idle_of_[thread] += static_cast<double>(weighted_ns(row.waited_ns, waits_.weight(row)));
      IdleDraft& idle = idle_[waits_.idle().name(*row.idle)];
      idle.sum.add(row.waited_ns, waits_.weight(row));
      idle.threads.insert(wait.thread.value);
      return;
    }
    cause.waits.add(row.waited_ns, waits_.weight(row));
    WaitSites::Place place = what(row.cause, wait);
    if (row.cause == Cause::kFileSync) {
      ReasonDraft& syncs = syncs_[{sites_.of(wait.stack), wait.object.value}];
      syncs.sum.add(row.waited_ns, waits_.weight(row));
      syncs.threads.insert(wait.thread.value);
    }
    const std::optional<std::uint8_t> reason = reasons_.rule_of(wait, row.cause);
    if (reason) add_reason(*reason, row, wait);
    BlockedDraft& blocked =
        blocked_[{thread, row.cause, std::move(place.name), place.released, reason ? 1u + *reason : 0u}];
    blocked.sum.add(row.waited_ns, waits_.weight(row));
    if (concerns_files(row.cause))
      blocked.sites[sites_.of(wait.stack)] +=
          static_cast<double>(weighted_ns(row.waited_ns, waits_.weight(row)));
  }

  void add_reason(std::uint8_t reason, const SelectedWait& row, const model::Wait& wait) {
    ReasonDraft& draft = by_reason_[{reason, sites_.of_wait(wait).text()}];
    if (row.waited_ns >= draft.sum.max_ns()) draft.longest = wait.stack;
    draft.sum.add(row.waited_ns, waits_.weight(row));
    draft.threads.insert(wait.thread.value);
  }

  void add_queued(const SelectedWait& row, WaitReport& report) {
    const std::string& thread = name_of(waits_.wait(row).thread);
    report.queued.add(row.queued_ns, waits_.queue_weight(row));
    if (row.queue_cause == Cause::kThrottled)
      report.throttled_ns += static_cast<double>(weighted_ns(row.queued_ns, waits_.queue_weight(row)));
    queued_[thread] += static_cast<double>(weighted_ns(row.queued_ns, waits_.queue_weight(row)));
    causes_[static_cast<std::size_t>(row.queue_cause)].waits.add(row.queued_ns, waits_.queue_weight(row));
    blocked_[{thread, row.queue_cause, "", false, 0u}].sum.add(row.queued_ns, waits_.queue_weight(row));
  }

  static bool is_named_by_place(Cause cause) {
    return cause == Cause::kIpc || cause == Cause::kChild || cause == Cause::kSignal ||
           cause == Cause::kIoUring || cause == Cause::kAsyncIo || cause == Cause::kMemoryMap;
  }

  // Files and peers have names; locks are identified by the waiting threads.
  WaitSites::Place what(Cause cause, const model::Wait& wait) {
    const std::string_view object = profile_.strings[profile_.objects[wait.object.value].name];
    if (cause == Cause::kFutex || cause == Cause::kPoll) return sites_.of_wait(wait);
    if (cause == Cause::kSleep || cause == Cause::kUnknown) return {sites_.of(wait.stack), false};
    // The kernel's own queues, children, signals and rings have no names: the place that waits does.
    if (object.empty() && is_named_by_place(cause)) return {sites_.of(wait.stack), false};
    return {std::string(cause == Cause::kSocket || cause == Cause::kPipe ? object : base_name(object)),
            false};
  }

  std::vector<CauseRow> sorted_causes() {
    std::vector<CauseRow> rows;
    for (std::size_t i = 0; i < kCauseCount; ++i) {
      causes_[i].cause = static_cast<Cause>(i);
      if (causes_[i].waits.sum().walked() + causes_[i].idle.walked() != 0)
        rows.push_back(std::move(causes_[i]));
    }
    stable_sort_rows(rows.begin(), rows.end(), [](const CauseRow& a, const CauseRow& b) {
      return std::tuple(-a.waits.sum().total_ns(), -a.idle.total_ns()) <
             std::tuple(-b.waits.sum().total_ns(), -b.idle.total_ns());
    });
    return rows;
  }

  std::vector<IdleRow> sorted_idle() const {
    std::vector<IdleRow> rows;
    for (const auto& [name, draft] : idle_)
      rows.push_back({std::string(name), draft.threads.size(), draft.sum});
    stable_sort_rows(rows.begin(), rows.end(),
                     [](const IdleRow& a, const IdleRow& b) { return a.sum.total_ns() > b.sum.total_ns(); });
    return rows;
  }

  std::vector<ReasonRow> sorted_reasons() const {
    std::vector<ReasonRow> rows;
    for (const auto& [key, draft] : by_reason_)
      rows.push_back({reasons_.name(key.first), key.second, reasons_.evidence(key.first, draft.longest),
                      draft.threads.size(), draft.sum});
    // A program that syncs so often does it for each of its writes or commits, and not for each batch of them.
    constexpr double kFrequent = 10;  // a second
    const double length_s = profile_.duration_s();
    for (const auto& [key, draft] : syncs_) {
      const double rate = length_s > 0 ? draft.sum.waits() / length_s : 0;
      if (rate >= kFrequent)
        rows.push_back({fmt::format("frequent syncs: {:.0f} a second", rate), key.first,
                        std::string(profile_.strings[profile_.objects[key.second].name]),
                        draft.threads.size(), draft.sum});
    }
    stable_sort_rows(rows.begin(), rows.end(), [](const ReasonRow& a, const ReasonRow& b) {
      return a.sum.total_ns() > b.sum.total_ns();
    });
    return rows;
  }

  std::vector<WaitThreadRow> sorted_threads() {
    const Filter filter(profile_, selection_);
    const bool whole = !selection_.from_ns && !selection_.to_ns && !selection_.stacks;
    std::map<std::string, WaitThreadRow> rows;
    std::vector<char> seen(profile_.threads.size(), 0);
    for (const SelectedWait& row : waits_.rows()) seen[waits_.wait(row).thread.value] = 1;
    for (std::uint32_t i = 0; i < profile_.threads.size(); ++i) {
      const model::Thread& thread = profile_.threads[i];
      if (!filter.takes_thread({i})) continue;
      WaitThreadRow& row = rows[name_of({i})];
      if ((thread.cpu_ns | thread.ran_ns | thread.waited_ns) != 0) seen[i] = 1;
      if (!whole || thread.ran_ns + thread.waited_ns + thread.queued_ns == 0) continue;
      row.exact = true;
      row.ran_ns += static_cast<double>(thread.ran_ns);
      row.waited_ns += static_cast<double>(thread.waited_ns);
      row.queued_ns += static_cast<double>(thread.queued_ns);
    }
    if (const double period = sample_period_ns(profile_); period != 0) {
      for (const model::Sample& sample : profile_.all_samples()) {
        if (sample.metric != model::Metric::kCpu || !filter.takes_time(sample.time_ns)) continue;
        if (!filter.takes_thread(sample.thread) || !filter.takes_stack(sample.stack)) continue;
        WaitThreadRow& row = rows[name_of(sample.thread)];
        seen[sample.thread.value] = 1;
        if (!row.exact) row.ran_ns += static_cast<double>(sample.value) * period;
      }
    }
    for (std::uint32_t i = 0; i < seen.size(); ++i)
      if (seen[i] != 0) ++rows[name_of({i})].threads;
    std::vector<WaitThreadRow> sorted;
    for (auto& [name, row] : rows) {
      row.name = name;
      row.idle_ns = find_or_zero(idle_of_, name);
      if (!row.exact) {
        row.waited_ns = find_or_zero(waited_, name);
        row.queued_ns = find_or_zero(queued_, name);
      }
      row.idle_ns = std::min(row.idle_ns, row.waited_ns);
      if (row.wall_ns() > 0) sorted.push_back(std::move(row));
    }
    const auto busy = [](const WaitThreadRow& row) { return row.wall_ns() - row.idle_ns; };
    stable_sort_rows(sorted.begin(), sorted.end(),
                     [&](const WaitThreadRow& a, const WaitThreadRow& b) { return busy(a) > busy(b); });
    return sorted;
  }

  std::vector<BlockedRow> sorted_blocked(const std::vector<WaitThreadRow>& threads) const {
    std::map<std::string_view, double> wall;
    for (const WaitThreadRow& row : threads) wall[row.name] = row.wall_ns();
    std::vector<BlockedRow> rows;
    for (const auto& [key, draft] : blocked_) {
      const auto& [thread, cause, object, released, reason] = key;
      const WaitSum& sum = draft.sum;
      const auto longest = std::max_element(draft.sites.begin(), draft.sites.end(),
                                            [](const auto& a, const auto& b) { return a.second < b.second; });
      const auto whole = wall.find(thread);
      const double share = whole == wall.end() || whole->second <= 0
                               ? 0
                               : std::min(1.0, static_cast<double>(sum.total_ns()) / whole->second);
      rows.push_back({thread, cause, object, released,
                      reason == 0 ? "" : reasons_.name(static_cast<std::uint8_t>(reason - 1)),
                      longest == draft.sites.end() ? "" : longest->first, sum, share});
    }
    stable_sort_rows(rows.begin(), rows.end(), [](const BlockedRow& a, const BlockedRow& b) {
      return a.sum.total_ns() > b.sum.total_ns();
    });
    return rows;
  }

  static double find_or_zero(const std::map<std::string, double>& map, const std::string& key) {
    const auto found = map.find(key);
    return found == map.end() ? 0 : found->second;
  }

  const model::Profile& profile_;
  const Selection& selection_;
  const Waits waits_;
  const RuledWaits reasons_;
  WaitSites sites_;
  std::vector<std::string> names_;
  std::array<CauseRow, kCauseCount> causes_;
  std::map<std::string_view, IdleDraft> idle_;               // by name, which several rules may have
  std::map<std::string, double> waited_, queued_, idle_of_;  // by thread name
  std::map<BlockedKey, BlockedDraft> blocked_;
  std::map<std::pair<std::uint8_t, std::string>, ReasonDraft> by_reason_;  // and place
  std::map<std::pair<std::string, std::uint32_t>, ReasonDraft> syncs_;     // by place and file
};

}  // namespace

WaitReport make_wait_report(const model::Profile& profile, const Selection& selection) {
  WaitReport report = Collector(profile, selection).collect();
  report.folds_idle = selection.fold_idle;
  return report;
}

}  // namespace fathom::analysis
