#include "analysis/stacks/lock_words.h"

#include <linux/futex.h>

#include <array>
#include <cstring>

namespace fathom::stacks {
namespace {

// struct __pthread_mutex_s: lock, count, owner, users, kind; 4 bytes each.
constexpr std::size_t kMutexWords = 5, kOwner = 2, kUsers = 3, kKind = 4;
// Types 0 to 3, and the bits robust, inherit, protect, shared and the two of elision.
constexpr std::uint32_t kMutexKinds = 0x3f3;
// struct __pthread_rwlock_arch_t: readers, writers, the words that phases and writers wait at, two more, the writer.
constexpr std::size_t kRwlockWords = 7, kPhaseWord = 2, kWritersWord = 3, kWriter = 6;
constexpr std::int32_t kMostTid = 1 << 22;  // PID_MAX_LIMIT of 64-bit kernels

template <std::size_t kCount>
std::optional<std::array<std::uint32_t, kCount>> read_words(const MemoryReader& read, std::uint64_t address) {
  std::array<std::uint32_t, kCount> words;
  if (!read(address, std::as_writable_bytes(std::span(words)))) return std::nullopt;
  return words;
}

bool is_tid(std::uint32_t word) {
  return word != 0 && word <= static_cast<std::uint32_t>(kMostTid);
}

}  // namespace

std::optional<FutexCall> futex_call(std::span<const std::uint64_t> arguments) {
  FutexCall call;
  call.address = arguments[0];
  const auto operation = static_cast<std::uint32_t>(arguments[1]);
  call.operation = operation & FUTEX_CMD_MASK;
  call.is_private = (operation & FUTEX_PRIVATE_FLAG) != 0;
  call.value = static_cast<std::uint32_t>(arguments[2]);
  call.has_timeout = arguments[3] != 0;
  switch (call.operation) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
    case FUTEX_WAIT_REQUEUE_PI:
      return call;
    default:
      return std::nullopt;
  }
}

std::optional<LockOwner> mutex_owner(const FutexCall& call, const MemoryReader& read) {
  if (call.address % 4 != 0) return std::nullopt;
  const bool inherits = call.operation == FUTEX_LOCK_PI || call.operation == FUTEX_LOCK_PI2;
  const bool robust = !inherits && (call.value & FUTEX_WAITERS) != 0 && is_tid(call.value & FUTEX_TID_MASK);
  if (inherits || robust) {
    const auto word = read_words<1>(read, call.address);
    if (!word || !is_tid((*word)[0] & FUTEX_TID_MASK)) return std::nullopt;
    return LockOwner{static_cast<std::int32_t>((*word)[0] & FUTEX_TID_MASK), true, call.address};
  }
  // Held, and with waiters, is 2. A word that has changed since belongs to a thread that is about to wake up.
  constexpr std::uint32_t kHeldWithWaiters = 2;
  if (call.value != kHeldWithWaiters) return std::nullopt;
  const auto words = read_words<kMutexWords>(read, call.address);
  if (!words || (*words)[0] != kHeldWithWaiters) return std::nullopt;
  if (!is_tid((*words)[kOwner]) || (*words)[kUsers] == 0 || ((*words)[kKind] & ~kMutexKinds) != 0)
    return std::nullopt;
  return LockOwner{static_cast<std::int32_t>((*words)[kOwner]), false, call.address};
}

std::uint64_t rwlock_start(const FutexCall& call) {
  // The lock begins at a multiple of eight, so the address shows which of the two words it is.
  return call.address - 4 * (call.address % 8 == 0 ? kPhaseWord : kWritersWord);
}

std::optional<LockOwner> rwlock_owner(const FutexCall& call, const MemoryReader& read) {
  if (call.address % 4 != 0) return std::nullopt;
  const std::uint64_t lock = rwlock_start(call);
  const auto words = read_words<kRwlockWords>(read, lock);
  if (!words || !is_tid((*words)[kWriter])) return std::nullopt;
  return LockOwner{static_cast<std::int32_t>((*words)[kWriter]), false, lock};
}

std::optional<std::int32_t> awaited_thread(const FutexCall& call, const MemoryReader& read) {
  // The kernel wakes the waiter when it clears the word, and knows nothing of private waits there.
  if (call.is_private || call.address % 4 != 0 || !is_tid(call.value)) return std::nullopt;
  const auto word = read_words<1>(read, call.address);
  if (!word || (*word)[0] != call.value) return std::nullopt;
  return static_cast<std::int32_t>(call.value);
}

}  // namespace fathom::stacks
