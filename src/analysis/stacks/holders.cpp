#include "analysis/stacks/holders.h"

#include <sys/wait.h>

#include <algorithm>

namespace fathom::stacks {
namespace {

using analysis::Cause;
using analysis::FutexKind;

struct InnerHolder {
  std::int32_t tid = 0;  // as the target numbers it
  Evidence evidence = Evidence::kNone;
  bool certain = false;  // the stack, the kernel or both say that the word is a lock's
};

std::optional<InnerHolder> holder_of_futex(const ThreadLook& thread, const MemoryReader& read) {
  const auto call = futex_call(thread.arguments);
  if (!call) return std::nullopt;
  const Awaited& awaited = thread.awaited;
  if (awaited.futex == FutexKind::kJoin) {
    const auto tid = awaited_thread(*call, read);
    if (!tid) return std::nullopt;
    return InnerHolder{*tid, Evidence::kThreadEnd, false};
  }
  if (awaited.family == LockFamily::kRust || awaited.family == LockFamily::kParkingLot) return std::nullopt;
  if (awaited.family == LockFamily::kPthreadRwlock) {
    const auto owner = rwlock_owner(*call, read);
    if (!owner) return std::nullopt;
    return InnerHolder{owner->tid, Evidence::kOwnerField, true};
  }
  // At a condition variable, a barrier or a semaphore, numbers in the words nearby mean nothing.
  if (awaited.futex != FutexKind::kLock) return std::nullopt;
  const auto owner = mutex_owner(*call, read);
  if (!owner) return std::nullopt;
  return InnerHolder{owner->tid, owner->in_word ? Evidence::kLockWord : Evidence::kOwnerField,
                     owner->in_word || awaited.family == LockFamily::kPthreadMutex};
}

// The child that wait4() or waitid(P_PID) names. The calls differ in their first argument: a kind of number, or a number that no child
// has. Any of several children may end the other waits.
std::optional<std::int32_t> awaited_child(const ThreadLook& thread) {
  const auto number = static_cast<std::int32_t>(thread.arguments[0]);
  if (number == P_PID) return static_cast<std::int32_t>(thread.arguments[1]);
  return number > P_PIDFD ? std::optional(number) : std::nullopt;
}

Holder known(const Look& look, const Numbers& numbers, std::int32_t tid, Evidence evidence) {
  Holder holder;
  holder.evidence = evidence;
  holder.tid = tid;
  const auto row = std::ranges::find(look.threads, tid, &ThreadLook::tid);
  // A file lock belongs to a process, as its end does: which of several threads will bring it about is not known.
  const bool has_threads =
      (evidence == Evidence::kFileLocks || evidence == Evidence::kChild) && !numbers.has_one_thread(tid);
  if (row != look.threads.end() && !has_threads) {
    holder.kind = Holder::Kind::kThread;
    holder.pid = row->pid;
    holder.thread = static_cast<std::size_t>(row - look.threads.begin());
    return holder;
  }
  if (const auto stranger = numbers.stranger(tid)) {
    holder.kind = Holder::Kind::kProcess;
    holder.pid = stranger->pid;
    holder.name = stranger->name;
  }
  return holder;
}

void find_holder(const ProcessMemory& memory, const Numbers& numbers, const Look& look, ThreadLook& thread) {
  const Awaited& awaited = thread.awaited;
  if (awaited.cause == Cause::kFileLock) {
    if (const auto pid = numbers.file_lock(thread))
      thread.holder = known(look, numbers, *pid, Evidence::kFileLocks);
    return;
  }
  if (awaited.cause == Cause::kChild) {
    const auto inner = awaited_child(thread);
    if (const auto tid = inner ? numbers.outer(thread.pid, *inner) : std::nullopt)
      thread.holder = known(look, numbers, *tid, Evidence::kChild);
    return;
  }
  if (awaited.cause != Cause::kFutex) return;
  const std::int32_t pid = thread.pid;
  const MemoryReader read = [&memory, pid](std::uint64_t address, std::span<std::byte> bytes) {
    return memory(pid, address, bytes);
  };
  const auto inner = holder_of_futex(thread, read);
  if (!inner) return;
  if (const auto tid = numbers.outer(pid, inner->tid)) {
    Holder holder = known(look, numbers, *tid, inner->evidence);
    // Without a name on the stack the word may be any number. A thread of the process itself is no accident, a process that
    // merely exists may be one.
    if (holder.kind == Holder::Kind::kThread || inner->certain) thread.holder = holder;
    return;
  }
  if (inner->certain) thread.holder = {Holder::Kind::kExited, inner->evidence, inner->tid, 0, {}, 0};
}

}  // namespace

void find_holders(const ProcessMemory& memory, const Numbers& numbers, Look& look) {
  for (ThreadLook& thread : look.threads)
    if ((thread.state == State::kWaits || thread.state == State::kStopped) && thread.wait)
      find_holder(memory, numbers, look, thread);
}

}  // namespace fathom::stacks
