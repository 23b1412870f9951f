#include "record/parking/lock_keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "record/parking/parked_threads.h"

namespace fathom::parking {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// Two threads in the queue of one lock: ThreadData at 0x10000 and 0x20000, the futex word last.
struct Convoy {
  std::atomic<bool> linked = true;
  std::atomic<int> reads = 0;
  ProcessMemory memory() {
    return {[this](std::int32_t, std::uint64_t address, std::span<std::uint64_t> words) {
              ++reads;
              std::ranges::fill(words, 0);
              words[kReach] = 1;
              words[0] = 0x30008;
              if (address == 0x10000 && linked) words[1] = 0x20000;
              return true;
            },
            [](std::int32_t) {
              process::MapEntry heap;
              heap.start = {0x10000};
              heap.end = {0x40000};
              heap.writable = true;
              return std::vector{heap};
            }};
  }
  static constexpr std::uint64_t kOne = 0x10020, kOther = 0x20020;
};

// Waits for the thread that reads.
std::vector<LockKeys::Proof> settled(LockKeys& keys, std::uint64_t now_ns) {
  auto proofs = keys.prove(now_ns);
  while (keys.is_asking()) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    for (const auto& proof : keys.prove(now_ns)) proofs.push_back(proof);
  }
  return proofs;
}

TEST(LockKeys, AreProvedOnce) {
  Convoy convoy;
  LockKeys keys(convoy.memory());
  keys.saw(7, Convoy::kOne);
  keys.saw(7, Convoy::kOther);
  const auto proofs = settled(keys, kSecond);
  ASSERT_EQ(proofs.size(), 1u);
  EXPECT_EQ(proofs[0].pid, 7);
  EXPECT_EQ(proofs[0].key_distance, -32);
  convoy.reads = 0;
  keys.saw(7, Convoy::kOne);
  EXPECT_TRUE(settled(keys, 9 * kSecond).empty());
  EXPECT_EQ(convoy.reads, 0);
}

TEST(LockKeys, AreAskedForSeldomWhileNothingIsProved) {
  Convoy convoy;
  convoy.linked = false;
  LockKeys keys(convoy.memory());
  int tries = 0;
  for (std::uint64_t now = kSecond; now < 11 * kSecond; now += kSecond / 100) {
    keys.saw(7, Convoy::kOne);
    keys.saw(7, Convoy::kOther);
    convoy.reads = 0;
    EXPECT_TRUE(settled(keys, now).empty());
    tries += convoy.reads > 0 ? 1 : 0;
  }
  EXPECT_LE(tries, 15);
  EXPECT_GE(tries, 10);
  convoy.linked = true;
  keys.saw(7, Convoy::kOne);
  EXPECT_EQ(settled(keys, 13 * kSecond).size(), 1u);
}

TEST(LockKeys, OfAnotherProgramAreProvedAgain) {
  Convoy convoy;
  LockKeys keys(convoy.memory());
  for (int program = 0; program < 2; ++program) {
    keys.saw(7, Convoy::kOne);
    keys.saw(7, Convoy::kOther);
    EXPECT_EQ(settled(keys, kSecond).size(), 1u);
    keys.forget(7);
  }
}

TEST(LockKeys, OfAProgramThatWasReplacedWhileItWasAskedAreNotBelieved) {
  Convoy convoy;
  LockKeys keys(convoy.memory());
  keys.saw(7, Convoy::kOne);
  keys.saw(7, Convoy::kOther);
  EXPECT_TRUE(keys.prove(kSecond).empty());
  keys.forget(7);
  keys.saw(7, Convoy::kOne);  // of the new one
  EXPECT_TRUE(settled(keys, kSecond).empty());
}

// As one whose page a handler of its own keeps back.
TEST(LockKeys, ProcessWithBlockingMemoryDelaysNoOthers) {
  std::promise<void> released;
  LockKeys keys(
      {[gate = released.get_future().share()](std::int32_t, std::uint64_t, std::span<std::uint64_t>) {
         gate.wait();
         return false;
       },
       [](std::int32_t) { return std::vector<process::MapEntry>{}; }});
  keys.saw(7, Convoy::kOne);
  keys.saw(7, Convoy::kOther);
  EXPECT_TRUE(keys.prove(kSecond).empty());
  EXPECT_TRUE(keys.is_asking());
  EXPECT_TRUE(keys.prove(4 * kSecond).empty());
  keys.saw(7, Convoy::kOne);
  EXPECT_TRUE(keys.prove(9 * kSecond).empty());
  EXPECT_FALSE(keys.is_asking()) << "it is not asked again";
  released.set_value();
}

TEST(LockKeys, OfManyThreadsAreSearchedInABoundedNumber) {
  Convoy convoy;
  convoy.linked = false;
  LockKeys keys(convoy.memory());
  for (std::uint64_t i = 0; i < 100'000; ++i) keys.saw(7, 0x100000 + i * 64);
  (void)settled(keys, kSecond);
  EXPECT_LE(convoy.reads, 256);
}

}  // namespace
}  // namespace fathom::parking
