#include "tools/serve/target.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "linux/metrics/quiet_thread.h"
#include "record/session/session.h"
#include "tools/serve/seconds.h"

namespace fathom::serve {
namespace {

constexpr std::uint64_t kLookForTarget = kSecondNs / 2;
constexpr std::uint64_t kLookForMore =
    5 * kSecondNs;  // looking through all processes costs some milliseconds
constexpr std::uint64_t kAfterProblem = 5 * kSecondNs;

// Changes the rate of the recording, in the recording's thread.
class Rate final : public session::Companion {
 public:
  explicit Rate(const std::atomic<std::uint32_t>& wanted_hz) : wanted_hz_(wanted_hz) {}
  void step(const Lent& lent, std::uint64_t) override {
    const std::uint32_t wanted = wanted_hz_;
    if (wanted == lent.profile.meta.frequency_hz || fixed_ || !lent.readings.set_frequency) return;
    fixed_ = !lent.readings.set_frequency(wanted);
  }

 private:
  const std::atomic<std::uint32_t>& wanted_hz_;
  bool fixed_ = false;  // this engine keeps the rate that it began with
};

}  // namespace

std::string sentence_of(const Error& error) {
  return error.remedy.empty() ? error.message : fmt::format("{}; try: {}", error.message, error.remedy);
}

Target::Target(TargetPlan plan, session::RecordOptions options, KeeperOptions keeper)
    : plan_(std::move(plan)),
      options_(std::move(options)),
      keeper_(std::move(keeper)),
      wanted_hz_(options_.frequency_hz),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  keeper_.pulls = &pulls_;
  keeper_.unix_offset_ns = [] { return wall_clock_ns() - monotonic_ns(); };
  thread_ = metrics::quiet_thread([this] { run(); });
}

Target::~Target() {
  ends_ = true;
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof(one));
  thread_.join();
}

TargetState Target::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void Target::ask(Pull pull) {
  pull.from_ns = pull.from_ns == 0 ? monotonic_ns() : pull.from_ns;
  pulls_.ask(std::move(pull));
  if (!state().recording) pulls_.refuse();
}

bool Target::pause(std::uint64_t ns) {
  pollfd wake{wake_.get(), POLLIN, 0};
  if (!ends_) (void)::poll(&wake, 1, static_cast<int>(ns / 1'000'000));
  return !ends_;
}

std::vector<std::int32_t> Target::members_seldom() {
  const std::uint64_t now = monotonic_ns();
  if (now >= looked_ns_ + kSecondNs) {
    looked_ns_ = now;
    members_ = plan_.members();
  }
  return members_;
}

// Each recording has a thread of its own: it gives up rights, which the next one needs again.
void Target::run() {
  while (!ends_) {
    std::vector<std::int32_t> pids = plan_.members();
    if (pids.empty()) {
      pulls_.refuse();
      if (!pause(kLookForTarget)) break;
      continue;
    }
    Result<> recorded;
    metrics::quiet_thread([&] { recorded = record(pids); }).join();
    {
      const std::lock_guard lock(mutex_);
      state_.recording = false;
      state_.problem = recorded ? std::string() : sentence_of(recorded.error());
    }
    pulls_.refuse();
    if (!recorded && !pause(kAfterProblem)) break;
  }
}

Result<> Target::record(std::vector<std::int32_t> pids) {
  Keeper keeper(keeper_);
  Rate rate(wanted_hz_);
  session::RecordOptions options = options_;
  options.frequency_hz = wanted_hz_;
  options.pids = pids;
  options.pids_are_members = plan_.is_group;
  options.target = plan_.name;
  options.output.clear();
  options.companions = {&rate, &keeper};  // the keeper last, as it takes rows out
  // What is recorded for ever need not be as dense in time as half a minute is.
  options.memory_every_ns = kSecondNs;
  options.step_every_ns = kSecondNs / 10;
  options.redact = true;  // nothing that is served or stored holds a command line
  session::Session session(std::move(options));
  members_ = std::move(pids);
  looked_ns_ = monotonic_ns();
  session.follow([this] { return members_seldom(); });
  if (auto started = session.start(); !started) return started;
  {
    const std::lock_guard lock(mutex_);
    state_.recording = true;
    ++state_.recordings;
    state_.problem.clear();
    state_.pids = members_;  // not those of the recording before, and not none
  }
  bool asked = false;
  for (session.step(); !session.ended(); session.step()) {
    pollfd ready[] = {{session.poll_fd(), POLLIN, 0}, {asked ? -1 : wake_.get(), POLLIN, 0}};
    (void)::poll(ready, 2, session.wait_ms());
    if (ends_ && !std::exchange(asked, true)) session.request_stop({.pass_on = 0, .at_once = true});
    const std::lock_guard lock(mutex_);
    state_.pids = members_;
    state_.kernel_ns = session.quality().bpf_ns + session.quality().switch_ns;
    state_.samples = session.quality().samples;
    state_.lost =
        session.quality().lost_ring_full + session.quality().lost_stack + session.quality().lost_disk;
  }
  const auto outcome = session.outcome();
  return outcome ? Result<>() : tl::unexpected<Error>(outcome.error());
}

}  // namespace fathom::serve
