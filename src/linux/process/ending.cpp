#include "linux/process/ending.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"
#include "linux/process/fields.h"

namespace fathom::process {
namespace {

// struct pidfd_info, as headers before 6.13 lack it.
struct PidfdInfo {
  std::uint64_t mask, cgroup;
  std::uint32_t ids[11];
  std::int32_t exit_code;
};
static_assert(sizeof(PidfdInfo) == 64, "PIDFD_INFO_SIZE_VER0");
constexpr std::uint64_t kExitCode = 1 << 3;  // PIDFD_INFO_EXIT
constexpr unsigned long kGetInfo = _IOWR(0xFF, 11, PidfdInfo);

std::optional<int> status_from_pidfd(int pidfd) {
  PidfdInfo info{};
  info.mask = kExitCode;
  if (::ioctl(pidfd, kGetInfo, &info) != 0 || (info.mask & kExitCode) == 0) return std::nullopt;
  return info.exit_code;
}

// Until its parent has waited for it. Both files need the same right, and show 0 to readers without it.
std::optional<int> status_from_stat(std::int32_t pid) {
  const auto stat = read_file(fmt::format("/proc/{}/stat", pid), 4096);
  const auto code = stat ? parse_exit_code(*stat) : std::nullopt;
  if (!code || *code != 0) return code;
  return read_file(fmt::format("/proc/{}/personality", pid), 4096) ? code : std::nullopt;
}

}  // namespace

std::string ending_in_words(std::optional<int> status) {
  if (!status) return "ended";
  const int wait_status = *status;
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    const char* name = ::sigabbrev_np(signal);
    return fmt::format("killed by signal {}{}", signal, name == nullptr ? "" : fmt::format(" (SIG{})", name));
  }
  return fmt::format("exited with status {}", WEXITSTATUS(wait_status));
}

std::optional<int> parse_exit_code(std::string_view stat) {
  const std::size_t close = stat.rfind(')');
  if (close == std::string_view::npos) return std::nullopt;
  std::string_view rest = stat.substr(close + 1);
  rest = rest.substr(0, rest.find('\n'));
  const std::string_view state = next_field(rest);  // field 3
  if (state != "Z" && state != "X") return std::nullopt;
  std::string_view field;
  for (int number = 4; number <= 52; ++number) field = next_field(rest);
  return parse_number<int>(field);
}

Ending::Ending(std::int32_t pid) : pid_(pid), fd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}

bool Ending::has_ended() const {
  if (!fd_) return ::kill(pid_, 0) != 0 && errno == ESRCH;
  pollfd poll{fd_.get(), POLLIN, 0};
  return ::poll(&poll, 1, 0) == 1;
}

std::optional<int> wait_status(int pidfd, std::int32_t pid) {
  if (const auto status = status_from_pidfd(pidfd)) return status;
  const auto status = status_from_stat(pid);
  // What was read is of this process and of no later one with its number, as it is there afterwards.
  const bool still_there = ::syscall(SYS_pidfd_send_signal, pidfd, 0, nullptr, 0) == 0;
  return status && still_there ? status : status_from_pidfd(pidfd);
}

std::optional<int> Ending::status() const {
  return fd_ ? wait_status(fd_.get(), pid_) : status_from_stat(pid_);
}

std::string Ending::words() const {
  return ending_in_words(status());
}

}  // namespace fathom::process
