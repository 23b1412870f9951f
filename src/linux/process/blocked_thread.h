// Where a thread is blocked, without stopping it: its system call, stack pointer and instruction pointer, and
// a copy of its stack. Source: proc(5), /proc/PID/task/TID/syscall, and process_vm_readv(2). Both need ptrace
// access to the process. Other registers are not to be had this way: the frame pointer is unknown.
//
// Measured: 4 us for each thread when warm, 16 us on a full machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::sources {

struct BlockedThread {
  std::int32_t system_call = -1;  // -1: blocked outside of one, as in a page fault
  std::array<std::uint64_t, 6> arguments{};
  std::uint64_t stack_pointer = 0, instruction_pointer = 0;
  std::vector<std::byte> stack;  // stack[0] lies at stack_pointer
  bool stack_ends = false;       // the copy ends where the memory does: there is no more of it
  bool operator==(const BlockedThread&) const = default;
};

// SIGSTOP and a tracer interrupt a call that waits for a time, and the thread goes on with restart_syscall. `function`: where in the
// kernel it waits (proc(5), /proc/PID/task/TID/wchan). Returns the number of the call that goes on; that of restart_syscall if the
// function does not name it. BlockedThread has that number, too; it asks the program's code first.
std::int32_t continued_call(std::string_view function);

// The text of the file, without a stack. nullopt: the thread runs, or could run.
Result<std::optional<BlockedThread>> parse_blocked_thread(std::string_view text);

// The file of one thread, kept open: a later thread with the same number is never taken for this one.
class BlockedThreadFile {
 public:
  static Result<BlockedThreadFile> open(int pid, int tid);

  // nullopt: the thread runs, could run, or moved on while we copied. kNotFound: it has ended. At most
  // `stack_bytes` are copied, fewer where the memory ends; 0 for none.
  Result<std::optional<BlockedThread>> read(std::size_t stack_bytes) const;

 private:
  BlockedThreadFile(int pid, int tid, Fd fd) : pid_(pid), tid_(tid), fd_(std::move(fd)) {}
  Result<std::optional<BlockedThread>> read_registers() const;
  int pid_, tid_;
  Fd fd_;
};

Result<std::optional<BlockedThread>> read_blocked_thread(int pid, int tid, std::size_t stack_bytes);

}  // namespace fathom::sources
