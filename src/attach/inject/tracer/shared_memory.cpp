#include "attach/inject/tracer/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/fd.h"
#include "base/files.h"

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

namespace fathom::inject {
namespace {

constexpr int kSealExec = 0x0020;  // F_SEAL_EXEC, which a host may require on every memfd (vm.memfd_noexec)
constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// A file in a file system has a name or F_SEAL_SEAL, whatever the target did; only a memfd can be sealed.
bool is_new_memfd(int fd) {
  struct stat status {};
  struct statfs system {};
  const int seals = ::fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & ~kSealExec) == 0 && ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
         status.st_nlink == 0 && status.st_size == 0 && ::fstatfs(fd, &system) == 0 &&
         system.f_type == TMPFS_MAGIC;
}

// The descriptor that we have was opened by the target, which may keep it, and a lock would last as long. So it is opened again.
// Others may have locked it as well: a shared lock goes along with theirs.
Fd locked(const Fd& file) {
  Fd again(::open(fmt::format("/proc/self/fd/{}", file.get()).c_str(), O_RDONLY | O_CLOEXEC));
  if (again && ::flock(again.get(), LOCK_SH | LOCK_NB) == 0) return again;
  return Fd();
}

}  // namespace

Result<SharedMemory> map_shared(int pid, int fd, std::uint64_t bytes) {
  const std::string name = fmt::format("process {}: descriptor {}", pid, fd);
  // A copy of the descriptor, with the target's rights. Opening /proc/PID/fd/N instead would use ours: root
  // would open any file there for writing.
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process) return system_error(fmt::format("process {}: pidfd_open", pid), errno);
  const Fd file(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), fd, 0)));
  if (!file) return system_error(name + ": pidfd_getfd", errno);
  if (!is_new_memfd(file.get()))
    return fail(ErrorKind::kSystem, name + ": it is not the memory that was made there a moment ago",
                "try again; a program that changes other threads' descriptors cannot be traced");
  if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return system_error(name, errno);
  if (::fcntl(file.get(), F_ADD_SEALS, kSizeSeals) != 0) return system_error(name + ": F_ADD_SEALS", errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return system_error(name, errno);
  if (static_cast<std::uint64_t>(status.st_size) != bytes)
    return fail(ErrorKind::kSystem, name + ": another process changes its size", "try again");
  Fd held = locked(file);  // before it is in anybody's maps
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (address == MAP_FAILED) return system_error(name, errno);
  return SharedMemory{Mapping(address, bytes), std::move(held)};
}

}  // namespace fathom::inject
