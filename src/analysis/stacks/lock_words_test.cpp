#include "analysis/stacks/lock_words.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace fathom::stacks {
namespace {

std::int32_t own_tid() {
  return static_cast<std::int32_t>(::syscall(SYS_gettid));
}

bool read_own(std::uint64_t address, std::span<std::byte> bytes) {
  std::memcpy(bytes.data(), reinterpret_cast<const void*>(address), bytes.size());
  return true;
}

std::uint32_t& word_at(void* lock, std::size_t index) {
  return static_cast<std::uint32_t*>(lock)[index];
}

FutexCall call_at(const void* address, std::uint32_t operation, std::uint32_t value) {
  const std::array<std::uint64_t, 4> arguments = {reinterpret_cast<std::uint64_t>(address), operation, value,
                                                  0};
  return futex_call(arguments).value();
}

// The layouts are those of the C library that this test runs with.
TEST(LockWords, OwnerOfEveryKindOfMutex) {
  for (const int type :
       {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP}) {
    for (const int shared : {PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED}) {
      SCOPED_TRACE(testing::Message() << "type " << type << " shared " << shared);
      pthread_mutexattr_t attributes;
      pthread_mutexattr_init(&attributes);
      pthread_mutexattr_settype(&attributes, type);
      pthread_mutexattr_setpshared(&attributes, shared);
      pthread_mutex_t mutex;
      pthread_mutex_init(&mutex, &attributes);
      const FutexCall call = call_at(&mutex, FUTEX_WAIT, 2);
      EXPECT_EQ(mutex_owner(call, read_own), std::nullopt) << "not held";
      pthread_mutex_lock(&mutex);
      EXPECT_EQ(mutex_owner(call, read_own), std::nullopt) << "held, and no thread waits";
      word_at(&mutex, 0) = 2;  // as a waiter leaves it
      EXPECT_EQ(mutex_owner(call, read_own),
                (LockOwner{own_tid(), false, reinterpret_cast<std::uint64_t>(&mutex)}));
      pthread_mutex_unlock(&mutex);
      pthread_mutex_destroy(&mutex);
    }
  }
}

TEST(LockWords, TheKernelKeepsTheOwnerOfRobustAndInheritingMutexes) {
  std::uint32_t word = 4711 | FUTEX_WAITERS;
  const LockOwner owner{4711, true, reinterpret_cast<std::uint64_t>(&word)};
  EXPECT_EQ(mutex_owner(call_at(&word, FUTEX_LOCK_PI, 0), read_own), owner);
  EXPECT_EQ(mutex_owner(call_at(&word, FUTEX_LOCK_PI2, 0), read_own), owner);
  EXPECT_EQ(mutex_owner(call_at(&word, FUTEX_WAIT, word), read_own), owner);
  word = FUTEX_WAITERS;  // released meanwhile
  EXPECT_EQ(mutex_owner(call_at(&word, FUTEX_LOCK_PI, 0), read_own), std::nullopt);
}

TEST(LockWords, TheWriterOfAReaderWriterLockFromBothOfItsWords) {
  pthread_rwlock_t lock;
  pthread_rwlock_init(&lock, nullptr);
  pthread_rwlock_wrlock(&lock);
  const LockOwner owner{own_tid(), false, reinterpret_cast<std::uint64_t>(&lock)};
  for (const std::size_t word : {2u, 3u})
    EXPECT_EQ(rwlock_owner(call_at(&word_at(&lock, word), FUTEX_WAIT_BITSET, 1), read_own), owner) << word;
  for (const std::size_t word : {2u, 3u})
    EXPECT_EQ(rwlock_start(call_at(&word_at(&lock, word), FUTEX_WAIT_BITSET, 1)), owner.lock) << word;
  pthread_rwlock_unlock(&lock);
  pthread_rwlock_rdlock(&lock);
  EXPECT_EQ(rwlock_owner(call_at(&word_at(&lock, 2), FUTEX_WAIT_BITSET, 1), read_own), std::nullopt);
  pthread_rwlock_unlock(&lock);
}

TEST(LockWords, JoinWaitsForTheNumberOfAThread) {
  std::uint32_t word = 815;
  EXPECT_EQ(awaited_thread(call_at(&word, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 815), read_own), 815);
  EXPECT_EQ(awaited_thread(call_at(&word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 815), read_own),
            std::nullopt)
      << "the kernel does not wake private waiters when a thread ends";
  EXPECT_EQ(awaited_thread(call_at(&word, FUTEX_WAIT_BITSET, 816), read_own), std::nullopt) << "it has ended";
}

TEST(LockWords, OnlyOperationsThatWait) {
  for (std::uint32_t operation = 0; operation < 16; ++operation) {
    const std::array<std::uint64_t, 4> arguments = {4096, operation, 2, 0};
    const bool waits = operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET ||
                       operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2 ||
                       operation == FUTEX_WAIT_REQUEUE_PI;
    EXPECT_EQ(futex_call(arguments).has_value(), waits) << operation;
  }
}

// Whatever the target writes there: a number of a thread or nothing, and no read elsewhere.
TEST(LockWords, AnyWordsAreSafe) {
  std::uint64_t state = 1;
  for (int i = 0; i < 20'000; ++i) {
    std::array<std::uint32_t, 8> words;
    for (std::uint32_t& word : words) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      word = static_cast<std::uint32_t>(state >> (state % 3 == 0 ? 60 : 33));
    }
    const MemoryReader read = [&](std::uint64_t address, std::span<std::byte> bytes) {
      const std::uint64_t start = reinterpret_cast<std::uint64_t>(words.data());
      if (address < start || address + bytes.size() > start + sizeof(words)) return false;
      return read_own(address, bytes);
    };
    const FutexCall call = call_at(words.data() + 2, i % 2 == 0 ? FUTEX_WAIT : FUTEX_LOCK_PI, words[i % 8]);
    for (const auto& owner : {mutex_owner(call, read), rwlock_owner(call, read)})
      if (owner) {
        EXPECT_GT(owner->tid, 0);
        EXPECT_LE(owner->tid, 1 << 22);
      }
  }
}

TEST(LockWords, MemoryThatIsNotThereHasNoOwner) {
  const MemoryReader none = [](std::uint64_t, std::span<std::byte>) { return false; };
  std::uint32_t word = 2;
  EXPECT_EQ(mutex_owner(call_at(&word, FUTEX_WAIT, 2), none), std::nullopt);
  EXPECT_EQ(mutex_owner(call_at(&word, FUTEX_LOCK_PI, 2), none), std::nullopt);
  EXPECT_EQ(rwlock_owner(call_at(&word, FUTEX_WAIT, 2), none), std::nullopt);
  EXPECT_EQ(awaited_thread(call_at(&word, FUTEX_WAIT, 2), none), std::nullopt);
}

}  // namespace
}  // namespace fathom::stacks
