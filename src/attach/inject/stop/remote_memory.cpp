#include "attach/inject/stop/remote_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/files.h"
#include "linux/process/threads.h"
#include "linux/process/tracing_rights.h"

namespace fathom::inject {
namespace {

constexpr std::uint64_t kWord = sizeof(long);

std::optional<long> peek(int tid, std::uint64_t address) {
  errno = 0;
  const long word = ::ptrace(PTRACE_PEEKDATA, tid, address, nullptr);
  return errno == 0 ? std::optional(word) : std::nullopt;
}

// A thread of the process that the calling thread has stopped: for any other, ptrace fails with ESRCH.
std::optional<int> stopped_thread(int pid, std::uint64_t address) {
  const auto tids = process::read_thread_ids(pid);
  if (!tids) return std::nullopt;
  for (const int tid : *tids)
    if (peek(tid, address & ~(kWord - 1)) || errno != ESRCH) return tid;
  return std::nullopt;
}

}  // namespace

Result<RemoteMemory> RemoteMemory::open(int pid) {
  const std::string path = fmt::format("/proc/{}/mem", pid);
  Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd) {
    Error error = system_error(path, errno).value();
    if (error.kind == ErrorKind::kPermission) error.remedy = process::remedy_for_tracing();
    return tl::unexpected<Error>(std::move(error));
  }
  return RemoteMemory(pid, std::move(fd));
}

std::size_t RemoteMemory::read_some(ProcessAddress address, std::span<std::byte> out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t n =
        ::pread(fd_.get(), out.data() + done, out.size() - done, static_cast<off_t>(address.value + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

Result<> RemoteMemory::read(ProcessAddress address, std::span<std::byte> out) const {
  errno = ESRCH;  // the meaning of an end of file here: the memory is gone
  if (read_some(address, out) == out.size()) return {};
  const int error_number = errno;
  return system_error(
      fmt::format("/proc/{}/mem: reading {} bytes at 0x{:x}", pid_, out.size(), address.value), error_number);
}

Result<> RemoteMemory::write(ProcessAddress address, std::span<const std::byte> bytes) const {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::pwrite(fd_.get(), bytes.data() + done, bytes.size() - done,
                               static_cast<off_t>(address.value + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EIO) {
      auto rest = write_by_ptrace({address.value + done}, bytes.subspan(done));
      if (rest) return rest;
      errno = EIO;
    }
    if (n <= 0) {
      const int error_number = n == 0 ? ESRCH : errno;
      return system_error(
          fmt::format("/proc/{}/mem: writing {} bytes at 0x{:x}", pid_, bytes.size(), address.value),
          error_number);
    }
    done += static_cast<std::size_t>(n);
  }
  return {};
}

Result<> RemoteMemory::write_by_ptrace(ProcessAddress address, std::span<const std::byte> bytes) const {
  const auto refuse = [](int error_number) { return system_error("ptrace", error_number); };
  const auto tid = stopped_thread(pid_, address.value);
  if (!tid) return refuse(ESRCH);
  for (std::size_t done = 0; done < bytes.size();) {
    const std::uint64_t at = address.value + done, start = at & ~(kWord - 1);
    const std::size_t size = std::min<std::size_t>(start + kWord - at, bytes.size() - done);
    const auto before = size == kWord ? std::optional(0L) : peek(*tid, start);
    if (!before) return refuse(errno);
    long word = *before;
    std::memcpy(reinterpret_cast<std::byte*>(&word) + (at - start), bytes.data() + done, size);
    if (::ptrace(PTRACE_POKEDATA, *tid, start, word) != 0) return refuse(errno);
    done += size;
  }
  return {};
}

bool kernel_forces_writes() {
  const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* page = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  const Fd fd(::open("/proc/self/mem", O_RDWR | O_CLOEXEC));
  const bool written =
      fd && ::pwrite(fd.get(), "", 1, static_cast<off_t>(reinterpret_cast<std::uintptr_t>(page))) == 1;
  ::munmap(page, size);
  return written;
}

}  // namespace fathom::inject
