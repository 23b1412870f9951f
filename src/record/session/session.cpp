#include "record/session/session.h"

#include <fmt/format.h>
#include <linux/capability.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "base/arch/facts.h"
#include "base/capabilities.h"
#include "base/clock.h"
#include "base/files.h"
#include "linux/process/descendants.h"
#include "linux/process/ending.h"
#include "linux/process/find.h"
#include "linux/process/standstill.h"
#include "record/session/privileges.h"
#include "record/session/recording.h"

namespace fathom::session {
namespace {

constexpr std::uint64_t kLookEvery = 1'000'000'000;
constexpr std::uint64_t kMembersEvery = 1'000'000'000;

RecordingPlan plan_of(const RecordOptions& options) {
  RecordingPlan plan;
  plan.launched = !options.command.empty();
  plan.record_shutdown = options.record_shutdown;
  plan.delay_ns = static_cast<std::uint64_t>(options.delay_s * 1e9);
  if (options.duration_s) plan.duration_ns = static_cast<std::uint64_t>(*options.duration_s * 1e9);
  return plan;
}

// The heap tracer and probes come in by ptrace before the first instruction, and there the kernel gives a program its own rights
// only if the tracer could trace everybody.
Result<> keeps_its_rights(const RecordOptions& options, const std::string& program) {
  if ((options.heap == Heap::kNone && options.probes.empty()) ||
      (own_capabilities() & capability(CAP_SYS_PTRACE)) != 0)
    return {};
  if (!process::gives_rights(program)) return {};
  return fail(
      ErrorKind::kPermission,
      program + ": with its heap traced, or probed, it would run without the rights that its file gives it",
      "run as root, record without --heap and --probe, or start it and attach as root (-p)");
}

bool has_ended(const Fd& pidfd) {
  pollfd poll_fd{pidfd.get(), POLLIN, 0};
  return ::poll(&poll_fd, 1, 0) == 1;
}

// SIGTERM goes to the command alone. What it started may end with it a moment later, as after Ctrl-C, which all of them get.
std::vector<std::int32_t> left_of(const TargetEnds& targets, const std::vector<std::int32_t>& pids) {
  constexpr auto kPause = std::chrono::milliseconds(20);
  std::vector<std::int32_t> left = left_by_command(targets, pids);
  for (int looks = 0; looks < 10 && !left.empty(); ++looks) {
    std::this_thread::sleep_for(kPause);
    left = left_by_command(targets, left);
  }
  return left;
}

}  // namespace

Session::Session(RecordOptions options)
    : options_(std::move(options)), state_(plan_of(options_)), engines_(options_) {}
Session::~Session() = default;

Result<> Session::start() {
  auto prepared = prepare();
  if (prepared) prepared = act(state_.ready(monotonic_ns()));
  if (prepared) return {};
  state_.failed();
  return prepared;
}

// All that can fail before the target is touched comes first.
Result<> Session::prepare() {
  if (!arch::kSupported)
    return fail(ErrorKind::kUnsupported, "fathom knows too little of this processor to record on it",
                "record on one that it knows; recordings can be read anywhere");
  epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return system_error("epoll", errno);
  if (auto found = find_targets(); !found) return found;
  return open_recording();
}

// The command is forked and has its rights, and no thread that needs fewer is running yet: from here on this
// process has those with which the engine's start was rehearsed.
Result<> Session::open_recording() {
  auto engine = engines_.next(targets_);
  if (!engine) return tl::unexpected<Error>(engine.error());
  recording_ = std::make_unique<Recording>(options_, std::move(engine->source), engines_.obstacles());
  if (launched_) recording_->expect_program(launched_->path());
  if (auto created = recording_->create_file(); !created) return created;
  if (options_.give_up_privileges) give_up_privileges(engine->kept);
  return {};
}

Result<> Session::find_targets() {
  targets_ = options_.pids;
  if (!options_.command.empty()) {
    auto launched = LaunchedProcess::prepare(options_.command, options_.in_child);
    if (!launched) return tl::unexpected<Error>(launched.error());
    launched_.emplace(std::move(*launched));
    targets_ = {launched_->pid()};
    if (auto kept = keeps_its_rights(options_, launched_->path()); !kept) return kept;
  }
  for (const std::int32_t pid : targets_) {
    Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!fd && errno == ESRCH && options_.pids_are_members) continue;
    if (!fd) return within(fmt::format("process {}", pid), system_error("pidfd_open", errno).value());
    if (auto watched = watch(fd.get()); !watched) return watched;
    running_.push_back({pid, std::move(fd)});
  }
  if (running_.size() < targets_.size()) {
    targets_.clear();
    for (const auto& each : running_) targets_.push_back(each.pid);
  }
  return {};
}

Result<> Session::watch(int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return system_error("epoll", errno);
  return {};
}

Result<> Session::act(Task task) {
  switch (task) {
    case Task::kNone:
      break;
    case Task::kLetGo:
      return let_go();
    case Task::kBegin:
      return begin();
    case Task::kAskTarget:
      launched_->send(SIGTERM);  // ours to end, as the user gave it no end of its own
      break;
  }
  return {};
}

Result<> Session::let_go() {
  if (launched_) {
    if (auto released = launched_->release(); !released) return released;
  }
  state_.let_go(monotonic_ns());
  return {};
}

Result<> Session::begin_recording() {
  if (launched_ && !launched_->released()) return recording_->begin(*launched_);
  std::vector<std::int32_t> pids = targets_;
  // What a target has started belongs to it: the workers of a server, and what a command has started during the delay.
  if (options_.follow_children && !options_.pids_are_members)
    std::ranges::copy(process::living_children(targets_), std::back_inserter(pids));
  return recording_->begin(pids, targets_);
}

// An engine may still fail when it starts: a limit of descriptors, a target that has changed its user since.
Result<> Session::begin() {
  auto begun = begin_recording();
  while (!begun && recording_->engine_failed()) {
    engines_.failed(begun.error());
    if (auto opened = open_recording(); !opened) return opened;
    begun = begin_recording();
  }
  if (!begun) return begun;
  if (auto watched = watch_recording(); !watched) return watched;
  state_.begun(monotonic_ns());
  return {};
}

// A CPU that is switched on brings a ring of its own.
Result<> Session::watch_recording() {
  for (const int fd : recording_->fds()) {
    if (std::ranges::find(recording_fds_, fd) != recording_fds_.end()) continue;
    if (auto watched = watch(fd); !watched) return watched;
    recording_fds_.push_back(fd);
  }
  return {};
}

int Session::wait_ms() const {
  if (state_.ended() || state_.phase() == Phase::kFinishing) return 0;
  const std::uint64_t now = monotonic_ns();
  std::uint64_t wait = state_.next_ns() <= now ? 0 : state_.next_ns() - now;
  wait = std::min(wait, state_.recording() ? options_.step_every_ns : kLookEvery);
  return static_cast<int>((wait + 999'999) / 1'000'000);
}

void Session::step() {
  if (state_.recording()) {
    if (auto stepped = recording_->step(monotonic_ns()); !stepped) fail_with(stepped.error());
    if (auto watched = watch_recording(); !watched) fail_with(watched.error());
    if (recording_->memory_reached()) act_or_fail(state_.memory_reached(monotonic_ns()));
    if (recording_->enough()) act_or_fail(state_.enough(monotonic_ns()));
  }
  if (state_.recording() && members_) look_for_more(monotonic_ns());
  look_at_targets();
  act_or_fail(state_.tick(monotonic_ns()));
  if (state_.phase() == Phase::kFinishing) finish();
  if (state_.ended()) conclude();
}

void Session::look_for_more(std::uint64_t now_ns) {
  if (now_ns < next_members_ns_) return;
  next_members_ns_ = now_ns + kMembersEvery;
  for (const std::int32_t pid : members_()) {
    if (std::ranges::find(targets_, pid) != targets_.end()) continue;
    Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!fd) continue;  // it has ended meanwhile
    targets_.push_back(pid);
    if (!recording_->join(pid)) {
      recording_->note(
          "Processes that came into the control group while it was recorded are missing: they could not be joined");
      continue;
    }
    if (!watch(fd.get())) continue;
    running_.push_back({pid, std::move(fd)});
  }
}

void Session::request_stop(const StopRequest& request) {
  if (launched_ && request.pass_on != 0) launched_->send(request.pass_on);
  state_.stop_requested(monotonic_ns(), request.at_once);
}

void Session::look_at_targets() {
  // One that has ended stays readable, and would wake us without end.
  for (std::size_t i = 0; i < running_.size();) {
    if (!has_ended(running_[i].fd)) {
      ++i;
      continue;
    }
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, running_[i].fd.get(), nullptr);
    gone_.push_back(std::move(running_[i]));
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    // At once: where the kernel is old, it is known until the parent waits for it.
    if (!launched_) gone_.back().status = process::wait_status(gone_.back().fd.get(), gone_.back().pid);
  }
  if (running_.empty()) return state_.target_ended();
  const std::uint64_t now = monotonic_ns();
  if (state_.phase() != Phase::kTargetAsked || now < next_look_ns_) return;
  next_look_ns_ = now + kLookEvery;
  state_.target_stands_still(now, process::standstill(targets_.front()) != process::Standstill::kNone);
}

void Session::finish() {
  for (const int fd : std::exchange(recording_fds_, {}))
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  note_standstill();
  recording_->end();
  look_at_targets();
  if (auto finished = recording_->finish(ends_of_targets(), outcome_); !finished) fail_with(finished.error());
  act_or_fail(state_.written(monotonic_ns()));
}

TargetEnds Session::ends_of_targets() {
  TargetEnds targets;
  targets.launched = launched_.has_value();
  if (launched_) {
    // Only now: until it is reaped, its number cannot be reused.
    if (const auto status = launched_->poll_status())
      targets.ends.push_back(
          {launched_->pid(), launched_->signal() != 0 ? launched_->signal() : *status << 8});
    return targets;
  }
  for (Target& target : gone_) {
    if (!target.status) target.status = process::wait_status(target.fd.get(), target.pid);
    targets.ends.push_back({target.pid, target.status});
  }
  return targets;
}

// Said in the file, too: its end looks like a program that had nothing to do.
void Session::note_standstill() {
  outcome_.standing_still.clear();
  for (const std::int32_t pid : targets_) {
    const auto still = process::standstill(pid);
    if (still == process::Standstill::kNone) continue;
    outcome_.standing_still.push_back(pid);
    if (state_.phase() == Phase::kFinishing)
      recording_->note(fmt::format("process {} was {} when the recording ended", pid,
                                   still == process::Standstill::kStopped ? "stopped" : "frozen"));
  }
}

void Session::conclude() {
  outcome_.stopped_by = state_.stopped_by().value_or(StopReason::kTargetEnded);
  if (!launched_ || !launched_->released()) return;
  outcome_.target_status = launched_->poll_status();
  if (outcome_.target_status) {
    const TargetEnds targets{.ends = {{launched_->pid(), outcome_.target_status}}, .launched = true};
    outcome_.outlived_by = left_of(targets, outcome_.outlived_by);
    return;
  }
  outcome_.outlived_by.clear();
  outcome_.left_running = launched_->pid();
  outcome_.left_at_request = state_.wait_was_ended_by_request();
  note_standstill();  // it may have been stopped while we waited
}

void Session::act_or_fail(Task task) {
  if (auto done = act(task); !done) fail_with(done.error());
}

void Session::fail_with(Error error) {
  if (!error_) error_ = std::move(error);
  state_.failed();
}

Result<RecordOutcome> Session::outcome() const {
  if (error_) return tl::unexpected<Error>(*error_);
  return outcome_;
}

std::optional<std::int32_t> Session::command_pid() const {
  return launched_ && launched_->released() ? std::optional(launched_->pid()) : std::nullopt;
}

double Session::seconds() const {
  return state_.ever_recorded() ? static_cast<double>(monotonic_ns() - state_.begun_ns()) * 1e-9 : 0;
}

std::optional<double> Session::cpu_seconds() const {
  return recording_->cpu_seconds();
}

const model::Quality& Session::quality() const {
  return recording_->quality();
}

std::vector<std::string> Session::unseen_allocators() const {
  return recording_ ? recording_->unseen_allocators() : std::vector<std::string>();
}

std::vector<std::string> Session::allocators_found_by_code() const {
  return recording_ ? recording_->allocators_found_by_code() : std::vector<std::string>();
}

std::string Session::traced_allocators() const {
  return recording_ && state_.recording() ? recording_->traced_allocators() : std::string();
}

std::uint64_t Session::bytes_written() const {
  return recording_->bytes_written();
}

}  // namespace fathom::session
