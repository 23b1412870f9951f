#include "process/ending.h"

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
#include "process/fields.h"

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

}  // namespace

std::string ending_in_words(int wait_status) {
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

std::optional<int> Ending::wait_status() const {
  PidfdInfo info{};
  info.mask = kExitCode;
  if (fd_ && ::ioctl(fd_.get(), kGetInfo, &info) == 0 && (info.mask & kExitCode) != 0) return info.exit_code;
  const auto stat = read_file(fmt::format("/proc/{}/stat", pid_), 4096);
  const auto code = stat ? parse_exit_code(*stat) : std::nullopt;
  return code && *code != 0 ? code : std::nullopt;  // 0 is also what is told to those who may not know
}

std::string Ending::words() const {
  const auto status = wait_status();
  return status ? ending_in_words(*status) : "ended";
}

}  // namespace fathom::process
