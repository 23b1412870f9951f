#include "linux/process/blocked_thread.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "base/arch/loaded_call.h"
#include "base/files.h"
#include "base/parse.h"
#include "linux/process/fields.h"

namespace fathom::sources {
namespace {

std::optional<std::uint64_t> parse_hexadecimal(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  return parse_number(text.substr(2), 16);
}

// What is there from `address` on, at most `most_bytes`; nothing if the process is gone.
std::vector<std::byte> copy_memory(int pid, std::uint64_t address, std::size_t most_bytes) {
  std::vector<std::byte> bytes(most_bytes);
  iovec local{bytes.data(), bytes.size()};
  iovec remote{reinterpret_cast<void*>(address), bytes.size()};
  // Ends short at the first page that is not there.
  const ssize_t copied = ::process_vm_readv(pid, &local, 1, &remote, 1, 0);
  bytes.resize(copied < 0 ? 0 : static_cast<std::size_t>(copied));
  return bytes;
}

// The program's code names the call, unless it makes it through syscall(2).
std::int32_t interrupted_call(int pid, int tid, std::uint64_t instruction_pointer) {
  const auto code = copy_memory(pid, instruction_pointer - arch::kCodeOfCall, arch::kCodeOfCall);
  if (const auto number = arch::loaded_call(code)) return *number;
  const auto function = read_file(fmt::format("/proc/{}/task/{}/wchan", pid, tid));
  return function ? continued_call(*function) : SYS_restart_syscall;
}

}  // namespace

std::int32_t continued_call(std::string_view function) {
  // Only these calls go on by restart_syscall. The kernel has a second name for most of them, of which the arguments are the same.
  if (function.find("sleep") != function.npos) return SYS_clock_nanosleep;
  if (function.find("futex") != function.npos) return SYS_futex;
  if (function.find("poll") != function.npos) return SYS_ppoll;
  return SYS_restart_syscall;
}

Result<std::optional<BlockedThread>> parse_blocked_thread(std::string_view text) {
  std::string_view line;
  process::next_line(text, line);
  const std::string_view first = process::next_field(line);
  if (first == "running") return std::optional<BlockedThread>();
  BlockedThread thread;
  const auto number = parse_number<std::int32_t>(first);
  if (!number) return fail(ErrorKind::kMalformed, "does not begin with the number of a system call");
  thread.system_call = *number;
  if (thread.system_call >= 0) {
    for (std::uint64_t& argument : thread.arguments) {
      const auto value = parse_hexadecimal(process::next_field(line));
      if (!value) return fail(ErrorKind::kMalformed, "does not hold six arguments");
      argument = *value;
    }
  } else {
    thread.system_call = -1;
  }
  const auto sp = parse_hexadecimal(process::next_field(line));
  const auto pc = parse_hexadecimal(process::next_field(line));
  if (!sp || !pc) return fail(ErrorKind::kMalformed, "does not end with two registers");
  thread.stack_pointer = *sp;
  thread.instruction_pointer = *pc;
  return std::optional(std::move(thread));
}

Result<BlockedThreadFile> BlockedThreadFile::open(int pid, int tid) {
  const std::string path = fmt::format("/proc/{}/task/{}/syscall", pid, tid);
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return system_error(path, errno);
  return BlockedThreadFile(pid, tid, std::move(fd));
}

Result<std::optional<BlockedThread>> BlockedThreadFile::read_registers() const {
  char text[256];
  const ssize_t size = ::pread(fd_.get(), text, sizeof(text), 0);
  const auto path = [this] { return fmt::format("/proc/{}/task/{}/syscall", pid_, tid_); };
  if (size < 0) return system_error(path(), errno);
  if (size == 0) return std::optional<BlockedThread>();
  auto parsed = parse_blocked_thread({text, static_cast<std::size_t>(size)});
  if (!parsed) return within(path(), parsed.error());
  if (*parsed && (*parsed)->system_call == SYS_restart_syscall)
    (*parsed)->system_call = interrupted_call(pid_, tid_, (*parsed)->instruction_pointer);
  return parsed;
}

Result<std::optional<BlockedThread>> BlockedThreadFile::read(std::size_t stack_bytes) const {
  auto thread = read_registers();
  if (!thread || !*thread || stack_bytes == 0) return thread;
  // A kernel thread, and one that is on its way out, have no stack in user space.
  if ((*thread)->stack_pointer == 0) return thread;
  std::vector<std::byte> stack = copy_memory(pid_, (*thread)->stack_pointer, stack_bytes);
  // The thread may have run meanwhile, and the copy be of another moment: it is only believed when the
  // registers frame it.
  const auto after = read_registers();
  if (!after) return after;
  if (*after != *thread) return std::optional<BlockedThread>();
  (*thread)->stack_ends = stack.size() < stack_bytes;
  (*thread)->stack = std::move(stack);
  return thread;
}

Result<std::optional<BlockedThread>> read_blocked_thread(int pid, int tid, std::size_t stack_bytes) {
  auto file = BlockedThreadFile::open(pid, tid);
  if (!file) return tl::unexpected(file.error());
  return file->read(stack_bytes);
}

}  // namespace fathom::sources
