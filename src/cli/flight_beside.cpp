#include "cli/flight_beside.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

namespace fathom::cli {
namespace {

Result<> outcome_of(int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return fail(ErrorKind::kSystem, "the flight recording ended with the error above",
              "fathom record --flight -p PID on its own");
}

}  // namespace

Result<FlightBeside> FlightBeside::start(const Target& target) {
  std::vector<std::string> words{"fathom", "record", "--flight", "--quiet"};
  if (target.heap) words.emplace_back("--heap");
  for (const std::string& word :
       {std::string("-p"), std::to_string(target.pid), std::string("-o"), target.file})
    words.push_back(word);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  // Closed by a successful exec; else the child writes into it why it could not.
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0)
    return fail(ErrorKind::kSystem, fmt::format("pipe: {}", std::strerror(errno)), "ulimit -n 1024");
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    sigset_t none;
    ::sigemptyset(&none);
    ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    // Out of the terminal's group: the watch takes Ctrl-C and ends the recording itself, once. Killed, it ends it, too.
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGINT);
    if (::getppid() != parent) ::_exit(1);
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
      ::dup2(null, STDIN_FILENO);
      ::dup2(null, STDOUT_FILENO);
    }
    ::execv("/proc/self/exe", arguments.data());
    const int error = errno;
    (void)!::write(pipe[1], &error, sizeof(error));
    ::_exit(1);
  }
  const int fork_error = errno;
  ::close(pipe[1]);
  int error = 0;
  const bool failed = child > 0 && ::read(pipe[0], &error, sizeof(error)) == sizeof(error);
  ::close(pipe[0]);
  if (child < 0 || failed) {
    if (child > 0) ::waitpid(child, nullptr, 0);
    return fail(
        ErrorKind::kSystem,
        fmt::format("the flight recording cannot be started: {}", std::strerror(failed ? error : fork_error)),
        "fathom record --flight -p PID in another terminal");
  }
  return FlightBeside(child, target.pid);
}

Result<> FlightBeside::finish() {
  const pid_t child = std::exchange(child_, -1);
  if (child <= 0) return {};
  // Of a process that is gone it ends by itself, once it knows how that died.
  constexpr int kPatienceMs = 10'000, kStepMs = 20;
  int status = 0;
  for (int waited = 0; ::kill(target_, 0) != 0 && errno == ESRCH && waited < kPatienceMs; waited += kStepMs) {
    if (::waitpid(child, &status, WNOHANG) == child) return outcome_of(status);
    std::this_thread::sleep_for(std::chrono::milliseconds(kStepMs));
  }
  ::kill(child, SIGINT);
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return outcome_of(status);
}

FlightBeside::~FlightBeside() {
  (void)finish();
}

}  // namespace fathom::cli
