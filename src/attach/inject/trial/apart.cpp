#include "attach/inject/trial/apart.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

#include "attach/inject/trial/trial_filter.h"
#include "base/fd.h"
#include "base/files.h"

namespace fathom::inject {
namespace {

constexpr rlim_t kMostCpuSeconds = 8, kMostMemory = rlim_t{4} << 30;

struct User {
  uid_t user = 0;
  gid_t group = 0;
};

struct Start {
  int fd = -1, mounts = -1;
  bool is_root = false;
  User user;                   // whose rights it gets if this process is root
  std::array<int, 2> alive{};  // a pipe whose other end only this process holds
};

// Only system calls from now on: the parent may have had other threads at the fork.
[[noreturn]] void become(const Start& start) {
  if (start.mounts >= 0 && ::setns(start.mounts, CLONE_NEWNS) != 0) ::_exit(121);
  if (start.is_root) {
    // Direct system call: the C library would wait for threads that do not exist here.
    if (::syscall(SYS_setgroups, 0, nullptr) != 0 ||
        ::syscall(SYS_setresgid, start.user.group, start.user.group, start.user.group) != 0 ||
        ::syscall(SYS_setresuid, start.user.user, start.user.user, start.user.user) != 0)
      ::_exit(120);
    (void)::unshare(CLONE_NEWUSER);  // no rights over anything else
  }
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0) ::_exit(122);
  for (int each = 0; each < 3; ++each)
    if (::dup2(nothing, each) != each) ::_exit(122);
  const auto limit = [](__rlimit_resource resource, rlim_t most) {
    const rlimit both{most, most};
    (void)::setrlimit(resource, &both);
  };
  limit(RLIMIT_CPU, kMostCpuSeconds);
  limit(RLIMIT_AS, kMostMemory);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  // The same addresses each time: an allocator then behaves the same even where it depends on addresses.
  (void)::personality(ADDR_NO_RANDOMIZE);
  (void)::syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) ::_exit(120);
  // A parent that died before that sent no signal.
  ::close(start.alive[1]);
  pollfd end{start.alive[0], POLLIN, 0};
  if (::poll(&end, 1, 0) != 0) ::_exit(120);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) ::_exit(123);
  if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(124);
  if (!filter_private_copy()) ::_exit(125);
  char name[] = "program";
  char* arguments[] = {name, nullptr};
  char* environment[] = {nullptr};
  (void)::syscall(SYS_execveat, start.fd, "", arguments, environment, AT_EMPTY_PATH);
  ::_exit(126);
}

// The user whose rights apply to a process's calls.
std::optional<User> user_of(int pid) {
  const auto text = read_file(fmt::format("/proc/{}/status", pid));
  if (!text) return std::nullopt;
  const auto effective = [&](std::string_view line) -> std::optional<unsigned> {
    const auto at = text->find(line);
    unsigned real = 0, set = 0;
    if (at == std::string::npos || std::sscanf(text->c_str() + at + line.size(), "%u %u", &real, &set) != 2)
      return std::nullopt;
    return set;
  };
  const auto user = effective("\nUid:"), group = effective("\nGid:");
  if (!user || !group) return std::nullopt;
  return User{*user, *group};
}

bool same_mounts(int like) {
  struct stat ours {
  }, theirs{};
  return ::stat("/proc/self/ns/mnt", &ours) == 0 &&
         ::stat(fmt::format("/proc/{}/ns/mnt", like).c_str(), &theirs) == 0 && ours.st_ino == theirs.st_ino &&
         ours.st_dev == theirs.st_dev;
}

}  // namespace

Result<Apart> start_apart(int fd, int like) {
  Fd mounts;
  if (like != 0 && !same_mounts(like)) {
    mounts = Fd(::open(fmt::format("/proc/{}/ns/mnt", like).c_str(), O_RDONLY | O_CLOEXEC));
    if (mounts.get() < 0) return system_error(fmt::format("/proc/{}/ns/mnt", like), errno);
  }
  Start start;
  start.fd = fd, start.mounts = mounts.get(), start.is_root = ::geteuid() == 0;
  if (start.is_root && like != 0) {
    const auto user = user_of(like);
    if (!user) return fail(ErrorKind::kUnsupported, "the owner of the process cannot be read");
    start.user = *user;
  }
  if (::pipe2(start.alive.data(), O_CLOEXEC) != 0) return system_error("private copy", errno);
  const Fd theirs(start.alive[0]);
  Fd ours(start.alive[1]);
  // A user other than root creates the other namespaces through a user namespace; root enters the target's
  // mounts first.
  constexpr int kApart = CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
  const long pid = ::syscall(SYS_clone, (start.is_root ? kApart : kApart | CLONE_NEWUSER) | SIGCHLD, nullptr,
                             nullptr, nullptr, nullptr);
  if (pid == 0) become(start);
  if (pid < 0) return system_error("namespaces for a private copy", errno);
  return Apart{static_cast<int>(pid), std::move(ours)};
}

std::string why_apart_ended(int status) {
  if (WIFEXITED(status)) switch (WEXITSTATUS(status)) {
      case 120:
        return "it cannot get the rights of the process";
      case 121:
        return "the namespace of the process cannot be entered";
      case 123:
      case 125:
        return "this kernel has no seccomp filters";
      case 124:
        return "it cannot be traced";
      case 126:
        return "the file cannot be executed";
      default:
        return "it ended on its own";
    }
  return "it was killed";
}

}  // namespace fathom::inject
