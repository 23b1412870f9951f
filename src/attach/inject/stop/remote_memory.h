// The memory of another process, through /proc/PID/mem: works regardless of a mapping's permissions, so text
// and relocated read-only data can be written without ever being writable in the target. The descriptor
// belongs to the memory, not to the pid: after an exec in the target it no longer reaches anything.
//
// Since Linux 6.12 a kernel may refuse such writes where the mapping forbids them: to every process except
// the tracer (proc_mem.force_override=ptrace, Debian's setting), or to every process (never). ptrace can
// still write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/address.h"
#include "base/fd.h"
#include "base/result.h"

namespace fathom::inject {

class RemoteMemory {
 public:
  static Result<RemoteMemory> open(int pid);

  // Number of bytes that could be read from the start.
  std::size_t read_some(ProcessAddress address, std::span<std::byte> out) const;
  Result<> read(ProcessAddress address, std::span<std::byte> out) const;
  // Eight aligned bytes arrive as one store: the kernel copies them with one instruction. If the kernel
  // refuses a write, ptrace does it, provided that the calling thread has stopped a thread of the process
  // (Target::while_writable).
  Result<> write(ProcessAddress address, std::span<const std::byte> bytes) const;

  template <class T>
  Result<T> get(ProcessAddress address) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (auto done = read(address, std::as_writable_bytes(std::span(&value, 1))); !done)
      return tl::unexpected<Error>(done.error());
    return value;
  }
  template <class T>
  Result<> put(ProcessAddress address, const T& value) const {
    static_assert(std::is_trivially_copyable_v<T>);
    return write(address, std::as_bytes(std::span(&value, 1)));
  }

 private:
  Result<> write_by_ptrace(ProcessAddress address, std::span<const std::byte> bytes) const;
  RemoteMemory(int pid, Fd fd) : pid_(pid), fd_(std::move(fd)) {}
  int pid_;
  Fd fd_;
};

// The kernel lets any process write through /proc/PID/mem against the mapping's permissions. Tested on this
// process's own memory.
bool kernel_forces_writes();

}  // namespace fathom::inject
