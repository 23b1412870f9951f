#include "attach/inject/stop/thread_stop.h"

#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>

#include "attach/inject/stop/obstacle.h"
#include "base/arch/call_instructions.h"
#include "base/arch/restart.h"
#include "base/clock.h"
#include "base/files.h"
#include "linux/process/status.h"
#include "linux/process/threads.h"
#include "linux/process/tracing_rights.h"

namespace fathom::inject {
namespace {

constexpr std::uint64_t kPatienceNs = 2'000'000'000;  // for a thread to stop
// Minimum number of checks: if the machine itself was suspended, any amount of time passes at once.
constexpr std::uint64_t kPatienceLooks = 1000;
constexpr std::uint64_t kLookForAbsentNs = 20'000'000;  // after this time, check why a thread has not stopped
constexpr int kSyscallStop = SIGTRAP | 0x80;            // with PTRACE_O_TRACESYSGOOD
constexpr timespec kPause = {.tv_sec = 0, .tv_nsec = 20'000};

// A hexadecimal mask from /proc/PID/task/TID/status.
std::uint64_t mask_of(std::string_view status, std::string_view key) {
  const auto at = status.find(key);
  if (at == std::string_view::npos) return 0;
  auto text = status.substr(at + key.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t:"), text.size()));
  std::uint64_t mask = 0;
  std::from_chars(text.data(), text.data() + text.size(), mask, 16);
  return mask;
}

bool queued(int tid, std::uint32_t flags) {
  __ptrace_peeksiginfo_args which{};
  which.flags = flags;
  which.nr = 1;
  siginfo_t signal;
  return ::ptrace(PTRACE_PEEKSIGINFO, tid, &which, &signal) > 0;
}

// A handler will run as soon as the thread continues, and the call fails because of it.
bool handler_waits(int pid, int tid) {
  if (!queued(tid, 0) && !queued(tid, PTRACE_PEEKSIGINFO_SHARED)) return false;
  const auto status = read_file(fmt::format("/proc/{}/task/{}/status", pid, tid));
  if (!status) return false;
  const auto pending = mask_of(*status, "\nSigPnd") | mask_of(*status, "\nShdPnd");
  return (pending & ~mask_of(*status, "\nSigBlk") & mask_of(*status, "\nSigCgt")) != 0;
}

// pc and sp of a thread that waits in the kernel: the last two words of /proc/PID/task/TID/syscall.
void read_place(int pid, StoppedThread& thread) {
  const auto text = read_file(fmt::format("/proc/{}/task/{}/syscall", pid, thread.tid));
  if (!text) return;
  const auto last = text->rfind(" 0x");
  const auto before =
      last == std::string::npos || last == 0 ? std::string::npos : text->rfind(" 0x", last - 1);
  if (before == std::string::npos) return;
  arch::set_pc(thread.registers, std::strtoull(text->c_str() + last + 1, nullptr, 16));
  arch::set_sp(thread.registers, std::strtoull(text->c_str() + before + 1, nullptr, 16));
}

}  // namespace

StoppedThreads::StoppedThreads(StoppedThreads&& other) noexcept
    : pid_(other.pid_),
      kind_(other.kind_),
      memory_(other.memory_),
      stops_(other.stops_),
      threads_(std::exchange(other.threads_, {})),
      raised_(std::exchange(other.raised_, {})),
      parents_(std::exchange(other.parents_, {})),
      began_ns_(std::exchange(other.began_ns_, 0)) {}

Result<StoppedThreads> StoppedThreads::all(int pid, const RemoteMemory& memory, Stops& stops) {
  if (auto stoppable = check_stoppable(pid); !stoppable) return tl::unexpected<Error>(stoppable.error());
  StoppedThreads stopped(pid, Kind::kAll, memory, stops);
  std::vector<int> known;
  for (;;) {
    auto tids = process::read_thread_ids(pid);
    if (!tids) return tl::unexpected<Error>(tids.error());
    std::vector<int> fresh;
    for (const int tid : *tids) {
      if (std::binary_search(known.begin(), known.end(), tid)) continue;
      auto seized = stopped.seize(tid, 0);
      if (!seized) return tl::unexpected<Error>(seized.error());
      if (*seized) fresh.push_back(tid);
    }
    // Every thread that could have created another is stopped by now: a list without new entries is complete.
    known = std::move(*tids);
    if (fresh.empty()) break;
    if (auto done = stopped.interrupt_and_wait(fresh); !done) return tl::unexpected<Error>(done.error());
  }
  if (stopped.threads_.empty())
    return fail(ErrorKind::kNotFound, fmt::format("process {}: it has ended", pid));
  return stopped;
}

Result<StoppedThreads> StoppedThreads::one(int pid, int tid, const RemoteMemory& memory, Stops& stops,
                                           unsigned options) {
  StoppedThreads stopped(pid, Kind::kOne, memory, stops);
  auto seized = stopped.seize(tid, options);
  if (!seized) return tl::unexpected<Error>(seized.error());
  if (*seized)
    if (auto done = stopped.interrupt_and_wait({tid}); !done) return tl::unexpected<Error>(done.error());
  if (stopped.threads_.empty() || stopped.threads_[0].away)
    return fail(ErrorKind::kNotFound, fmt::format("thread {} of process {}: it does not stop", tid, pid));
  return stopped;
}

// false: the thread has ended.
Result<bool> StoppedThreads::seize(int tid, unsigned options) {
  if (::ptrace(PTRACE_SEIZE, tid, nullptr, options | PTRACE_O_TRACESYSGOOD) == 0) return true;
  const int error_number = errno;
  const auto stat = process::read_thread_stat(pid_, tid);
  if (!stat || stat->state == 'Z' || stat->state == 'X') return false;
  if (error_number == ESRCH) return false;
  const auto status = process::read_status(pid_);
  if (status && status->tracer_pid != 0)
    return fail(ErrorKind::kPermission,
                fmt::format("process {}: it is traced by process {} already", pid_, status->tracer_pid),
                "end that debugger or tracer first");
  if (error_number == EPERM)
    return fail(ErrorKind::kPermission, fmt::format("process {}: the kernel does not let us trace it", pid_),
                process::remedy_for_tracing());
  return system_error(fmt::format("process {}: PTRACE_SEIZE", pid_), error_number);
}

// A thread needs a CPU to run to its stop, so its priority is raised right before.
bool StoppedThreads::interrupt(int tid, bool raise) {
  if (raise && raise_priority(tid)) raised_.insert(tid);
  if (::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr) == 0) return true;
  put_back(tid);
  return false;
}

void StoppedThreads::put_back(int tid) {
  if (raised_.contains(tid) && put_back_priority(tid)) raised_.erase(tid);
}

Result<> StoppedThreads::interrupt_and_wait(const std::vector<int>& tids) {
  // Slow work is done before the first thread is stopped.
  std::vector<bool> ordinary;
  for (const int tid : tids) {
    ordinary.push_back(may_be_raised(tid));
    if (process::has_children(pid_, tid)) parents_.insert(tid);
  }
  if (began_ns_ == 0) began_ns_ = monotonic_ns();
  std::vector<int> waiting;
  for (std::size_t i = 0; i < tids.size(); ++i)
    if (interrupt(tids[i], ordinary[i])) waiting.push_back(tids[i]);
  std::sort(waiting.begin(), waiting.end());

  std::uint64_t progress_ns = monotonic_ns(), looks = 0;
  while (!waiting.empty()) {
    int status = 0;
    // Non-blocking: when a thread calls exec, the kernel waits for the threads that we trace, so waiting only
    // for that thread would never end.
    const pid_t tid = ::waitpid(-1, &status, __WALL | __WNOTHREAD | WNOHANG);
    if (tid > 0) {
      took_note(tid, status, waiting);
      progress_ns = monotonic_ns(), looks = 0;
      continue;
    }
    if (tid < 0 && errno == ECHILD) break;  // all have ended
    const auto waited = monotonic_ns() - progress_ns;
    if (waited > kPatienceNs && ++looks > kPatienceLooks)
      return fail(ErrorKind::kSystem, fmt::format("process {}: {} threads did not stop, the first is {}",
                                                  pid_, waiting.size(), waiting[0]));
    if (waited > kLookForAbsentNs) look_for_absent(waiting);
    ::nanosleep(&kPause, nullptr);
  }
  return {};
}

void StoppedThreads::took_note(int tid, int status, std::vector<int>& waiting) {
  const auto place = std::lower_bound(waiting.begin(), waiting.end(), tid);
  const bool expected = place != waiting.end() && *place == tid;
  if (!WIFSTOPPED(status)) {
    if (expected) waiting.erase(place);
    return;
  }
  if (status >> 16 != PTRACE_EVENT_STOP || !expected) {
    // A signal came first: it is delivered normally, and our stop follows. "No signal" is the stop after a
    // system call that a dead tracer had requested.
    const bool is_signal = status >> 16 == 0 && WSTOPSIG(status) != kSyscallStop;
    const long signal = is_signal ? WSTOPSIG(status) : 0;
    ::ptrace(PTRACE_CONT, tid, nullptr, signal);
    return;
  }
  waiting.erase(place);
  StoppedThread thread{.tid = tid, .ordinary = raised_.contains(tid)};
  // Checked again if the process creates children at all: from now on it creates no more.
  thread.parent = !parents_.empty() && process::has_children(pid_, tid);
  put_back(tid);
  (void)arch::get_registers(tid, thread.registers);
  threads_.push_back(thread);
}

void StoppedThreads::look_for_absent(std::vector<int>& waiting) {
  std::erase_if(waiting, [&](int tid) {
    const auto stat = process::read_thread_stat(pid_, tid);
    if (!stat || stat->state == 'Z' || stat->state == 'X') return true;
    if (stat->state != 'D') return false;
    StoppedThread thread{.tid = tid, .away = true};
    read_place(pid_, thread);
    threads_.push_back(thread);
    return true;
  });
}

Result<> StoppedThreads::set_registers_now(const StoppedThread& thread) {
  if (arch::set_registers(thread.tid, thread.registers) || errno == ESRCH) return {};
  return system_error(fmt::format("thread {}: its registers", thread.tid), errno);
}

void StoppedThreads::let_go(StoppedThread& thread) {
  if (thread.away) return;  // the kernel detaches it when the tracing thread ends
  if (arch::ended_by_stop(thread.registers)) {
    auto code = arch::kCallInstruction;
    const bool is_call =
        memory_->read_some({arch::pc(thread.registers) - code.size()}, code) == code.size() &&
        code == arch::kCallInstruction;
    if (is_call && (thread.borrowed || !handler_waits(pid_, thread.tid))) {
      arch::start_again(thread.registers);
      thread.changed = true;
      ++stops_->restarted_calls;
    }
  }
  if (thread.changed) (void)arch::set_registers(thread.tid, thread.registers);
  if (thread.mask_lost) ++stops_->masks_lost;
  ::ptrace(PTRACE_DETACH, thread.tid, nullptr, nullptr);  // fails only if it is dead
}

void StoppedThreads::resume() {
  bool all_put_back = true;
  for (const int tid : std::exchange(raised_, {})) all_put_back &= put_back_priority(tid);
  if (!all_put_back) put_back_priorities(pid_);  // it has ended, or exec gave it another tid
  if (began_ns_ == 0) return;
  std::partition(threads_.begin(), threads_.end(), [](const StoppedThread& thread) { return thread.parent; });
  for (StoppedThread& thread : threads_) let_go(thread);
  threads_.clear();
  const auto stood = monotonic_ns() - std::exchange(began_ns_, 0);
  if (kind_ == Kind::kOne) {
    ++stops_->one_thread;
    stops_->longest_ns = std::max(stops_->longest_ns, stood);
  } else {
    ++stops_->all_threads;
    stops_->all_threads_ns = std::max(stops_->all_threads_ns, stood);
    stops_->all_threads_total_ns += stood;
  }
}

}  // namespace fathom::inject
