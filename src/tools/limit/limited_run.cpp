#include "tools/limit/limited_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "base/files.h"
#include "linux/memory/memory_sampler.h"

namespace fathom::limit {
namespace {

constexpr std::uint64_t kSampleEvery = 100'000'000;
constexpr std::uint64_t kWallEvery = 5'000'000;
constexpr int kRemovalMs = 60'000;  // the memory of a large process takes its time to be freed
constexpr int kLogMs = 500;         // the kernel's record is written before its victim is gone
constexpr int kSignalBase = 128;
constexpr int kNotInside = 126;

std::optional<Pressure> machine_pressure() {
  const auto text = read_file("/proc/pressure/memory");
  if (!text) return std::nullopt;
  const auto pressure = sources::parse_pressure(*text);
  return pressure ? std::optional(Pressure{pressure->some_us, pressure->full_us}) : std::nullopt;
}

// Whether a child of ours may enter: asked by one that does and ends.
Result<> try_entry(int procs, const std::string& path) {
  const pid_t pid = ::fork();
  if (pid < 0) return system_error("fork", errno);
  if (pid == 0) ::_exit(::write(procs, "0", 1) == 1 ? 0 : errno & 0x7f);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  Error error = system_error(path, WIFEXITED(status) ? WEXITSTATUS(status) : EIO).value();
  error.remedy = "run as root, or in a group that is delegated to this user";
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace

LimitedRun::LimitedRun(RunOptions options, Place place, GroupGuardian& guardian)
    : options_(std::move(options)), place_(std::move(place)), guardian_(guardian) {}

LimitedRun::~LimitedRun() {
  session_.reset();
  if (!group_) return;
  if (remove_group(group_->version(), group_->directory(), kRemovalMs)) guardian_.forget();
  leave_place(place_, std::move(in_use_));
}

Result<> LimitedRun::make() {
  const std::string directory = place_.parent + "/" + options_.group_name;
  // First: from the moment the group exists, a guardian will remove it.
  if (auto watched = guardian_.watch(place_.version, directory); !watched) return watched;
  auto group = make_group(place_, options_.group_name, in_use_);
  if (!group) {
    guardian_.forget();
    leave_place(place_, std::move(in_use_));
    return tl::unexpected<Error>(group.error());
  }
  group_ = std::move(*group);
  swaps_ = machine_has_swap();
  if (auto applied = group_->apply(options_.limits, swaps_); !applied) return applied;
  outcome_.limit_above =
      lower_limit_above(group_->version(), group_->directory(), options_.limits.memory_bytes);
  if (options_.hold) {
    wall_.emplace(*group_, options_.limits);
    if (auto armed = wall_->arm(); !armed) return armed;
  }
  procs_ = Fd(::open(group_->file("cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  if (!procs_) return system_error(group_->file("cgroup.procs"), errno);
  return try_entry(procs_.get(), group_->file("cgroup.procs"));
}

Result<> LimitedRun::start() {
  auto started = make();
  if (started) started = launch();
  if (started) return {};
  if (group_) {
    session_.reset();
    launched_.reset();
    if (remove_group(group_->version(), group_->directory(), kRemovalMs)) guardian_.forget();
    leave_place(place_, std::move(in_use_));
    group_.reset();
  }
  return started;
}

bool LimitedRun::is_inside(int pid) const {
  const std::vector<int> pids = group_->processes();
  return std::ranges::find(pids, pid) != pids.end();
}

// The limit holds for what is inside, so the command has to be seen there.
Result<> LimitedRun::check_inside(int pid) const {
  if (is_inside(pid)) return {};
  ::kill(pid, SIGKILL);
  return fail(ErrorKind::kSystem, fmt::format("{}: the command did not enter its group: no limit would hold",
                                              group_->directory()));
}

Result<> LimitedRun::launch() {
  outcome_.limits = options_.limits;
  outcome_.version = group_->version();
  outcome_.group = place_.path + "/" + options_.group_name;
  if (auto log = oom::KernelLogTail::open()) log_.emplace(std::move(*log));
  outcome_.log_unreadable = !log_;
  pressure_before_ = machine_pressure();

  const int procs = procs_.get();
  const auto enter = [procs, discard = options_.discard_output, in_child = options_.in_child] {
    // Only async-signal-safe calls. Outside of its group it must not run.
    if (::write(procs, "0", 1) != 1) ::_exit(kNotInside);
    if (discard) {
      const int nothing = ::open("/dev/null", O_WRONLY);
      ::dup2(nothing, STDOUT_FILENO);
      ::dup2(nothing, STDERR_FILENO);
    }
    if (in_child) in_child();
  };
  started_ns_ = monotonic_ns();
  if (options_.recording) {
    options_.recording->command = options_.command;
    options_.recording->in_child = enter;
    recorder_.open();
    options_.recording->companions = {&recorder_};
    session_.emplace(*options_.recording);
    if (auto started = session_->start(); !started) return started;
    outcome_.pid = session_->command_pid().value_or(0);
    session_->step();
  } else {
    auto launched = session::LaunchedProcess::prepare(options_.command, enter);
    if (!launched) return tl::unexpected<Error>(launched.error());
    launched_.emplace(std::move(*launched));
    outcome_.pid = launched_->pid();
    pidfd_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, outcome_.pid, 0)));
    if (!pidfd_) return system_error("pidfd_open", errno);
    if (auto inside = check_inside(outcome_.pid); !inside) return inside;
    started_ns_ = monotonic_ns();
    if (auto released = launched_->release(); !released) return released;
  }
  procs_ = Fd();
  return {};
}

std::vector<pollfd> LimitedRun::poll_fds() const {
  std::vector<pollfd> fds;
  if (session_) fds.push_back({session_->poll_fd(), POLLIN, 0});
  if (pidfd_) fds.push_back({pidfd_.get(), POLLIN, 0});
  return fds;
}

int LimitedRun::wait_ms() const {
  if (ended_) return 0;
  const std::uint64_t every = wall_ && (!was_held_ || at_wall()) ? kWallEvery : kSampleEvery;
  const int ms = static_cast<int>(every / 1'000'000);
  return session_ ? std::min(ms, session_->wait_ms()) : ms;
}

std::optional<int> LimitedRun::command_pid() const {
  if (ended_) return std::nullopt;
  return session_ ? session_->command_pid() : std::optional(launched_->pid());
}

void LimitedRun::pass_on(int signal) {
  if (signal == 0 || ended_) return;
  if (session_)
    session_->request_stop({.pass_on = signal, .at_once = false});
  else
    launched_->send(signal);
}

void LimitedRun::interrupt(bool now) {
  outcome_.interrupted = true;
  if (!now || !group_) return;
  if (at_wall()) leave_wall();
  group_->end_processes();
}

void LimitedRun::leave_wall() {
  if (!at_wall()) return;
  held_until_ns_ = 0;
  (void)wall_->let_go(options_.hold->more).has_value();
  guardian_.held_for(0);
  if (options_.hold->more) outcome_.limits.memory_bytes = *options_.hold->more;
}

void LimitedRun::watch_wall() {
  const std::uint64_t now = monotonic_ns();
  if (at_wall()) {
    if (now >= held_until_ns_) leave_wall();
    return;
  }
  if (was_held_ || !wall_->met()) return;
  was_held_ = true;
  ++outcome_.held;
  const auto ns = static_cast<std::uint64_t>(options_.hold->seconds * 1e9);
  held_until_ns_ = now + ns;
  constexpr int kGraceMs = 2000;  // we do it ourselves, as long as we can
  guardian_.held_for(static_cast<int>(ns / 1'000'000) + kGraceMs);
  if (options_.hold->at_wall) options_.hold->at_wall(*group_);
}

void LimitedRun::sample() {
  const std::uint64_t now = monotonic_ns();
  if (now < next_sample_ns_) return;
  next_sample_ns_ = now + kSampleEvery;
  const GroupState state = group_->read();
  outcome_.swapped_bytes =
      std::max({outcome_.swapped_bytes, state.swap_bytes, state.swap_peak_bytes.value_or(0)});
  outcome_.sampled_peak_bytes = std::max(outcome_.sampled_peak_bytes, state.usage_bytes);
  constexpr std::size_t kMostPids = 65536;
  if (pids_.size() < kMostPids)
    for (const int pid : group_->processes()) pids_.insert(pid);
  take_log();
}

void LimitedRun::take_log() {
  constexpr std::size_t kMost = std::size_t{16} << 20;
  if (log_ && log_text_.size() < kMost) log_text_ += log_->take();
}

void LimitedRun::step() {
  if (ended_) return;
  if (wall_) watch_wall();
  sample();
  if (session_) {
    session_->step();
    ended_ = session_->ended();
  } else {
    ended_ = launched_->poll_status().has_value();
  }
  if (ended_) note_end();
}

void LimitedRun::note_end() {
  outcome_.seconds = static_cast<double>(monotonic_ns() - started_ns_) * 1e-9;
  if (launched_) {
    outcome_.status = launched_->poll_status();
    outcome_.signal = launched_->signal();
  } else if (const auto recorded = session_->outcome()) {
    outcome_.status = recorded->target_status;
    outcome_.recording = recorded->path;
    // The session reports it as a shell does.
    if (outcome_.status && *outcome_.status > kSignalBase && *outcome_.status < kSignalBase + NSIG)
      outcome_.signal = *outcome_.status - kSignalBase;
  }
}

Result<Outcome> LimitedRun::finish() {
  next_sample_ns_ = 0;
  sample();
  outcome_.left_behind = group_->processes().size();
  outcome_.state = group_->read();
  const GroupState& state = outcome_.state;
  outcome_.swapped_bytes =
      std::max({outcome_.swapped_bytes, state.swap_bytes, state.swap_peak_bytes.value_or(0)});
  // Of version 1: what the sum had beyond the memory was swapped at some time, also between two looks. The two are charged one
  // after the other in batches of pages, so a few pages are no swap.
  const auto batches =
      static_cast<std::uint64_t>(64 * ::sysconf(_SC_PAGESIZE) * ::sysconf(_SC_NPROCESSORS_CONF));
  if (swaps_ && state.peak_bytes && state.peak_with_swap_bytes &&
      *state.peak_with_swap_bytes > *state.peak_bytes + batches)
    outcome_.swapped_bytes =
        std::max(outcome_.swapped_bytes, *state.peak_with_swap_bytes - *state.peak_bytes);
  if (!state.pressure && pressure_before_)
    if (const auto after = machine_pressure())
      outcome_.machine_pressure =
          Pressure{after->some_us - pressure_before_->some_us, after->full_us - pressure_before_->full_us};

  pids_.insert(outcome_.pid);
  outcome_.records = about(oom::read_records(log_text_), outcome_.group, pids_);
  for (int waited = 0; state.oom_kills != 0 && log_ && waited < kLogMs; waited += 10) {
    if (!outcome_.records.empty() && !outcome_.records.back().kills.empty() &&
        outcome_.records.back().kills.back().measured)
      break;
    ::usleep(10'000);
    take_log();
    outcome_.records = about(oom::read_records(log_text_), outcome_.group, pids_);
  }
  std::optional<Error> failed;
  if (session_)
    if (const auto recorded = session_->outcome(); !recorded) failed = recorded.error();
  const bool gone = remove_group(group_->version(), group_->directory(), kRemovalMs);
  const std::string directory = group_->directory();
  if (gone) guardian_.forget();
  leave_place(place_, std::move(in_use_));
  group_.reset();
  if (!gone)
    return fail(ErrorKind::kSystem, directory + ": the group could not be removed", "rmdir " + directory);
  if (failed) return tl::unexpected<Error>(*failed);
  return outcome_;
}

}  // namespace fathom::limit
