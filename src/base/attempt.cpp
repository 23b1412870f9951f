#include "base/attempt.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/files.h"

namespace fathom {
namespace {

constexpr char kDone = 'd', kFailed = 'f';

// The answer on the pipe: kDone, or kFailed, the kind, the message, a zero byte, the remedy.
std::string encode(const Result<>& result) {
  if (result) return {kDone};
  const Error& error = result.error();
  return std::string{kFailed, static_cast<char>(error.kind)} + error.message + '\0' + error.remedy;
}

Result<> decode(const std::string& answer) {
  if (answer.size() == 1 && answer[0] == kDone) return {};
  const auto end = answer.find('\0', 2);
  if (answer.size() < 2 || answer[0] != kFailed || end == std::string::npos)
    return fail(ErrorKind::kSystem, "the process that tried it ended without an answer");
  return fail(static_cast<ErrorKind>(answer[1]), answer.substr(2, end - 2), answer.substr(end + 1));
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string read_all(int fd) {
  std::string text;
  char piece[512];
  for (ssize_t got; (got = ::read(fd, piece, sizeof(piece))) != 0;) {
    if (got > 0)
      text.append(piece, static_cast<std::size_t>(got));
    else if (errno != EINTR)
      break;
  }
  return text;
}

}  // namespace

Result<> attempt_in_child(const std::function<Result<>()>& attempt) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("pipe", errno);
  Fd ours(ends[0]), its(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return system_error("fork", errno);
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::signal(SIGPIPE, SIG_IGN);
    try {
      write_all(its.get(), encode(attempt()));
    } catch (const std::exception&) {
      // Out of memory: no answer is an answer.
    }
    ::_exit(0);
  }
  its = Fd();
  const std::string answer = read_all(ours.get());
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return decode(answer);
}

}  // namespace fathom
