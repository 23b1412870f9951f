#include "attach/inject/stop/remote_call.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/arch/call_instructions.h"
#include "base/arch/restart.h"
#include "base/arch/signal_frame.h"
#include "base/files.h"
#include "linux/process/threads.h"

namespace fathom::inject {
namespace {

constexpr std::uint64_t kScratch = 64;
using arch::kSigsetBytes;
constexpr std::uint64_t kAllBlocked = ~std::uint64_t{0};
constexpr unsigned kLoweredPolicy = SCHED_OTHER | SCHED_RESET_ON_FORK;
constexpr std::size_t kEnoughIdle = 256;  // waiting threads to choose from
constexpr int kParent = 4;                // rank of a thread with children: after all others

// `address` is writable by the target and lies in the same mapping as its stack pointer. The first thread's
// stack grows when it is written to, also from another process.
bool on_stack(std::span<const process::MapEntry> maps, std::uint64_t address, std::uint64_t stack_pointer) {
  constexpr std::uint64_t kGrowth = 64 * 1024;
  return std::any_of(maps.begin(), maps.end(), [&](const process::MapEntry& entry) {
    const auto room = entry.path == "[stack]" ? kGrowth : 0;
    return entry.writable && entry.start.value - room <= address && entry.start.value <= stack_pointer &&
           stack_pointer < entry.end.value;
  });
}

int idleness(const std::string& call) {
  static constexpr long kWaits[] = {SYS_futex,  SYS_poll,     SYS_ppoll,   SYS_nanosleep, SYS_clock_nanosleep,
                                    SYS_read,   SYS_accept,   SYS_accept4, SYS_recvfrom,  SYS_recvmsg,
                                    SYS_select, SYS_pselect6, SYS_pause};
  if (call.empty() || call[0] < '0' || call[0] > '9') return 2;  // running, or not in a system call
  const long number = std::strtol(call.c_str(), nullptr, 10);
  if (number == SYS_wait4 || number == SYS_waitid) return kParent;
  return std::find(std::begin(kWaits), std::end(kWaits), number) != std::end(kWaits) ? 0 : 1;
}

}  // namespace

Result<RemoteCaller> RemoteCaller::borrow(StoppedThread& thread, const RemoteMemory& memory,
                                          const Gadgets& gadgets, std::span<const process::MapEntry> maps) {
  RemoteCaller caller(thread, memory, gadgets);
  caller.own_ = thread.registers;
  caller.gone_ = true;  // nothing to restore yet
  const auto refuse = [&](std::string_view what) {
    return fail(ErrorKind::kUnsupported, fmt::format("thread {}: {}", thread.tid, what));
  };
  if (::ptrace(PTRACE_GETSIGMASK, thread.tid, kSigsetBytes, &caller.mask_) != 0)
    return system_error(fmt::format("thread {}: PTRACE_GETSIGMASK", thread.tid), errno);
  if (!arch::runs_64_bit_code(thread.registers)) return refuse("it runs 32-bit code");

  // From the top: red zone, vector registers, a zero for sched_setscheduler, scratch, context, and the return
  // address. Below it the same for a raised thread: its way back leads through the call that makes it an
  // ordinary one again. A thread may lower its own priority but not clear the flag, which has no meaning
  // then.
  const auto vectors = arch::vector_registers(thread.tid);
  const std::uint64_t stack_pointer = arch::sp(thread.registers);
  const std::uint64_t top = stack_pointer - arch::kRedZone;
  const auto vectors_at = (top - vectors.size()) & ~std::uint64_t{63};
  const auto zero_at = vectors_at - 16;
  caller.scratch_ = zero_at - kScratch;
  const auto own_frame = (caller.scratch_ - arch::kSignalFrameBytes) & ~std::uint64_t{15};
  const auto lowering_frame = (own_frame - arch::kSignalFrameBytes) & ~std::uint64_t{15};
  caller.frame_ = thread.ordinary ? lowering_frame : own_frame;
  if (!on_stack(maps, caller.frame_, stack_pointer)) return refuse("its stack has no room");
  std::vector<std::byte> frame(vectors_at + vectors.size() - caller.frame_);
  const auto put_frame = [&](std::uint64_t at, const arch::UserRegisters& registers, std::uint64_t mask) {
    const std::uint64_t back = gadgets.way_back.value_or(ProcessAddress{}).value;
    arch::put_signal_frame(std::span(frame).subspan(at - caller.frame_), back, registers, mask,
                           vectors.empty() ? 0 : vectors_at);
  };
  const arch::UserRegisters own = arch::as_in_user_mode(thread.registers);
  put_frame(own_frame, own, caller.mask_);
  if (thread.ordinary) {
    arch::UserRegisters lowering = own;
    arch::prepare_call(lowering, gadgets.call.value, own_frame, SYS_sched_setscheduler,
                       {0, kLoweredPolicy, zero_at});
    put_frame(lowering_frame, lowering, kAllBlocked);
  }
  std::copy(vectors.begin(), vectors.end(),
            frame.begin() + static_cast<std::ptrdiff_t>(vectors_at - caller.frame_));
  if (auto done = memory.write({caller.frame_}, frame); !done) return tl::unexpected<Error>(done.error());

  // The registers first: once they are set, the way back also restores the mask. getpid is harmless if the
  // thread continues now.
  arch::UserRegisters borrowed = caller.own_;
  arch::prepare_call(borrowed, gadgets.call.value, caller.frame_, SYS_getpid);
  if (!arch::set_registers(thread.tid, borrowed))
    return system_error(fmt::format("thread {}: its registers", thread.tid), errno);
  caller.gone_ = false;
  caller.raised_ = thread.ordinary && raise_priority(thread.tid);
  if (::ptrace(PTRACE_SETSIGMASK, thread.tid, kSigsetBytes, &kAllBlocked) != 0)
    return system_error(fmt::format("thread {}: PTRACE_SETSIGMASK", thread.tid), errno);
  return caller;
}

RemoteCaller::RemoteCaller(RemoteCaller&& other) noexcept
    : thread_(other.thread_),
      memory_(other.memory_),
      gadgets_(other.gadgets_),
      own_(other.own_),
      mask_(other.mask_),
      frame_(other.frame_),
      scratch_(other.scratch_),
      raised_(std::exchange(other.raised_, false)),
      gone_(std::exchange(other.gone_, true)) {}

// Lets the thread run until the requested stop; ignores job-control stops in between, which take effect again
// when fathom detaches.
Result<> RemoteCaller::run_to_stop(int request, int wanted_signal, int wanted_event) {
  long signal = 0;
  for (;;) {
    if (::ptrace(static_cast<__ptrace_request>(request), thread_->tid, nullptr, signal) != 0)
      return system_error(fmt::format("thread {}: ptrace", thread_->tid), errno);
    signal = 0;
    int status = 0;
    pid_t tid;
    while ((tid = ::waitpid(thread_->tid, &status, __WALL)) < 0 && errno == EINTR) {
    }
    if (tid < 0 || !WIFSTOPPED(status)) {
      gone_ = true;
      return fail(ErrorKind::kNotFound, fmt::format("thread {}: it has ended", thread_->tid));
    }
    const int event = status >> 16;
    if (event == wanted_event && (wanted_signal == 0 || WSTOPSIG(status) == wanted_signal)) return {};
    if (event != 0) continue;
    // Only unblockable signals arrive; one that the thread caused itself means that the borrowed code is not
    // what it seemed.
    signal = WSTOPSIG(status);
    if (signal == SIGSEGV || signal == SIGILL || signal == SIGBUS || signal == SIGTRAP || signal == SIGSYS) {
      siginfo_t info{};
      ::ptrace(PTRACE_GETSIGINFO, thread_->tid, nullptr, &info);
      if (info.si_code > 0)
        return fail(
            ErrorKind::kUnsupported,
            fmt::format("thread {}: a borrowed system call ended in signal {}", thread_->tid, signal));
    }
  }
}

Result<std::uint64_t> RemoteCaller::call(std::string_view what, long number,
                                         std::initializer_list<std::uint64_t> arguments) {
  std::array<std::uint64_t, 6> values{};
  std::copy(arguments.begin(), arguments.end(), values.begin());
  arch::UserRegisters registers = own_;
  arch::prepare_call(registers, gadgets_->call.value, frame_, number, values);
  if (!arch::set_registers(thread_->tid, registers))
    return system_error(fmt::format("thread {}: its registers", thread_->tid), errno);
  for (int entry_and_exit = 0; entry_and_exit < 2; ++entry_and_exit)
    if (auto done = run_to_stop(PTRACE_SYSCALL, SIGTRAP | 0x80, 0); !done)
      return tl::unexpected<Error>(done.error());
  if (!arch::get_registers(thread_->tid, registers))
    return system_error(fmt::format("thread {}: its registers", thread_->tid), errno);
  const auto result = static_cast<std::int64_t>(arch::call_result(registers));
  if (result < 0 && result >= -4095)
    return system_error(fmt::format("{} in the process", what), static_cast<int>(-result));
  return arch::call_result(registers);
}

Result<std::uint64_t> RemoteCaller::text(std::string_view value) {
  std::array<std::byte, kScratch> buffer{};
  std::memcpy(buffer.data(), value.data(), std::min(value.size(), buffer.size() - 1));
  if (auto done = memory_->write({scratch_}, buffer); !done) return tl::unexpected<Error>(done.error());
  return scratch_;
}

void RemoteCaller::give_back() {
  if (std::exchange(gone_, true)) return;
  gone_ = false;
  // The kernel only restarts an interrupted system call when the thread leaves a signal stop: so enter one
  // first, because this is the stop after a system call.
  if (::ptrace(PTRACE_INTERRUPT, thread_->tid, nullptr, nullptr) == 0)
    (void)run_to_stop(PTRACE_CONT, 0, PTRACE_EVENT_STOP);
  if (std::exchange(raised_, false)) put_back_priority(thread_->tid);
  if (std::exchange(gone_, true)) return;  // it has ended
  std::uint64_t now = ~mask_;
  errno = 0;
  if (::ptrace(PTRACE_SETSIGMASK, thread_->tid, kSigsetBytes, &mask_) == 0)
    (void)::ptrace(PTRACE_GETSIGMASK, thread_->tid, kSigsetBytes, &now);
  thread_->mask_lost = now != mask_ && errno != ESRCH;
  (void)arch::set_registers(thread_->tid, own_);
  thread_->borrowed = true;
}

bool is_borrowed(const StoppedThread& thread, const RemoteMemory& memory, const Gadgets& gadgets) {
  if (!gadgets.way_back) return false;
  constexpr std::uint64_t kCallBytes = arch::kCallAndReturn.size(), kWayBackBytes = arch::kWayBackLong.size();
  const std::uint64_t pc = arch::pc(thread.registers), call = gadgets.call.value,
                      back = gadgets.way_back->value;
  if (pc >= back && pc <= back + kWayBackBytes)
    return true;  // or from one of its own signal handlers, briefly
  if (pc < call || pc >= call + kCallBytes) return false;
  const auto return_address = memory.get<std::uint64_t>({arch::sp(thread.registers)});
  return return_address && *return_address == back;
}

std::vector<int> by_idleness(int pid) {
  const auto tids = process::read_thread_ids(pid);
  if (!tids) return {};
  struct Ranked {
    int rank;
    std::uint64_t slices;
    int tid;
    auto operator<=>(const Ranked&) const = default;
  };
  std::vector<Ranked> ranked;
  std::size_t idle = 0;
  for (const int tid : *tids) {
    const auto call = read_file(fmt::format("/proc/{}/task/{}/syscall", pid, tid));
    const int idle_rank = call ? idleness(*call) : 3;
    const int rank = idle_rank < kParent && process::has_children(pid, tid) ? kParent + idle_rank : idle_rank;
    const auto times = process::read_schedstat(pid, tid);
    ranked.push_back({rank, times ? times->slices : 0, tid});
    if (rank == 0 && ++idle == kEnoughIdle) break;
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<int> order;
  for (const Ranked& thread : ranked) order.push_back(thread.tid);
  return order;
}

unsigned caller_options(int seccomp) {
  return seccomp == 2 ? unsigned{PTRACE_O_SUSPEND_SECCOMP} : 0U;
}

}  // namespace fathom::inject
