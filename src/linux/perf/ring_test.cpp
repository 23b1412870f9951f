#include "linux/perf/ring.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cstring>
#include <numeric>
#include <vector>

namespace fathom::sources {
namespace {

// The data of a ring as the kernel would have written it, beginning at any position.
class FakeRing {
 public:
  FakeRing(std::size_t size, std::uint64_t position) : data_(size), tail_(position), head_(position) {}

  void write(std::uint32_t type, std::vector<std::uint8_t> body) {
    perf_event_header header{type, 0, static_cast<std::uint16_t>(sizeof header + body.size())};
    std::vector<std::uint8_t> record(sizeof header);
    std::memcpy(record.data(), &header, sizeof header);
    record.insert(record.end(), body.begin(), body.end());
    for (const std::uint8_t byte : record) data_[head_++ & (data_.size() - 1)] = static_cast<std::byte>(byte);
  }
  // A header that claims any size.
  void claim(std::uint16_t size) {
    const std::uint64_t start = head_;
    write(1, {});
    data_[(start + 6) & (data_.size() - 1)] = static_cast<std::byte>(size & 0xff);
    data_[(start + 7) & (data_.size() - 1)] = static_cast<std::byte>(size >> 8);
  }
  RecordReader reader() const { return RecordReader(data_, tail_, head_); }
  std::uint64_t head() const { return head_; }

 private:
  std::vector<std::byte> data_;
  std::uint64_t tail_, head_;
};

std::vector<std::uint8_t> numbers(std::size_t count) {
  std::vector<std::uint8_t> body(count);
  std::iota(body.begin(), body.end(), std::uint8_t{1});
  return body;
}

std::vector<std::uint8_t> body_of(std::span<const std::byte> record) {
  std::vector<std::uint8_t> body;
  for (std::byte byte : record.subspan(sizeof(perf_event_header)))
    body.push_back(static_cast<std::uint8_t>(byte));
  return body;
}

TEST(PerfRing, RecordsComeOutInTheOrderTheyWereWritten) {
  FakeRing ring(128, 0);
  ring.write(1, numbers(8));
  ring.write(2, numbers(16));
  RecordReader reader = ring.reader();
  EXPECT_EQ(reader.next()->size(), 16u);
  EXPECT_EQ(reader.position(), 16u);
  EXPECT_EQ(reader.next()->size(), 24u);
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(reader.position(), ring.head());
  EXPECT_FALSE(reader.malformed());
}

TEST(PerfRing, RecordThatWrapsAroundTheEndComesOutWhole) {
  for (std::uint64_t position : {40u, 48u, 56u, 64u * 1000 + 56u}) {
    FakeRing ring(64, position);
    ring.write(9, numbers(24));
    RecordReader reader = ring.reader();
    const auto record = reader.next();
    ASSERT_TRUE(record);
    EXPECT_EQ(body_of(*record), numbers(24)) << position;
    EXPECT_FALSE(reader.next());
  }
}

TEST(PerfRing, PositionsRunOnPastTheEndOfTheirType) {
  FakeRing ring(64, ~std::uint64_t{0} - 15);
  ring.write(9, numbers(24));
  RecordReader reader = ring.reader();
  EXPECT_EQ(body_of(*reader.next()), numbers(24));
  EXPECT_EQ(reader.position(), 16u);
}

TEST(PerfRing, FullRingIsReadToTheEnd) {
  FakeRing ring(64, 24);
  ring.write(1, numbers(24));
  ring.write(2, numbers(24));
  RecordReader reader = ring.reader();
  EXPECT_EQ(body_of(*reader.next()), numbers(24));
  EXPECT_EQ(body_of(*reader.next()), numbers(24));
  EXPECT_FALSE(reader.next());
}

TEST(PerfRing, SizeThatCannotBeTrueGivesUpTheRest) {
  for (std::uint16_t size : {0, 4, 7, 12, 48, 65528}) {
    FakeRing ring(128, 8);
    ring.write(1, numbers(8));
    ring.claim(size);
    ring.write(2, numbers(8));
    RecordReader reader = ring.reader();
    EXPECT_TRUE(reader.next());
    EXPECT_FALSE(reader.next()) << size;
    EXPECT_TRUE(reader.malformed());
    EXPECT_EQ(reader.position(), ring.head());
  }
}

// Each record looks sound, but the kernel cannot have written more of them than there is room for.
TEST(PerfRing, MoreThanTheRingHoldsIsRefusedThoughEveryRecordIsSound) {
  FakeRing ring(64, 0);
  for (std::uint32_t i = 0; i < 5; ++i) ring.write(1, numbers(8));  // 80 bytes
  RecordReader reader = ring.reader();
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.malformed());
  EXPECT_EQ(reader.position(), ring.head());
}

TEST(PerfRing, MoreThanTheRingHoldsIsRefused) {
  const std::vector<std::byte> data(64);
  for (const auto& [tail, head] : {std::pair{0u, 72u}, std::pair{8u, 0u}}) {
    RecordReader reader(data, tail, head);
    EXPECT_FALSE(reader.next());
    EXPECT_TRUE(reader.malformed());
    EXPECT_EQ(reader.position(), head);
  }
}

}  // namespace
}  // namespace fathom::sources
