#include "record/session/launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/files.h"

namespace fathom::session {
namespace {

constexpr int kSignalBase = 128;

int shell_status(int status) {
  return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Result<std::string> find_command(const std::string& command) {
  const auto is_program = [](const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
  };
  const auto is_folder = [](const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  };
  if (command.find('/') != std::string::npos) {
    if (is_program(command)) return command;
    if (::access(command.c_str(), F_OK) != 0)
      return fail(ErrorKind::kNotFound, command + ": no such program");
    if (is_folder(command))
      return fail(ErrorKind::kPermission, command + ": this is a folder, no program",
                  "the path of a program in it");
    return fail(ErrorKind::kPermission, command + ": not an executable program",
                "chmod +x, or name another file");
  }
  const char* path = std::getenv("PATH");
  std::string folders = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  for (std::size_t start = 0; start <= folders.size();) {
    const auto colon = std::min(folders.find(':', start), folders.size());
    std::string candidate = folders.substr(start, colon - start);
    candidate += candidate.empty() ? command : "/" + command;
    if (is_program(candidate)) return candidate;
    start = colon + 1;
  }
  return fail(ErrorKind::kNotFound, command + ": no such program in PATH",
              "give its path, or -p PID for a running one");
}

Result<LaunchedProcess> LaunchedProcess::prepare(std::vector<std::string> command,
                                                 const std::function<void()>& in_child) {
  auto path = find_command(command.front());
  if (!path) return tl::unexpected<Error>(path.error());
  int go[2], failed[2];
  // Not a pipe: whether the child is still there is an answer of send(), and no signal.
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go) != 0) return system_error("socketpair", errno);
  Fd go_read(go[0]), go_write(go[1]);
  if (::pipe2(failed, O_CLOEXEC) != 0) return system_error("pipe", errno);
  Fd failed_read(failed[0]), failed_write(failed[1]);

  std::vector<char*> arguments;
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);

  const pid_t pid = ::fork();
  if (pid < 0) return system_error("fork", errno);
  if (pid == 0) {
    // Only async-signal-safe calls from here on.
    if (in_child) in_child();
    ::close(go[1]);
    char byte = 1;
    if (::send(go[0], &byte, 1, MSG_NOSIGNAL) != 1) ::_exit(127);
    if (::read(go[0], &byte, 1) != 1) ::_exit(127);  // the recorder is gone
    ::execv(path->c_str(), arguments.data());
    const int error_number = errno;
    [[maybe_unused]] const ssize_t written = ::write(failed[1], &error_number, sizeof(error_number));
    ::_exit(127);
  }
  LaunchedProcess process;
  process.pid_ = pid;
  process.path_ = *path;
  process.go_ = std::move(go_write);
  process.failed_ = std::move(failed_read);
  go_read = Fd();
  // What the caller does in the child is done: which control group it is in, for one, is asked next.
  char byte = 0;
  ssize_t got;
  while ((got = ::read(process.go_.get(), &byte, 1)) < 0 && errno == EINTR) {
  }
  if (got != 1)
    return fail(ErrorKind::kSystem,
                fmt::format("{}: it ended before it began, with {}", *path, process.wait_status()));
  return process;
}

LaunchedProcess::LaunchedProcess(LaunchedProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      path_(std::move(other.path_)),
      go_(std::move(other.go_)),
      failed_(std::move(other.failed_)),
      released_(other.released_),
      status_(other.status_),
      signal_(other.signal_) {}

LaunchedProcess::~LaunchedProcess() {
  if (pid_ < 0 || status_) return;
  if (released_) {
    (void)poll_status();  // if it has ended; else its new parent reaps it
    return;
  }
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

Result<> LaunchedProcess::release() {
  released_ = true;
  const char byte = 1;
  const bool there = ::send(go_.get(), &byte, 1, MSG_NOSIGNAL) == 1;
  go_ = Fd();
  if (!there)
    return fail(ErrorKind::kSystem, fmt::format("{}: it was ended by signal {} before it began", path_,
                                                wait_status() - kSignalBase));
  int error_number = 0;
  // End of file: exec closed the other end, the target runs.
  if (::read(failed_.get(), &error_number, sizeof(error_number)) == sizeof(error_number)) {
    wait_status();
    return system_error(path_, error_number);
  }
  return {};
}

void LaunchedProcess::take(int status) {
  status_ = shell_status(status);
  signal_ = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

std::optional<int> LaunchedProcess::poll_status() {
  int status = 0;
  if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_) take(status);
  return status_;
}

void LaunchedProcess::send(int signal) const {
  if (!status_) ::kill(pid_, signal);
}

int LaunchedProcess::wait_status() {
  int status = 0;
  while (!status_) {
    if (::waitpid(pid_, &status, 0) == pid_)
      take(status);
    else if (errno != EINTR)
      status_ = 127;
  }
  return *status_;
}

}  // namespace fathom::session
