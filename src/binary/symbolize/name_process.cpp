#include "binary/symbolize/name_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/spawn.h"
#include "linux/process/status.h"

namespace fathom::symbolize {
namespace {

constexpr int kSocketOfChild = 3;
// After repeated deaths it is not restarted.
constexpr std::uint32_t kMostStarts = 16;
constexpr std::uint64_t kSecond = 1'000'000'000;

// No terminal, no other file of ours, no signal that a terminal sends, and none of our masks and handlers. -1: it did not start.
pid_t spawn_reader(const std::string& program, int socket, std::vector<std::string> words) {
  Spawn spawn;
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    spawn.file(standard, "/dev/null", O_RDWR);
  spawn.descriptor(kSocketOfChild, socket);
  spawn.close_from(kSocketOfChild + 1);
  spawn.ordinary_signals();
  spawn.own_session();
  // Of the environment, only what the loader needs to find what it found for us.
  const char* libraries = std::getenv("LD_LIBRARY_PATH");
  std::vector<std::string> environment;
  if (libraries != nullptr) environment.push_back(fmt::format("LD_LIBRARY_PATH={}", libraries));
  spawn.environment(std::move(environment));
  return spawn.start(program, std::move(words)).value_or(-1);
}

void give_priority(pid_t pid, int policy, int nice) {
  const sched_param parameter{};
  ::sched_setscheduler(pid, policy, &parameter);
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(pid), nice);
}

// A thread blocks until the process that it starts has executed its program. With idle priority that would
// take forever on a full machine, so both begin with normal priority.
bool take_ordinary_priority() {
  const int policy = ::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
  if (policy != SCHED_IDLE && ::getpriority(PRIO_PROCESS, 0) <= 0) return false;
  give_priority(0, SCHED_OTHER, 0);
  return true;
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return fmt::format("ended by signal {}", WTERMSIG(status));
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

}  // namespace

NameProcess::NameProcess(ReaderProcess options) : options_(std::move(options)) {}

NameProcess::~NameProcess() {
  stop();
}

std::uint32_t NameProcess::number() {
  if (interrupted_) return 0;
  if (channel_) {
    // If it was killed while it had no request, no file is to blame.
    pollfd poll_fd{channel_->fd(), 0, 0};
    if (::poll(&poll_fd, 1, 0) == 0) return number_;
    stop();
  }
  return start() ? number_ : 0;
}

bool NameProcess::start() {
  if (started_ == kMostStarts) return false;
  ++started_;
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return false;
  Fd ours(ends[0]), theirs(ends[1]);
  // Onto its own number a descriptor would not lose O_CLOEXEC.
  if (theirs.get() == kSocketOfChild) theirs = Fd(::fcntl(theirs.get(), F_DUPFD_CLOEXEC, kSocketOfChild + 1));
  bool ordinary = false;
  {
    const std::lock_guard lock(mutex_);
    ordinary = priority_ && take_ordinary_priority();
  }
  const pid_t pid = spawn_reader(options_.program, theirs.get(),
                                 {"fathom", kNameProcessArgument, std::to_string(kSocketOfChild),
                                  std::to_string(options_.memory_bytes)});
  {
    const std::lock_guard lock(mutex_);
    if (ordinary) give_priority(0, priority_->policy, priority_->nice);
    if (pid < 0) return false;
    pid_ = pid;
    // Asked for while it was being started: it may have inherited another one.
    apply_priority();
  }
  channel_.emplace(std::move(ours), NameChannel::Files::kRefused);
  theirs = Fd();
  cpu_at_start_ns_ = cpu_seen_ns_ = 0;
  alive_at_ = std::chrono::steady_clock::now();
  const auto ready = channel_->receive(0, [this] { return !is_stuck(); });
  if (!ready || ready->kind != FrameKind::kReady) {
    stop();
    return false;
  }
  ++number_;
  return true;
}

std::string NameProcess::stop() {
  const std::lock_guard lock(mutex_);
  channel_.reset();
  if (pid_ < 0) return {};
  if (const auto used = running_cpu_ns()) ended_cpu_ns_ += *used;
  ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return how_it_ended(status);
}

void NameProcess::interrupt() {
  interrupted_ = true;
  const std::lock_guard lock(mutex_);
  if (pid_ >= 0) ::kill(pid_, SIGKILL);
}

void NameProcess::end_by(std::chrono::steady_clock::time_point time, std::function<bool()> hurry) {
  const std::lock_guard lock(mutex_);
  end_ = time;
  hurry_ = std::move(hurry);
}

void NameProcess::set_priority(int policy, int nice) {
  const std::lock_guard lock(mutex_);
  priority_ = {policy, nice};
  apply_priority();
}

void NameProcess::apply_priority() const {
  if (pid_ >= 0 && priority_) give_priority(pid_, priority_->policy, priority_->nice);
}

std::optional<std::uint64_t> NameProcess::running_cpu_ns() const {
  clockid_t clock{};
  timespec used{};
  if (pid_ < 0 || ::clock_getcpuclockid(pid_, &clock) != 0 || ::clock_gettime(clock, &used) != 0)
    return std::nullopt;
  return static_cast<std::uint64_t>(used.tv_sec) * kSecond + static_cast<std::uint64_t>(used.tv_nsec);
}

std::uint64_t NameProcess::cpu_ns() const {
  const std::lock_guard lock(mutex_);
  return ended_cpu_ns_ + running_cpu_ns().value_or(0);
}

pid_t NameProcess::pid() const {
  const std::lock_guard lock(mutex_);
  return pid_;
}

// What counts is its CPU time: on a full machine it gets little, and is not to blame. Time in which it wants
// no CPU and says nothing counts too: a file may be on a disk, or a file system of the target's own, that
// never answers.
bool NameProcess::is_stuck() {
  if (interrupted_) return true;
  const std::lock_guard lock(mutex_);
  if (end_ && (std::chrono::steady_clock::now() >= *end_ || (hurry_ && hurry_()))) {
    why_ = "was not read to its end before the recording ended";
    interrupted_ = true;
    return true;
  }
  const auto used = running_cpu_ns();
  if (!used) return false;  // it ended: the socket reports it
  const std::uint64_t cpu_limit_ns = limit(options_.cpu_limit_ns);
  const std::uint64_t silence_limit_ns = limit(options_.silence_limit_ns);
  if (*used - cpu_at_start_ns_ > cpu_limit_ns) {
    why_ = fmt::format("took more than {:g} s", static_cast<double>(cpu_limit_ns) / kSecond);
    return true;
  }
  const auto now = std::chrono::steady_clock::now();
  const auto stat = process::read_stat(pid_);
  if (*used != cpu_seen_ns_ || (stat && stat->state == 'R')) alive_at_ = now;
  cpu_seen_ns_ = *used;
  if (now - alive_at_ <= std::chrono::nanoseconds(silence_limit_ns)) return false;
  why_ = fmt::format("did not answer for {:g} s", static_cast<double>(silence_limit_ns) / kSecond);
  return true;
}

NameProcess::Reply NameProcess::ask(const NameRequest& request, std::span<const int> files,
                                    const OpenFile& open_file) {
  Reply reply;
  const auto failed = [&](Outcome outcome, std::string why) {
    reply.outcome = outcome;
    reply.why = std::move(why);
    reply.answer = {};
    return reply;
  };
  why_.clear();
  {
    const std::lock_guard lock(mutex_);
    cpu_at_start_ns_ = cpu_seen_ns_ = running_cpu_ns().value_or(0);
  }
  alive_at_ = std::chrono::steady_clock::now();
  const auto go_on = [this] { return !is_stuck(); };
  const auto ended = [&] {
    const std::string how = stop();
    if (!why_.empty()) ++too_much_;
    return why_.empty() ? failed(Outcome::kDied, how) : failed(Outcome::kTooMuch, why_);
  };
  if (!channel_) return failed(Outcome::kDied, "could not be started");
  if (!channel_->send(FrameKind::kRequest, encode_request(request), files, go_on)) return ended();
  const auto* resolve = std::get_if<ResolveNames>(&request.what);
  const auto* places = std::get_if<ResolvePlaces>(&request.what);
  for (;;) {
    const auto frame = channel_->receive(kLargestNameMessage, go_on);
    if (!frame) return ended();
    if (frame->kind == FrameKind::kOpenFile) {
      const std::string_view path(reinterpret_cast<const char*>(frame->bytes.data()), frame->bytes.size());
      const Fd file = open_file ? open_file(std::string(path)) : Fd();
      const int fd = file.get();
      if (!channel_->send(FrameKind::kFile, {}, {&fd, file ? std::size_t{1} : 0}, go_on)) return ended();
      if (is_stuck()) return ended();  // it could ask for ever
      continue;
    }
    auto answer = frame->kind == FrameKind::kAnswer
                      ? decode_answer(frame->bytes, resolve != nullptr ? resolve->addresses.size() : 0,
                                      places != nullptr ? places->addresses.size() : 0)
                      : fail(ErrorKind::kMalformed, "not an answer");
    if (!answer) {
      stop();
      return failed(Outcome::kDied, "answered nonsense");
    }
    reply.answer = std::move(*answer);
    if (reply.answer.out_of_memory)
      return failed(Outcome::kTooMuch,
                    fmt::format("took more than {} MiB of memory", options_.memory_bytes >> 20));
    return reply;
  }
}

}  // namespace fathom::symbolize
