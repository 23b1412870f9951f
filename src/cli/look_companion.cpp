#include "cli/look_companion.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "analysis/stacks/kept_look.h"
#include "analysis/stacks/unmoved.h"
#include "base/clock.h"
#include "linux/process/status.h"
#include "model/system_call.h"
#include "tools/stacks/live/live_threads.h"

namespace fathom::cli {
namespace {

constexpr double kLead_s = 1;
// Looks are this far apart at most: the last one must not be half a day old. 600 threads take 60 ms of CPU time, the first time 300 ms.
constexpr double kMostApart_s = 60;
constexpr std::size_t kMostProcesses = 64, kMostThreadsLooked = 4000;
// Most names are known from the looks before, or on disk.
constexpr std::chrono::seconds kNamesWithin(5);
// Threads of a process that a signal ends are gone by then, and the process with them.
constexpr std::chrono::milliseconds kToEnd(100);
// A lock may be held for a while, and a job may wait for another one: from here on that is news.
constexpr double kLeastStuck_s = 1, kMostStuck_s = 10;
constexpr double kLeastWait_s = 0.5;

double since_start_s(const model::Profile& profile, std::uint64_t now_ns) {
  return static_cast<double>(now_ns - std::min(now_ns, profile.meta.start_ns)) * 1e-9;
}

bool runs(std::int32_t pid) {
  const auto status = process::read_status(pid);
  return status && status->state != 'Z' && status->state != 'X' && !status->killed;
}

// Threads that end one after the other look like holders that have exited. Other processes may end as they like.
bool ended_meanwhile(const stacks::Look& look) {
  const stacks::Look trouble = stacks::keep_trouble(look, 0);
  if (!trouble.verdicts.empty()) std::this_thread::sleep_for(kToEnd);
  return std::ranges::none_of(look.targets, runs, &stacks::Target::pid) ||
         !std::ranges::all_of(trouble.threads, runs, &stacks::ThreadLook::pid);
}

// A thread has waited for long at a lock, or for another thread. Where none has, none is stuck, and a look would cost for nothing.
bool may_be_stuck(const model::Profile& profile, const std::vector<model::Wait>& waits) {
  return std::ranges::any_of(waits, [&](const model::Wait& wait) {
    const std::string_view call = model::system_call_name(wait.system_call);
    return wait.unfinished && static_cast<double>(wait.waited_ns) >= kLeastWait_s * 1e9 &&
           (profile.objects[wait.object.value].kind == model::ObjectKind::kFutex || call == "futex" ||
            call == "flock" || call == "fcntl");
  });
}

}  // namespace

Looker live_looker(symbolize::Options symbols) {
  auto threads = std::make_shared<std::unique_ptr<stacks::LiveThreads>>();
  auto known = std::make_shared<std::vector<std::int32_t>>();
  return [threads, known, symbols = std::move(symbols)](const std::vector<std::int32_t>& pids) -> MadeLook {
    if (!*threads) *threads = std::make_unique<stacks::LiveThreads>(symbols, kNamesWithin);
    for (const std::int32_t pid : pids)
      if (std::ranges::find(*known, pid) == known->end() && (*threads)->add(pid)) known->push_back(pid);
    if (known->empty()) return {};
    auto look = (*threads)->look();
    if (!look) return {};
    const bool is_cut_short = ended_meanwhile(*look);
    return {std::move(*look), is_cut_short};
  };
}

LookCompanion::~LookCompanion() {
  constexpr std::uint64_t kMostNs = 5'000'000'000;
  if (running_) (void)running_->wait_until(monotonic_ns() + kMostNs);
}

// False: there is nothing to look at, or too much.
bool LookCompanion::begin(const Lent& lent, const std::vector<model::Wait>& waits) {
  if (!may_be_stuck(lent.profile, waits)) return false;
  const std::vector<std::int32_t> pids = lent.processes.pids();
  std::size_t count = 0;
  for (const std::int32_t pid : pids) count += lent.processes.threads(pid).size();
  if (count == 0 || count > kMostThreadsLooked || pids.size() > kMostProcesses) return false;
  running_ = Abandonable<MadeLook>::start([looker = looker_, pids] { return looker(pids); });
  return running_.has_value();
}

// False: it still runs.
bool LookCompanion::take(std::uint64_t until_ns) {
  if (!running_) return true;
  if (!running_->wait_until(until_ns)) return false;
  const std::optional<MadeLook> made = running_->take();
  running_.reset();
  if (!made || !made->look) return true;
  if (begun_last_) is_cut_short_ = made->is_cut_short;
  if (made->is_cut_short) return true;
  stacks::Look kept = stacks::keep_trouble(*made->look, 0);
  kept.lacks_names = made->look->lacks_names;
  if (!begun_last_) waits_.clear();
  (begun_last_ ? last_ : earlier_) = std::move(kept);
  return true;
}

void LookCompanion::step(const Lent& lent, std::uint64_t now_ns) {
  if (begun_last_ || !take(0)) return;
  const double since_s = since_start_s(lent.profile, now_ns);
  const double last_s = duration_s_ ? std::max(*duration_s_ - kLead_s, *duration_s_ / 2) : HUGE_VAL;
  begun_last_ = since_s >= last_s;
  if (!begun_last_ && (since_s < next_s_ || since_s > 0.75 * last_s)) return;
  next_s_ = since_s + std::min(since_s, kMostApart_s);
  (void)begin(lent, lent.readings.open_waits(now_ns));
}

session::Companion::Save LookCompanion::before_save(const Lent& lent, bool last) {
  const model::Profile& profile = lent.profile;
  if (!last) {
    if (earlier_ && !earlier_->verdicts.empty())
      std::ranges::copy_if(profile.waits, std::back_inserter(waits_),
                           [&](const model::Wait& wait) { return stacks::spans(wait, earlier_->time_ns); });
    return Save::kAppend;
  }
  const std::uint64_t until_ns = monotonic_ns() + static_cast<std::uint64_t>(patience_.count());
  if (take(until_ns) && !begun_last_) {
    begun_last_ = true;
    (void)begin(lent, profile.waits);  // all that were in progress ended with the recording
  }
  const bool is_done = take(until_ns);
  const bool is_time_up = duration_s_ && since_start_s(profile, profile.meta.end_ns) >= *duration_s_;
  if (!is_done || (is_cut_short_ && is_time_up))
    lent.profile.meta.facts[stacks::kLookMissedFact] = "unfinished";
  else if (const auto& newest = last_ ? last_ : earlier_; newest && newest->lacks_names)
    lent.profile.meta.facts[stacks::kLookMissedFact] = "names";
  keep(lent);
  return Save::kAppend;
}

void LookCompanion::keep(const Lent& lent) {
  const model::Profile& profile = lent.profile;
  const double least_s =
      std::clamp(since_start_s(profile, profile.meta.end_ns) / 2, kLeastStuck_s, kMostStuck_s);
  const auto least_ns = static_cast<std::uint64_t>(least_s * 1e9);
  stacks::Look look = last_ ? stacks::keep_trouble(*last_, least_ns) : stacks::Look();
  look.time_ns = 0;
  if (look.verdicts.empty() && earlier_) {
    waits_.insert(waits_.end(), profile.waits.begin(), profile.waits.end());
    look = stacks::keep_trouble(stacks::keep_unmoved(*earlier_, profile, waits_), least_ns);
    look.time_ns -= std::min(look.time_ns, profile.meta.start_ns);
  }
  std::string fact = stacks::to_fact(look);
  if (!fact.empty()) lent.profile.meta.facts[stacks::kLookFact] = std::move(fact);
}

}  // namespace fathom::cli
