#include "record/parking/parked_threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace fathom::parking {
namespace {

constexpr std::uint64_t kLock = 0x7f0000001001, kOtherLock = 0x7f0000001002;

bool is_writable(std::uint64_t address) {
  return address >= 0x7f0000000000 && address < 0x7f0000100000;
}

// The fields of a ThreadData, in the order of one build.
enum Field : std::uint8_t { kFutex, kKey, kNext, kUnparkToken, kParkToken };
using Order = std::array<Field, kThreadDataWords>;
constexpr Order kAnvil{kKey, kNext, kUnparkToken, kParkToken, kFutex};

// Threads whose ThreadData begin at multiples of 4096.
class Threads {
 public:
  explicit Threads(Order order = kAnvil, bool upper_half = false) : order_(order), upper_half_(upper_half) {}
  // A thread in the queue of `lock`, before the thread `next`; 0: it is the last one.
  void park(std::uint64_t number, std::uint64_t lock, std::uint64_t next, std::uint64_t token = 0) {
    const auto at = [&](Field field) {
      return std::find(order_.begin(), order_.end(), field) - order_.begin();
    };
    const std::uint64_t head = address(number);
    Parker parker;
    parker.futex = head + static_cast<std::uint64_t>(at(kFutex)) * 8 + (upper_half_ ? 4 : 0);
    parker.words.fill(0x7f00000ff000);  // of other locks, just as valid
    const auto word = [&](Field field) -> std::uint64_t& {
      return parker.words[static_cast<std::size_t>(kReach + at(field) - at(kFutex))];
    };
    word(kFutex) = upper_half_ ? std::uint64_t{1} << 32 : 1;
    word(kKey) = lock;
    word(kNext) = next == 0 ? 0 : address(next);
    word(kUnparkToken) = token;
    word(kParkToken) = 0;
    parkers.push_back(parker);
  }
  std::int32_t truth() const {
    const auto at = [&](Field field) {
      return std::find(order_.begin(), order_.end(), field) - order_.begin();
    };
    return static_cast<std::int32_t>((at(kKey) - at(kFutex)) * 8 - (upper_half_ ? 4 : 0));
  }
  std::vector<Parker> parkers;

 private:
  static std::uint64_t address(std::uint64_t number) { return 0x7f0000080000 + number * 4096; }
  Order order_;
  bool upper_half_;
};

TEST(KeyDistance, IsProvedByTwoThreadsInOneQueue) {
  Threads threads;
  threads.park(1, kLock, 2);
  threads.park(2, kLock, 0);
  EXPECT_EQ(key_distance(threads.parkers, is_writable), -32);
}

TEST(KeyDistance, IsProvedInEveryOrderOfTheFields) {
  Order order{kFutex, kKey, kNext, kUnparkToken, kParkToken};
  do {
    for (const bool upper_half : {false, true}) {
      Threads threads(order, upper_half);
      threads.park(1, kLock, 2);
      threads.park(2, kLock, 3, 1);
      threads.park(3, kLock, 0);
      threads.park(4, kOtherLock, 0);
      EXPECT_EQ(key_distance(threads.parkers, is_writable), threads.truth());
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(KeyDistance, IsNotProvedByThreadsThatWaitForLocksOfTheirOwn) {
  Threads threads;
  threads.park(1, kLock, 0);
  threads.park(2, kOtherLock, 0);
  EXPECT_EQ(key_distance(threads.parkers, is_writable), std::nullopt);
}

// Several locks may share a queue of the table; and a thread's link is left as it was when it goes on to another lock.
TEST(KeyDistance, IsNotProvedByALinkBetweenWaitersOfTwoLocks) {
  Threads threads;
  threads.park(1, kLock, 2);
  threads.park(2, kOtherLock, 0);
  EXPECT_EQ(key_distance(threads.parkers, is_writable), std::nullopt);
}

TEST(KeyDistance, WantsALockInWritableMemory) {
  Threads threads;
  threads.park(1, 0x400000, 2);
  threads.park(2, 0x400000, 0);
  EXPECT_EQ(key_distance(threads.parkers, is_writable), std::nullopt);
}

// Another queue's nodes: two words may be the lock.
TEST(KeyDistance, WantsOneAddressAndNoMore) {
  Threads threads;
  threads.park(1, kLock, 2, kOtherLock);
  threads.park(2, kLock, 0, kOtherLock);
  EXPECT_EQ(key_distance(threads.parkers, is_writable), std::nullopt);
}

TEST(KeyDistance, WantsAFutexWordOfAParker) {
  Threads threads;
  threads.park(1, kLock, 2);
  threads.park(2, kLock, 0);
  threads.parkers[1].words[kReach] = 2;
  EXPECT_EQ(key_distance(threads.parkers, is_writable), std::nullopt);
}

TEST(KeyDistance, IsUnknownIfPairsGiveDifferentOnes) {
  Threads threads, others({kFutex, kNext, kKey, kUnparkToken, kParkToken});
  threads.park(1, kLock, 2);
  threads.park(2, kLock, 0);
  others.park(3, kLock, 4);
  others.park(4, kLock, 0);
  threads.parkers.insert(threads.parkers.end(), others.parkers.begin(), others.parkers.end());
  EXPECT_EQ(key_distance(threads.parkers, is_writable), std::nullopt);
}

}  // namespace
}  // namespace fathom::parking
