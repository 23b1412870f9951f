#include "cli/look_companion.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "analysis/stacks/kept_look.h"
#include "model/system_call.h"
#include "tools/stacks/live/live_threads.h"

namespace fathom::cli {
namespace {

constexpr double kLead_s = 1;
// A look reads each thread: 600 of them in half a second.
constexpr std::size_t kMostProcesses = 64, kMostThreadsLooked = 4000;
// Names that the recording has found are on disk. Whoever stops a recording waits no longer than this for the look.
constexpr std::chrono::seconds kNamesWithin(2), kLookWithin(3);
// A lock may be held for a while, and a job may wait for another one: from here on that is news.
constexpr double kLeastStuck_s = 1, kMostStuck_s = 10;
constexpr double kLeastWait_s = 0.5;

std::optional<stacks::Look> look_at(const std::vector<std::int32_t>& pids, symbolize::Options symbols) {
  stacks::LiveThreads threads(std::move(symbols), kNamesWithin);
  bool any = false;
  for (const std::int32_t pid : pids) any = threads.add(pid).has_value() || any;
  if (!any) return std::nullopt;
  auto look = threads.look();
  if (!look) return std::nullopt;
  return std::move(*look);
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

void LookCompanion::begin(const Lent& lent, const std::vector<model::Wait>& waits) {
  begun_ = true;
  if (!may_be_stuck(lent.profile, waits)) return;
  const std::vector<std::int32_t> pids = lent.processes.pids();
  std::size_t count = 0;
  for (const std::int32_t pid : pids) count += lent.processes.threads(pid).size();
  if (count == 0 || count > kMostThreadsLooked || pids.size() > kMostProcesses) return;
  try {
    look_ = std::async(std::launch::async, look_at, pids, symbols_);
  } catch (const std::system_error&) {
    // No thread is to be had: the recording goes on without a look.
  }
}

void LookCompanion::step(const Lent& lent, std::uint64_t now_ns) {
  now_ns_ = now_ns;
  if (begun_ || !duration_s_) return;
  const double since_s = static_cast<double>(now_ns - std::min(now_ns, lent.profile.meta.start_ns)) * 1e-9;
  if (since_s >= std::max(*duration_s_ - kLead_s, *duration_s_ / 2))
    begin(lent, lent.readings.open_waits(now_ns));
}

session::Companion::Save LookCompanion::before_save(const Lent& lent, bool last) {
  if (!last) return Save::kAppend;
  if (!begun_) begin(lent, lent.profile.waits);  // all that were in progress ended with the recording
  if (!look_.valid() || look_.wait_for(kLookWithin) != std::future_status::ready) return Save::kAppend;
  const std::optional<stacks::Look> look = look_.get();
  if (!look) return Save::kAppend;
  const double length_s = static_cast<double>(now_ns_ - std::min(now_ns_, lent.profile.meta.start_ns)) * 1e-9;
  const double least_s = std::clamp(length_s / 2, kLeastStuck_s, kMostStuck_s);
  std::string fact = stacks::to_fact(stacks::keep_trouble(*look, static_cast<std::uint64_t>(least_s * 1e9)));
  if (!fact.empty()) lent.profile.meta.facts[stacks::kLookFact] = std::move(fact);
  return Save::kAppend;
}

}  // namespace fathom::cli
