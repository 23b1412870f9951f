#include "store/reader.h"

#include "store/column.h"
#include "store/testing.h"

namespace fathom::store {
namespace {

using profile::for_each_profile;
using profile::Metric;
using profile::Profile;
using profile::random_profile;

std::string recorded(const Profile& profile, int slices = 1) {
  TemporaryFile file;
  write_sliced(file.path(), profile, slices);
  return file.content();
}

TEST(Reader, RecordingIsRecognisedByItsFirstBytes) {
  const std::string content = recorded(one_thread_profile());
  EXPECT_TRUE(is_recording(bytes_of(content).first(8)));
  EXPECT_FALSE(is_recording(bytes_of(content).first(7)));
  EXPECT_FALSE(is_recording(bytes_of("main;start 12\n")));
}

TEST(Reader, WhatIsNoRecordingIsRefusedInOneLineWithItsName) {
  EXPECT_EQ(read_text("").error().message, "test: not a fathom recording");
  EXPECT_EQ(read_text("main;start 12\n").error().message, "test: not a fathom recording");
  EXPECT_EQ(read("/nonexistent.fathom").error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(read("/proc").error().message, "/proc: not a regular file");
}

// The header of a file of version `major`.`minor`.
std::string version_header(std::uint16_t major, std::uint16_t minor) {
  std::string header = file_header();
  std::memcpy(&header[8], &major, 2);
  std::memcpy(&header[10], &minor, 2);
  const std::uint64_t sum = checksum(bytes_of(header).first(16));
  std::memcpy(&header[16], &sum, 8);
  return header;
}

TEST(Reader, NewerMajorVersionIsRefusedWithARemedy) {
  auto refused = read_text(version_header(2, 3));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(refused.error().message, "test: recording format 2.3, and this fathom reads 1.x");
  EXPECT_FALSE(refused.error().remedy.empty());
}

TEST(Reader, NewerMinorVersionIsRead) {
  EXPECT_TRUE(read_text(version_header(1, 9)));
}

TEST(Reader, UnknownBlockIsRefusedByNameIfItIsRequired) {
  const std::string file = file_header() + block(block_type("HEAP"), 0, 0, Bytes(10));
  auto refused = read_text(file);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(refused.error().message, "test: block HEAP at byte 24 is not known to this fathom");
  EXPECT_FALSE(refused.error().remedy.empty());
}

// Changes the flags of a block that stands alone.
std::string with_flags(std::string block, std::uint32_t flags) {
  std::memcpy(&block[8], &flags, 4);
  const auto sum = static_cast<std::uint32_t>(checksum(bytes_of(block).first(36)));
  std::memcpy(&block[36], &sum, 4);
  return block;
}

TEST(Reader, UnknownBlockIsSteppedOverIfItIsOptional) {
  const std::string optional = with_flags(block(block_type("HEAP"), 0, 0, Bytes{std::byte{1}}), 0);
  const std::string end = block(kEnd, 1, 0, encode_end({}));
  auto read_back = read_text(file_header() + optional + end);
  ASSERT_TRUE(read_back);
  EXPECT_EQ(*read_back, Profile());
}

TEST(Reader, UnknownFlagOfTheLowerHalfIsRefused) {
  EXPECT_FALSE(read_text(file_header() + with_flags(block(kEnd, 0, 0, encode_end({})), 0x10)));
  EXPECT_TRUE(read_text(file_header() + with_flags(block(kEnd, 0, 0, encode_end({})), 0x10000)));
}

TEST(Reader, UnknownSectionIsSteppedOver) {
  Bytes payload;
  put_section(payload, 77, Bytes(5));
  auto read_back = read_text(file_header() + block(kTables, 0, 0, payload) + block(kState, 1, 0, payload) +
                             block(kEnd, 2, 0, encode_end({})));
  ASSERT_TRUE(read_back);
  EXPECT_EQ(*read_back, Profile());
}

TEST(Reader, WindowShowsItsSamplesAndCountsTheOthers) {
  for_each_profile(100, [](const Profile& profile) {
    if (profile.samples.empty()) return;
    std::vector<std::uint64_t> times;
    for (const auto& sample : profile.samples) times.push_back(sample.time_ns);
    std::sort(times.begin(), times.end());
    const std::uint64_t from = times[times.size() / 3], to = times[times.size() * 2 / 3];
    const std::string content = recorded(profile, 5);
    for (const bool index : {true, false}) {  // without: as if it had been killed
      const std::string file = index ? content : content.substr(0, content.size() - kEndSize);
      auto shown = read_text(file, {.from_ns = from, .to_ns = to, .memory_limit_bytes = 1 << 30});
      ASSERT_TRUE(shown) << shown.error().message;
      std::vector<profile::Sample> expected;
      for (const auto& sample : profile.samples)
        if (sample.time_ns >= from && sample.time_ns < to) expected.push_back(sample);
      EXPECT_EQ(shown->samples, expected);
      EXPECT_EQ(shown->quality.samples, expected.size() + shown->quality.filtered);
      EXPECT_EQ(shown->quality.truncated, !index);
      EXPECT_EQ(shown->stacks, profile.stacks);
    }
  });
}

TEST(Reader, WindowMovesStartAndEndOfTheRecording) {
  Profile profile = one_thread_profile();
  profile.meta.start_ns = 1000;
  profile.meta.start_unix_ns = 51'000;
  profile.meta.end_ns = 2000;
  const std::string content = recorded(profile);
  ReadOptions options;
  options.from_ns = 1500;
  options.to_ns = 1700;
  const auto meta = read_text(content, options)->meta;
  EXPECT_EQ(meta.start_ns, 1500u);
  EXPECT_EQ(meta.start_unix_ns, 51'500u);
  EXPECT_EQ(meta.end_ns, 1700u);
  options.from_ns = 9000;
  options.to_ns = 9001;
  EXPECT_EQ(read_text(content, options)->duration_s(), 0);
  options.to_ns = 10;
  EXPECT_EQ(read_text(content, options).error().kind, ErrorKind::kUsage);
}

TEST(Reader, WindowStepsOverBlocksWithTheIndexAlone) {
  Profile profile = one_thread_profile();
  TemporaryFile file;
  auto writer = Writer::create(file.path());
  for (std::uint64_t second = 0; second < 3; ++second) {
    profile.samples.assign(10, {});
    for (auto& sample : profile.samples) sample.time_ns = second * 1000;
    ASSERT_TRUE(writer->append(profile));
  }
  profile.samples.clear();
  profile.quality.samples = 30;
  ASSERT_TRUE(writer->finish(profile));
  std::string content = file.content();
  // Damage in a block that is stepped over is not even seen.
  for (const auto& found : blocks_of(content))
    if (found.header.type == kSamples) {
      content[found.offset + kBlockHeaderSize] ^= 1;
      break;
    }
  ReadOptions options;
  options.from_ns = 1000;
  auto shown = read_text(content, options);
  ASSERT_TRUE(shown);
  EXPECT_EQ(shown->samples.size(), 20u);
  EXPECT_EQ(shown->quality.filtered, 10u);
  EXPECT_EQ(shown->quality.lost_disk, 0u);
}

TEST(Reader, MemoryBeyondTheLimitIsRefusedWithARemedy) {
  Profile profile = one_thread_profile();
  profile.samples.assign(200'000, {});  // some hundred bytes in the file
  const std::string content = recorded(profile);
  EXPECT_LT(content.size(), 2000u);
  ReadOptions options;
  options.memory_limit_bytes = 1 << 20;
  auto refused = read_text(content, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUnsupported);
  EXPECT_FALSE(refused.error().remedy.empty());
  EXPECT_TRUE(read_text(content));
}

TEST(Reader, PayloadThatClaimsToGrowBeyondReasonIsDamaged) {
  std::string bomb = block(kTables, 0, 0, Bytes(1 << 20));
  for (const std::uint32_t size : {std::uint32_t{2} << 20, kMaxPayload + 1, UINT32_MAX}) {
    std::memcpy(&bomb[16], &size, 4);
    const auto sum = static_cast<std::uint32_t>(checksum(bytes_of(bomb).first(36)));
    std::memcpy(&bomb[36], &sum, 4);
    auto read_back = read_text(file_header() + bomb);
    ASSERT_TRUE(read_back);
    EXPECT_EQ(read_back->quality.notes.size(), 1u);
  }
}

TEST(Reader, IdsThatLeadOutOfTheirTableAreRefused) {
  // One stack whose frame is not there.
  Bytes body, payload;
  for (const std::uint64_t number : {1, 1, 0}) put_varint(body, number);  // first row, rows, new frames
  put_column(body, std::vector<std::uint64_t>{0});
  put_column(body, std::vector<std::uint64_t>{43});
  put_section(payload, 5, body);
  auto refused = read_text(file_header() + block(kTables, 0, 0, payload) + block(kEnd, 1, 0, encode_end({})));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "test: stack 1: no such frame");
}

}  // namespace
}  // namespace fathom::store
