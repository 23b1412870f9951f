#include "linux/metrics/helper_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/fd.h"
#include "base/files.h"
#include "base/spawn.h"
#include "linux/metrics/http_exchange.h"

namespace fathom::metrics {
namespace {

constexpr std::size_t kMostHelperWords = 4096;

// A file in memory, read from its beginning. Contents may be secret, so they go through no file system.
Result<Fd> memory_file(std::string_view content) {
  Fd fd(::memfd_create("fathom-helper", MFD_CLOEXEC));
  if (!fd) return system_error("memfd_create", errno);
  while (!content.empty()) {
    const ssize_t written = ::write(fd.get(), content.data(), content.size());
    if (written < 0 && errno != EINTR) return system_error("memfd", errno);
    if (written > 0) content.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::lseek(fd.get(), 0, SEEK_SET) != 0) return system_error("memfd", errno);
  return fd;
}

// Above the descriptors that the child gets, so that one dup2 does not overwrite the source of the next.
Fd above_standard(Fd fd) {
  if (fd.get() > STDERR_FILENO + 1) return fd;
  return Fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 2));
}

std::string last_words(int fd) {
  std::array<char, kMostHelperWords> buffer;
  const off_t size = ::lseek(fd, 0, SEEK_END);
  const off_t from = size > static_cast<off_t>(buffer.size()) ? size - static_cast<off_t>(buffer.size()) : 0;
  const ssize_t got = ::pread(fd, buffer.data(), buffer.size(), from);
  std::string text(buffer.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (char& each : text)
    if ((static_cast<unsigned char>(each) < ' ' && each != '\n') || each == '\x7f') each = '?';
  return text;
}

int wait_for_end(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<HelperEnd> run_helper(const HelperProgram& program, std::uint64_t deadline_ns, int stop,
                             const std::function<bool(std::string_view)>& take) {
  std::array<Fd, 3> files;
  const std::array<std::string_view, 3> contents{program.input, "", program.file};
  for (std::size_t i = 0; i < files.size(); ++i) {
    auto file = memory_file(contents[i]);
    if (!file) return tl::unexpected<Error>(file.error());
    files[i] = above_standard(std::move(*file));
  }
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("pipe", errno);
  const Fd output = above_standard(Fd(ends[0]));
  Fd child_output = above_standard(Fd(ends[1]));
  Spawn spawn;
  spawn.descriptor(STDIN_FILENO, files[0].get());
  spawn.descriptor(STDOUT_FILENO, child_output.get());
  spawn.descriptor(STDERR_FILENO, files[1].get());
  spawn.descriptor(STDERR_FILENO + 1, files[2].get());
  spawn.close_from(STDERR_FILENO + 2);
  spawn.ordinary_signals();
  spawn.own_session();
  const auto pid = spawn.start(program.arguments.front(), program.arguments);
  child_output = Fd();
  if (!pid) return tl::unexpected<Error>(pid.error());
  std::array<char, 64 << 10> buffer;
  std::string why;
  for (bool more = true; more;) {
    why = wait_for_events(output.get(), POLLIN, deadline_ns, stop);
    if (!why.empty()) break;
    const ssize_t got = ::read(output.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    more = got > 0 && take({buffer.data(), static_cast<std::size_t>(got)});
    // It ends at once when it has closed its output; one that goes on has more output than the limit.
    if (got > 0 && !more) (void)::kill(*pid, SIGKILL);
  }
  if (!why.empty()) (void)::kill(*pid, SIGKILL);
  HelperEnd end{wait_for_end(*pid), last_words(files[1].get())};
  if (!why.empty()) return fail(ErrorKind::kSystem, why);
  return end;
}

}  // namespace fathom::metrics
