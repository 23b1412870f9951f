#include "analysis/stacks/parked_locks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

namespace fathom::stacks {
namespace {

using analysis::FutexKind;

// A process with parked threads. Each ThreadData is {key, futex word, next in queue, two tokens}; memory that was not written is unmapped.
class ParkedLocks : public testing::Test {
 protected:
  void write(std::uint64_t address, std::uint64_t word) { words_[address] = word; }
  std::size_t park(std::uint64_t data, std::uint64_t key, FutexKind kind = FutexKind::kLock) {
    const std::uint64_t words[] = {key, 1, 0, 0, 0};
    // What is next to it belongs to the thread, too.
    for (std::uint64_t at = data - 0x30; at < data + 0x40; at += 8) words_.try_emplace(at, 0);
    for (std::size_t i = 0; i < std::size(words); ++i) write(data + 8 * i, words[i]);
    ThreadLook& thread = look_.threads.emplace_back();
    thread.pid = 7;
    thread.awaited.cause = analysis::Cause::kFutex;
    thread.awaited.futex = kind;
    thread.awaited.family = LockFamily::kParkingLot;
    thread.awaited.address = data + 8;
    return look_.threads.size() - 1;
  }
  void find() {
    find_parked_locks(
        [this](std::int32_t, std::uint64_t address, std::span<std::byte> bytes) {
          for (std::size_t i = 0; i < bytes.size(); ++i) {
            const auto word = words_.find((address + i) & ~std::uint64_t{7});
            if (word == words_.end()) return false;
            bytes[i] = static_cast<std::byte>(word->second >> (8 * ((address + i) & 7)));
          }
          return true;
        },
        look_);
  }
  std::uint64_t lock_of(std::size_t thread) const { return look_.threads[thread].awaited.address; }
  Look look_;
  std::map<std::uint64_t, std::uint64_t> words_;
};

TEST_F(ParkedLocks, AreFoundByTheirWords) {
  write(0x20000, 0x0300);  // the mutex is its second byte
  write(0x30000, 3);
  const std::size_t a = park(0x100000, 0x20001), b = park(0x200000, 0x30000);
  find();
  EXPECT_EQ(lock_of(a), 0x20001u);
  EXPECT_EQ(lock_of(b), 0x30000u);
}

TEST_F(ParkedLocks, AWriterThatWaitsForReadersIsInTheLocksOwnQueue) {
  write(0x20000, 0x1a);  // a reader, a writer that has it next, and a waiter for it
  const std::size_t reader = park(0x100000, 0x20000, FutexKind::kReaderWriter);
  const std::size_t writer = park(0x200000, 0x20001, FutexKind::kReaderWriter);
  find();
  EXPECT_EQ(lock_of(reader), 0x20000u);
  EXPECT_EQ(lock_of(writer), 0x20000u);
}

TEST_F(ParkedLocks, AreUnknownIfOneOfThemIsFreeOrNotReadable) {
  write(0x20000, 3);
  write(0x30000, 1);
  const std::size_t a = park(0x100000, 0x20000), b = park(0x200000, 0x30000);
  find();
  EXPECT_EQ(lock_of(a), 0u);
  EXPECT_EQ(lock_of(b), 0u);
  look_.threads.pop_back();
  look_.threads[a].awaited.address = 0x100008;
  park(0x300000, 0x999000);
  find();
  EXPECT_EQ(lock_of(a), 0u);
}

TEST_F(ParkedLocks, AreUnknownIfTwoPlacesFit) {
  write(0x20000, 3);
  const std::size_t a = park(0x100000, 0x20000);
  write(0x100020, 0x20000);
  find();
  EXPECT_EQ(lock_of(a), 0u);
}

TEST_F(ParkedLocks, OtherWaitsKeepTheirAddress) {
  const std::size_t condition = park(0x100000, 0x20000, FutexKind::kCondition);
  const std::size_t mutex = park(0x200000, 0x20000);
  look_.threads[mutex].awaited.family = LockFamily::kPthreadMutex;
  find();
  EXPECT_EQ(lock_of(condition), 0x100008u);
  EXPECT_EQ(lock_of(mutex), 0x200008u);
}

}  // namespace
}  // namespace fathom::stacks
