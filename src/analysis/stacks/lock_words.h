// The words of the C library's locks. Pure. Source: glibc 2.17 to 2.41, sysdeps/nptl/bits/struct_mutex.h and struct_rwlock.h of
// 64-bit processors, and futex(2). The target can write these words: a number in them is only ever looked up among threads
// that exist.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace fathom::stacks {

// Copies memory of the target; false: not all of it is there.
using MemoryReader = std::function<bool(std::uint64_t address, std::span<std::byte> bytes)>;

struct FutexCall {
  std::uint64_t address = 0;
  std::uint32_t operation = 0;  // without its flags
  bool is_private = false;
  std::uint32_t value = 0;  // what the word held when the thread began to wait
  bool has_timeout = false;
};
// From the arguments of futex(2). nullopt: the operation does not wait.
std::optional<FutexCall> futex_call(std::span<const std::uint64_t> arguments);

struct LockOwner {
  std::int32_t tid = 0;    // as the target's own pid namespace numbers it
  bool in_word = false;    // the kernel keeps it there: robust and priority-inheriting mutexes
  std::uint64_t lock = 0;  // where the lock begins
  bool operator==(const LockOwner&) const = default;
};

// The owner of the mutex at whose word the call waits. nullopt: the word does not look like one that is held. Other memory
// may look like a mutex: the caller knows from the stack, or checks that the number is a thread's.
std::optional<LockOwner> mutex_owner(const FutexCall& call, const MemoryReader& read);

// Where the reader-writer lock begins at one of whose two words the call waits.
std::uint64_t rwlock_start(const FutexCall& call);

// The writer that holds the reader-writer lock. nullopt: readers hold it, whose numbers it does not keep, or it is none.
std::optional<LockOwner> rwlock_owner(const FutexCall& call, const MemoryReader& read);

// The thread whose end the call waits for (pthread_join): the word that the kernel clears holds its number.
std::optional<std::int32_t> awaited_thread(const FutexCall& call, const MemoryReader& read);

}  // namespace fathom::stacks
