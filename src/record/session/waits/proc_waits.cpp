#include "record/session/waits/proc_waits.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/clock.h"
#include "base/files.h"
#include "linux/process/threads.h"

namespace fathom::session {
namespace {

// The mean: looks come at random up to a half earlier or later, as many programs do things every 10 ms, and
// so out of step with whatever the target does.
constexpr std::uint64_t kPeriodNs = 1'000'000'000 / 99;
constexpr std::uint64_t kShareOfCpu = 20;  // one of so many
constexpr std::uint64_t kLongestPeriodNs = 250'000'000;
constexpr std::size_t kMostTold = 100'000;
// Descriptors for each thread, beyond those of the samples.
constexpr rlim_t kWantedDescriptors = 65'536;

Result<process::SchedulerTimes> read_times(const Fd& fd) {
  char text[128];
  const ssize_t size = ::pread(fd.get(), text, sizeof(text), 0);
  if (size <= 0) return system_error("schedstat", size == 0 ? ESRCH : errno);
  return process::parse_schedstat({text, static_cast<std::size_t>(size)});
}

void allow_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kWantedDescriptors) return;
  limit.rlim_cur = std::min(kWantedDescriptors, limit.rlim_max);
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

Result<std::unique_ptr<ProcWaits>> ProcWaits::open(const ProcessTable& processes, bool switches) {
  Fd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer) return system_error("timer of looks at threads", errno);
  allow_descriptors();
  std::unique_ptr<ProcWaits> waits(new ProcWaits(processes, switches, std::move(timer)));
  waits->arm(monotonic_ns() + kPeriodNs);
  return waits;
}

void ProcWaits::arm(std::uint64_t at_ns) {
  next_ns_ = at_ns;
  itimerspec when{};
  when.it_value.tv_sec = static_cast<time_t>(at_ns / 1'000'000'000);
  when.it_value.tv_nsec = static_cast<long>(at_ns % 1'000'000'000);
  (void)::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

bool ProcWaits::add(std::int32_t pid, std::int32_t tid, std::uint64_t begin_ns, bool born, bool before) {
  Thread thread;
  thread.pid = pid;
  thread.schedstat =
      Fd(::open(fmt::format("/proc/{}/task/{}/schedstat", pid, tid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!thread.schedstat) {
    no_descriptors_ = no_descriptors_ || errno == EMFILE || errno == ENFILE;
    return false;
  }
  auto state = sources::BlockedThreadFile::open(pid, tid);
  if (!state) {
    no_descriptors_ = no_descriptors_ || errno == EMFILE || errno == ENFILE;
    denied_ = denied_ || state.error().kind == ErrorKind::kPermission;
    return false;
  }
  thread.state.emplace(std::move(*state));
  const auto times = read_times(thread.schedstat);
  if (!times) return false;
  no_slices_ = no_slices_ || (times->slices == 0 && !born);
  book_.add(pid, tid, begin_ns, born ? process::SchedulerTimes{} : *times, before);
  threads_[tid] = std::move(thread);
  return true;
}

void ProcWaits::enter(std::int32_t pid, std::uint64_t now_ns, std::vector<sources::Event>& out) {
  if (pid == expected_) return;
  for (const std::int32_t tid : processes_.threads(pid)) {
    if (!threads_.contains(tid) && add(pid, tid, now_ns, false, true)) look(tid, threads_[tid], out);
  }
}

void ProcWaits::on(const sources::ProcessForked& event) {
  births_[event.pid] = event.time_ns;
}

void ProcWaits::on(const sources::ProcessExeced& event) {
  if (event.pid == expected_) expected_ = 0;
}

void ProcWaits::on(const sources::ThreadStarted& event) {
  births_[event.tid] = event.time_ns;
  // The records of its switches follow, maybe before it is looked at.
  if (switches_) book_.add(event.pid, event.tid, event.time_ns, {}, false);
}

void ProcWaits::on(const sources::ThreadEnded& event, std::vector<sources::Event>& out) {
  book_.ended(event.tid, event.time_ns, out);
  threads_.erase(event.tid);
  births_.erase(event.tid);
}

void ProcWaits::find_threads(std::uint64_t now_ns) {
  for (const std::int32_t pid : processes_.pids()) {
    if (pid == expected_) continue;
    for (const std::int32_t tid : processes_.threads(pid)) {
      if (threads_.contains(tid)) continue;
      const auto birth = births_.find(tid);
      const bool born = birth != births_.end();
      if (add(pid, tid, born ? birth->second : now_ns, born, false) && born) births_.erase(birth);
    }
  }
}

void ProcWaits::tell(const sources::StackSeen& stack, std::vector<sources::Event>& out) {
  if (told_.size() >= kMostTold) told_.clear();
  if (told_.insert(stack.stack_id).second) out.emplace_back(stack);
}

void ProcWaits::look(std::int32_t tid, Thread& thread, std::vector<sources::Event>& out) {
  ++looks_;
  const auto before = read_times(thread.schedstat);
  if (!before) return;  // it has ended; its end event will come
  const std::uint64_t now = monotonic_ns();
  const bool same = book_.is_same_wait(tid, *before);
  if (same && !thread.walk_again) return book_.look_same(tid, now, *before);

  auto found = walker_.walk(*thread.state, thread.pid, tid, now);
  if (!found) {
    denied_ = denied_ || found.error().kind == ErrorKind::kPermission;
    return;
  }
  const auto after = read_times(thread.schedstat);
  if (!after) return;
  // What was found is of this wait only if the thread has not been on a CPU in between.
  if (!*found || after->slices != before->slices) return book_.look_running(tid, now, *before);
  thread.walk_again = !same && (*found)->stack.end == WALK_NO_MAPPING;
  tell((*found)->stack, out);
  if (!same) return book_.look_blocked(now, *after, (*found)->wait);
  book_.look_same(tid, now, *after);
  book_.set_stack(tid, (*found)->stack.stack_id);
}

void ProcWaits::look_at_all(std::vector<sources::Event>& out) {
  const std::uint64_t cpu_before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  find_threads(monotonic_ns());
  for (auto& [tid, thread] : threads_) look(tid, thread, out);
  const std::uint64_t cost = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_before;
  // The first rounds walk much and fill caches: a mean over many.
  round_cost_ns_ += cost / 16 - round_cost_ns_ / 16;
  cpu_ns_ += cost;
  ++rounds_;
}

void ProcWaits::round(std::uint64_t now_ns, std::vector<sources::Event>& out) {
  book_.take(out);
  if (now_ns < next_ns_) return;
  look_at_all(out);
  const std::uint64_t period = std::clamp(round_cost_ns_ * kShareOfCpu, kPeriodNs, kLongestPeriodNs);
  const std::uint64_t chance =
      std::uniform_int_distribution<std::uint64_t>(period / 2, period + period / 2)(random_);
  arm(std::max(next_ns_ + chance, now_ns + period / 4));
}

void ProcWaits::finish(std::uint64_t /*end_ns*/, std::vector<sources::Event>& out) {
  look_at_all(out);
  // Of a copy: a look at what is in progress ends neither the waits nor the sums.
  sources::WaitBook(book_).finish(out);
}

std::vector<std::string> ProcWaits::notes() const {
  std::vector<std::string> notes;
  if (denied_)
    notes.push_back("fathom cannot read some threads (ptrace access denied), so their waits are missing");
  if (no_descriptors_)
    notes.push_back("too few open files are allowed to look at all threads: the waits of some are missing");
  notes.push_back(
      switches_
          ? "waits were sampled by looking at all threads up to 99 times a second; the times of those that were seen, and of each thread in all, are exact"
          : "waits were sampled by looking at all threads up to 99 times a second; the times of each thread in all are exact, those of single waits estimated");
  if (no_slices_) notes.push_back("this kernel keeps no schedstat: all times of waits are estimated");
  return notes;
}

}  // namespace fathom::session
