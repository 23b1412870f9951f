#include "attach/inject/stop/launch.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <utility>

#include "attach/inject/stop/remote_memory.h"
#include "attach/inject/stop/target.h"
#include "base/arch/call_instructions.h"
#include "base/arch/user_registers.h"
#include "base/files.h"
#include "linux/process/status.h"

namespace fathom::inject {
namespace {

Result<ProcessAddress> entry_of(int pid) {
  const std::string path = fmt::format("/proc/{}/auxv", pid);
  const auto text = read_file(path);
  if (!text) return tl::unexpected<Error>(text.error());
  for (std::size_t at = 0; at + sizeof(Elf64_auxv_t) <= text->size(); at += sizeof(Elf64_auxv_t)) {
    Elf64_auxv_t entry;
    std::memcpy(&entry, text->data() + at, sizeof(entry));
    if (entry.a_type == AT_ENTRY) return ProcessAddress{entry.a_un.a_val};
  }
  return fail(ErrorKind::kMalformed, path + ": it does not say where the program starts");
}

// The program was just exec'ed while traced: the kernel then ignores set-uid bits, and the program would run
// with rights that it does not expect.
Result<> check_program(int pid) {
  struct stat status {};
  const std::string path = fmt::format("/proc/{}/exe", pid);
  if (::stat(path.c_str(), &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID)) != 0)
    return fail(ErrorKind::kUnsupported, "a set-uid or set-gid program cannot be traced from its start",
                "start it yourself, and attach with -p PID");
  return check_machine(pid);
}

// Waits for the next stop of the child, for as long as it takes to load a program.
Result<int> wait_for_stop(int pid) {
  int status = 0;
  pid_t got;
  while ((got = ::waitpid(pid, &status, __WALL)) < 0 && errno == EINTR) {
  }
  if (got < 0) return system_error(fmt::format("process {}", pid), errno);
  if (!WIFSTOPPED(status))
    return fail(ErrorKind::kNotFound, fmt::format("process {}: it ended before its first instruction", pid));
  return status;
}

// Continues until `event`; signals in between are delivered.
Result<int> run_until(int pid, int event, int signal) {
  long deliver = 0;
  for (;;) {
    if (::ptrace(PTRACE_CONT, pid, nullptr, deliver) != 0)
      return system_error(fmt::format("process {}: PTRACE_CONT", pid), errno);
    const auto status = wait_for_stop(pid);
    if (!status) return status;
    if (*status >> 16 == event && (signal == 0 || WSTOPSIG(*status) == signal)) return status;
    deliver = *status >> 16 == 0 ? WSTOPSIG(*status) : 0;
  }
}

Result<ProcessAddress> run_to_entry(int pid) {
  const auto entry = entry_of(pid);
  if (!entry) return entry;
  const auto memory = RemoteMemory::open(pid);
  if (!memory) return tl::unexpected<Error>(memory.error());
  const auto first = memory->get<std::array<std::byte, arch::kBreakpoint.size()>>(*entry);
  if (!first) return tl::unexpected<Error>(first.error());
  if (auto done = memory->put(*entry, arch::kBreakpoint); !done) return tl::unexpected<Error>(done.error());
  if (auto status = run_until(pid, 0, SIGTRAP); !status) return tl::unexpected<Error>(status.error());
  if (auto done = memory->put(*entry, *first); !done) return tl::unexpected<Error>(done.error());
  arch::UserRegisters registers{};
  if (!arch::get_registers(pid, registers))
    return system_error(fmt::format("process {}: its registers", pid), errno);
  if (arch::pc(registers) != entry->value + arch::kStopsBehindBreakpoint)
    return fail(ErrorKind::kSystem,
                fmt::format("process {}: it stopped at 0x{:x}, not at its entry", pid, arch::pc(registers)));
  arch::set_pc(registers, entry->value);
  if (!arch::set_registers(pid, registers))
    return system_error(fmt::format("process {}: its registers", pid), errno);
  return entry;
}

// The signal has been sent; the process takes it on its way out of exec.
Result<> wait_for_group_stop(int pid) {
  for (int round = 0; round < 5000; ++round) {
    const auto stat = process::read_stat(pid);
    if (!stat) return tl::unexpected<Error>(stat.error());
    if (stat->state == 'T') return {};
    if (stat->state == 'Z' || stat->state == 'X') break;
    ::usleep(200);
  }
  return fail(ErrorKind::kSystem, fmt::format("process {}: it did not stop when it executed a program", pid));
}

}  // namespace

Launched::Launched(Launched&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), guardian_(std::move(other.guardian_)), entry_(other.entry_) {}

Launched::~Launched() {
  (void)go();
}

Result<> Launched::go() {
  const int pid = std::exchange(pid_, -1);
  if (pid < 0) return {};
  const int failed = ::kill(pid, SIGCONT), error = errno;
  guardian_.dismiss();
  if (failed != 0) return system_error(fmt::format("process {}: SIGCONT", pid), error);
  return {};
}

Result<Launched> launch_to_entry(int pid, const std::function<Result<>()>& start) {
  auto guardian = Guardian::of(pid);
  if (!guardian) return tl::unexpected<Error>(guardian.error());
  auto entry = in_tracing_thread([&]() -> Result<ProcessAddress> {
    // If the profiler is killed before the program has run, the program ends too: there may be a breakpoint
    // at its entry.
    if (::ptrace(PTRACE_SEIZE, pid, nullptr, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) != 0)
      return system_error("ptrace", errno);
    // Returns when the child has become the program, or failed to.
    if (auto started = start(); !started) return tl::unexpected<Error>(started.error());
    auto status = wait_for_stop(pid);
    while (status && *status >> 16 != PTRACE_EVENT_EXEC) {
      const long signal = *status >> 16 == 0 ? WSTOPSIG(*status) : 0;
      if (::ptrace(PTRACE_CONT, pid, nullptr, signal) != 0) return system_error("ptrace", errno);
      status = wait_for_stop(pid);
    }
    if (!status) return tl::unexpected<Error>(status.error());
    auto checked = check_program(pid);
    auto reached =
        checked ? run_to_entry(pid) : Result<ProcessAddress>(tl::unexpected<Error>(checked.error()));
    if (!reached) {
      ::kill(pid, SIGKILL);
      return reached;
    }
    // From now on it is stopped as if by SIGSTOP: other processes may trace it, and it stays stopped until it
    // gets SIGCONT.
    if (::ptrace(PTRACE_DETACH, pid, nullptr, SIGSTOP) != 0) return system_error("PTRACE_DETACH", errno);
    return reached;
  });
  if (!entry) return tl::unexpected<Error>(entry.error());
  return Launched(pid, *entry, std::move(*guardian));
}

Result<Launched> hold_at_entry(int pid) {
  auto guardian = Guardian::of(pid);
  if (!guardian) return tl::unexpected<Error>(guardian.error());
  auto entry = in_tracing_thread([&]() -> Result<ProcessAddress> {
    if (auto stopped = wait_for_group_stop(pid); !stopped) return tl::unexpected<Error>(stopped.error());
    if (::ptrace(PTRACE_SEIZE, pid, nullptr, PTRACE_O_EXITKILL) != 0) return system_error("ptrace", errno);
    const auto led = [&]() -> Result<ProcessAddress> {
      if (auto status = wait_for_stop(pid); !status) return tl::unexpected<Error>(status.error());
      if (auto checked = check_machine(pid); !checked) return tl::unexpected<Error>(checked.error());
      ::kill(pid, SIGCONT);  // ends the group stop; ptrace holds it now
      return run_to_entry(pid);
    };
    auto reached = led();
    const long signal = reached ? SIGSTOP : 0;
    if (::ptrace(PTRACE_DETACH, pid, nullptr, signal) != 0 && reached)
      return system_error("PTRACE_DETACH", errno);
    return reached;
  });
  if (!entry) {
    ::kill(pid, SIGCONT);
    return tl::unexpected<Error>(entry.error());
  }
  return Launched(pid, *entry, std::move(*guardian));
}

}  // namespace fathom::inject
