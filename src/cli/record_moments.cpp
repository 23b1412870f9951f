#include "cli/record_moments.h"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "cli/notices.h"
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
Result<Around> Around::start(const std::string& command) {
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none, changed;
  ::sigemptyset(&none);
  ::sigemptyset(&changed);
  for (const int signal : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::sigaddset(&changed, signal);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &changed);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string words[] = {"sh", "-c", command};
  char* const arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, "/bin/sh", nullptr, &attributes, arguments, ::environ);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) return fail(ErrorKind::kSystem, fmt::format("--around: /bin/sh: {}", std::strerror(error)));
  return Around(pid);
}

Around::Around(Around&& other) noexcept : pid_(std::exchange(other.pid_, -1)), status_(other.status_) {}

Around::~Around() {
  if (pid_ <= 0 || status()) return;
  ::kill(pid_, SIGTERM);
  for (int i = 0; i < 50 && !status(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

std::optional<int> Around::status() {
  int status = 0;
  if (!status_ && pid_ > 0 && ::waitpid(pid_, &status, WNOHANG) == pid_)
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return status_;
}

}  // namespace fathom::cli
