#include "cli/record_moments.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "base/spawn.h"
#include "cli/notices.h"
#include "linux/process/descendants.h"
#include "linux/process/status.h"
#include "tools/serve/log_watch.h"
#include "tools/serve/trigger.h"
#include "tools/serve/usage.h"

namespace fathom::cli {

Result<std::string> wait_to_begin(const BeginCondition& condition, const std::vector<std::int32_t>& pids) {
  std::optional<serve::TriggerWatch> trigger;
  std::optional<serve::LogWatch> log;
  if (!condition.when.empty()) {
    auto parsed = serve::parse_trigger(condition.when);
    if (!parsed) return within("--start-when", parsed.error());
    // Waits are known when they are recorded, and a process that was killed cannot be recorded any more.
    if (parsed->what == serve::Trigger::What::kP99 || parsed->what == serve::Trigger::What::kOom)
      return fail(ErrorKind::kUsage, fmt::format("--start-when '{}' has nothing to look at", condition.when),
                  "fathom serve --pin-when, which records all the time");
    trigger.emplace(std::move(*parsed));
  }
  if (!condition.log.empty()) {
    auto opened = serve::LogWatch::open(condition.log);
    if (!opened) return within("--when-log", opened.error());
    log.emplace(std::move(*opened));
    if (const auto problem = log->problem()) say("fathom: {}\n", *problem);
  }
  serve::Usage usage;
  for (;;) {
    if (std::ranges::all_of(pids, [](std::int32_t pid) { return process::is_ending(pid); }))
      return fail(ErrorKind::kNotFound, "the target ended before the recording could begin",
                  "a weaker condition");
    if (trigger)
      if (auto reason = trigger->take(usage.take(pids, monotonic_ns()))) return std::move(*reason);
    if (log)
      if (auto line = log->take()) return std::move(*line);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

// With the signals of an ordinary child: ours are blocked or ignored.
Result<Around> Around::start(const std::string& command, bool pass_on) {
  std::array<Fd, 2> inner, outer;
  for (std::size_t i = 0; i < outer.size(); ++i) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("--load: pipe", errno);
    outer[i] = Fd(ends[0]);
    inner[i] = Fd(ends[1]);
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    constexpr int kRoom = 1 << 20;  // a step of the recording comes every 50 ms
    (void)::fcntl(ends[0], F_SETPIPE_SZ, kRoom);
  }
  Spawn spawn;
  spawn.descriptor(STDOUT_FILENO, inner[0].get());
  spawn.descriptor(STDERR_FILENO, inner[1].get());
  spawn.ordinary_signals();
  const auto pid = spawn.start("/bin/sh", {"sh", "-c", command});
  if (!pid) return within("--load", pid.error());
  Around around(*pid);
  for (std::size_t i = 0; i < outer.size(); ++i)
    around.streams_[i] = {std::move(outer[i]), pass_on ? (i == 0 ? STDOUT_FILENO : STDERR_FILENO) : -1};
  return around;
}

Around::~Around() {
  if (child_.pid <= 0 || status()) return;
  // What the shell started would outlive it.
  std::vector<int> all = process::descendants(child_.pid);
  all.push_back(child_.pid);
  for (const int pid : all) ::kill(pid, SIGTERM);
  for (int i = 0; i < 50 && !status(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

std::optional<int> Around::status() {
  int status = 0;
  if (!status_ && child_.pid > 0 && ::waitpid(child_.pid, &status, WNOHANG) == child_.pid)
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return status_;
}

void Around::read(const std::function<void(std::string_view bytes)>& take) {
  constexpr std::size_t kMostAtOnce =
      2 << 20;                    // a command that prints without end must not keep the recorder here
  std::array<char, 4096> buffer;  // as much as a pipe takes at once when it is ready
  for (Stream& stream : streams_) {
    for (std::size_t read = 0; stream.from && read < kMostAtOnce;) {
      pollfd ready{stream.to, POLLOUT, 0};
      if (stream.to >= 0 && ::poll(&ready, 1, 0) != 1) break;
      const ssize_t count = ::read(stream.from.get(), buffer.data(), buffer.size());
      if (count <= 0) break;
      read += static_cast<std::size_t>(count);
      take({buffer.data(), static_cast<std::size_t>(count)});
      if (stream.to >= 0) (void)!::write(stream.to, buffer.data(), static_cast<std::size_t>(count));
    }
  }
}

}  // namespace fathom::cli
