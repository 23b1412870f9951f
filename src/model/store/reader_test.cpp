#include "model/store/reader.h"

#include "base/sanitized.h"
#include "model/store/column.h"
#include "model/store/testing.h"

namespace fathom::store {
namespace {

using model::for_each_profile;
using model::Metric;
using model::Profile;
using model::random_profile;

std::string recorded(const Profile& profile, int slices = 1) {
  TemporaryFile file;
  write_sliced(file.path(), profile, slices);
  return file.content();
}

TEST(Reader, RecordingIsRecognizedByItsFirstBytes) {
  const std::string content = recorded(one_thread_profile());
  EXPECT_TRUE(is_recording(bytes_of(content).first(8)));
  EXPECT_FALSE(is_recording(bytes_of(content).first(7)));
  EXPECT_FALSE(is_recording(bytes_of("main;start 12\n")));
}

TEST(Reader, OtherFilesAreRejectedInOneLineWithTheirName) {
  EXPECT_EQ(read_text("").error().message, "test: not a fathom recording");
  EXPECT_EQ(read_text("main;start 12\n").error().message, "test: not a fathom recording");
  EXPECT_EQ(read("/nonexistent.fathom").error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(read("/proc").error().message, "/proc: not a regular file");
}

// The sanitizers make each two hundred times slower.
constexpr int kProfiles = FATHOM_ADDRESS_SANITIZER ? 6 : 30;

ReadOptions packing() {
  ReadOptions options;
  options.packed = true;
  return options;
}

// Unpacks the rows that a reader has packed.
Profile opened(Profile profile) {
  profile.packed_samples.give_to(profile.samples);
  profile.packed_waits.give_to(profile.waits);
  profile.heap.packed_rows.give_to(profile.heap.rows);
  return profile;
}

TEST(Reader, PackedRowsEqualThoseOfTheRecording) {
  std::size_t packed_rows = 0;
  for_each_profile(kProfiles,
                   [&](const Profile& profile) {
                     const std::string content = recorded(profile, 3);
                     const auto packed = read_text(content, packing());
                     ASSERT_TRUE(packed) << packed.error().message;
                     packed_rows += packed->packed_samples.size();
                     EXPECT_LT(packed->samples.size(), model::kRowsOfBlock);
                     EXPECT_EQ(opened(*packed), read_text(content).value());
                   },
                   {.samples = 3000});
  EXPECT_GT(packed_rows, 0u);
}

// A list of recordings reads no more than this, also of a recording without an end.
TEST(Reader, FactsOnlyAreThoseOfTheWholeRecording) {
  ReadOptions facts;
  facts.facts_only = true;
  for_each_profile(kProfiles, [&](const Profile& profile) {
    const std::string content = recorded(profile, 3);
    for (const std::string& file : {content, content.substr(0, content.size() - kEndSize)}) {
      const auto whole = read_text(file), some = read_text(file, facts);
      ASSERT_TRUE(some) << some.error().message;
      EXPECT_EQ(some->meta.target, whole->meta.target);
      EXPECT_EQ(some->meta.start_unix_ns, whole->meta.start_unix_ns);
      EXPECT_EQ(some->modules, whole->modules);
      EXPECT_EQ(some->processes, whole->processes);
      EXPECT_EQ(some->threads, whole->threads);
      EXPECT_EQ(some->quality.truncated, whole->quality.truncated);
      EXPECT_EQ(some->samples.size() + some->waits.size() + some->heap.rows.size() + some->heap.sites.size(),
                0u);
      EXPECT_EQ(some->heap.empty(), whole->heap.empty());
    }
  });
}

TEST(Reader, RowsOfADamagedRecordingAreRepairedPackedOrNot) {
  for_each_profile(kProfiles,
                   [](const Profile& profile) {
                     std::string content = recorded(profile, 3);
                     content[content.size() / 2] ^= 1;
                     const auto open = read_text(content), packed = read_text(content, packing());
                     ASSERT_EQ(open.has_value(), packed.has_value());
                     if (open) {
                       EXPECT_EQ(*packed, *open);
                     }
                   },
                   {.samples = 3000});
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

TEST(Reader, NewerMajorVersionIsRejectedWithARemedy) {
  auto refused = read_text(version_header(2, 3));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(refused.error().message, "test: recording format 2.3, and this fathom reads 1.x");
  EXPECT_FALSE(refused.error().remedy.empty());
}

TEST(Reader, NewerMinorVersionIsRead) {
  EXPECT_TRUE(read_text(version_header(1, 9)));
}

TEST(Reader, UnknownBlockIsRejectedByNameIfItIsRequired) {
  const std::string file = file_header() + block(block_type("XTRA"), 0, 0, Bytes(10));
  auto refused = read_text(file);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(refused.error().message, "test: block XTRA at byte 24 is not known to this fathom");
  EXPECT_FALSE(refused.error().remedy.empty());
}

// Changes the flags of a single block.
std::string with_flags(std::string block, std::uint32_t flags) {
  std::memcpy(&block[8], &flags, 4);
  const auto sum = static_cast<std::uint32_t>(checksum(bytes_of(block).first(36)));
  std::memcpy(&block[36], &sum, 4);
  return block;
}

TEST(Reader, UnknownBlockIsSkippedIfItIsOptional) {
  const std::string optional = with_flags(block(block_type("XTRA"), 0, 0, Bytes{std::byte{1}}), 0);
  const std::string end = block(kEnd, 1, 0, encode_end({}));
  auto read_back = read_text(file_header() + optional + end);
  ASSERT_TRUE(read_back);
  EXPECT_EQ(*read_back, Profile());
}

TEST(Reader, UnknownFlagOfTheLowerHalfIsRejected) {
  EXPECT_FALSE(read_text(file_header() + with_flags(block(kEnd, 0, 0, encode_end({})), 0x10)));
  EXPECT_TRUE(read_text(file_header() + with_flags(block(kEnd, 0, 0, encode_end({})), 0x10000)));
}

TEST(Reader, UnknownSectionIsSkipped) {
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
    for (const bool index : {true, false}) {  // without: as if fathom had been killed
      const std::string file = index ? content : content.substr(0, content.size() - kEndSize);
      auto shown = read_text(file, {.from_ns = from, .to_ns = to, .memory_limit_bytes = 1 << 30});
      ASSERT_TRUE(shown) << shown.error().message;
      std::vector<model::Sample> expected;
      for (const auto& sample : profile.samples)
        if (sample.time_ns >= from && sample.time_ns < to) expected.push_back(sample);
      EXPECT_EQ(shown->samples, expected);
      EXPECT_EQ(shown->faults.size(), std::ranges::count_if(profile.faults, [&](const model::Fault& fault) {
                  return fault.time_ns >= from && fault.time_ns < to;
                }));
      EXPECT_EQ(shown->quality.samples, expected.size() + shown->quality.filtered);
      EXPECT_EQ(shown->quality.truncated, !index);
      EXPECT_EQ(shown->stacks, profile.stacks);
    }
  });
}

// The part of a wait that lies in a window.
std::optional<model::Wait> part(model::Wait wait, std::uint64_t from, std::uint64_t to) {
  const auto overlap = [&](std::uint64_t start, std::uint64_t end) {
    const std::uint64_t a = std::max(start, from), b = std::min(end, to);
    return a < b ? b - a : 0;
  };
  const std::uint64_t start = wait.start_ns, woken = start + wait.waited_ns, end = woken + wait.queued_ns;
  wait.start_ns = std::max(start, from);
  wait.waited_ns = overlap(start, woken);
  wait.queued_ns = overlap(woken, end);
  if (start < from) wait.began_before = true;
  if (end > to) wait.unfinished = true;
  // A wait without duration is in the window in which it began.
  const bool inside = wait.waited_ns + wait.queued_ns != 0 || (start >= from && start < to);
  return inside ? std::optional(wait) : std::nullopt;
}

// In the window [100, 200): the remaining part of a wait, as "start+waited+queued", with < and > where it was
// cut.
std::string in_window(std::uint64_t start, std::uint64_t waited, std::uint64_t queued) {
  Profile profile = one_thread_profile();
  auto& wait = profile.waits.emplace_back();
  wait.start_ns = start;
  wait.waited_ns = waited;
  wait.queued_ns = queued;
  profile.quality.waits = 1;
  ReadOptions options;
  options.from_ns = 100;
  options.to_ns = 200;
  auto shown = read_text(recorded(profile), options);
  if (!shown) return shown.error().message;
  EXPECT_EQ(shown->quality.waits, 1u);
  EXPECT_EQ(shown->waits.size() + shown->quality.filtered_waits, 1u);
  if (shown->waits.empty()) return "filtered";
  const auto& left = shown->waits[0];
  return (left.began_before ? "<" : "") + std::to_string(left.start_ns) + "+" +
         std::to_string(left.waited_ns) + "+" + std::to_string(left.queued_ns) + (left.unfinished ? ">" : "");
}

TEST(Reader, WindowCutsWaits) {
  EXPECT_EQ(in_window(110, 20, 5), "110+20+5");
  EXPECT_EQ(in_window(100, 60, 40), "100+60+40");
  EXPECT_EQ(in_window(50, 60, 5), "<100+10+5");
  EXPECT_EQ(in_window(50, 20, 60), "<100+0+30");  // woken before the window
  EXPECT_EQ(in_window(190, 5, 100), "190+5+5>");
  EXPECT_EQ(in_window(190, 50, 7), "190+10+0>");
  EXPECT_EQ(in_window(0, 5000, 3), "<100+100+0>");
  EXPECT_EQ(in_window(0, 10, 5000), "<100+0+100>");
  EXPECT_EQ(in_window(150, 0, 0), "150+0+0");
  EXPECT_EQ(in_window(100, 0, 0), "100+0+0");
  EXPECT_EQ(in_window(200, 0, 0), "filtered");
  EXPECT_EQ(in_window(200, 10, 0), "filtered");
  EXPECT_EQ(in_window(50, 40, 10), "filtered");  // had a CPU at the start of the window
  EXPECT_EQ(in_window(50, 10, 10), "filtered");
}

TEST(Reader, EmptyWindowHasNoWaits) {
  Profile profile = one_thread_profile();
  profile.waits.emplace_back().waited_ns = 1000;
  ReadOptions options;
  options.from_ns = options.to_ns = 500;
  auto shown = read_text(recorded(profile), options);
  ASSERT_TRUE(shown);
  EXPECT_TRUE(shown->waits.empty());
  EXPECT_EQ(shown->quality.filtered_waits, 1u);
}

TEST(Reader, WindowShowsThePartsOfItsWaitsAndCountsTheOthers) {
  for_each_profile(100, [](const Profile& profile) {
    if (profile.waits.empty()) return;
    std::vector<std::uint64_t> times;
    for (const auto& wait : profile.waits) times.push_back(wait.start_ns + wait.waited_ns / 2);
    std::sort(times.begin(), times.end());
    const std::uint64_t from = times[times.size() / 3], to = times[times.size() * 2 / 3];
    if (from == to) return;
    const std::string content = recorded(profile, 5);
    for (const bool index : {true, false}) {  // without: as if fathom had been killed
      const std::string file = index ? content : content.substr(0, content.size() - kEndSize);
      auto shown = read_text(file, {.from_ns = from, .to_ns = to, .memory_limit_bytes = 1 << 30});
      ASSERT_TRUE(shown) << shown.error().message;
      std::vector<model::Wait> expected;
      for (const auto& wait : profile.waits)
        if (const auto inside = part(wait, from, to)) expected.push_back(*inside);
      EXPECT_EQ(shown->waits, expected);
      EXPECT_EQ(shown->quality.waits, expected.size() + shown->quality.filtered_waits);
      EXPECT_EQ(shown->quality.lost_waits, profile.quality.lost_waits);
      EXPECT_EQ(shown->objects, profile.objects);
    }
  });
}

TEST(Reader, WindowShowsTheSpansThatOverlapItWhole) {
  Profile profile = one_thread_profile();
  for (const auto& [start, end] : {std::pair(100, 200), {100, 500}, {600, 700}, {900, 2000}, {100, 2000}}) {
    model::Span& span = profile.spans.emplace_back();
    span.start_ns = static_cast<std::uint64_t>(start);
    span.end_ns = static_cast<std::uint64_t>(end);
  }
  auto shown = read_text(recorded(profile), {.from_ns = 500, .to_ns = 900});
  ASSERT_TRUE(shown);
  const std::vector<model::Span> expected = {profile.spans[1], profile.spans[2], profile.spans[4]};
  EXPECT_EQ(shown->spans, expected);
}

TEST(Reader, AdjacentWindowsShareTheTimeOfAllWaits) {
  const Profile profile = random_profile(2, {.samples = 500});
  ASSERT_FALSE(profile.waits.empty());
  const std::string content = recorded(profile, 5);
  const auto sum = [](const Profile& shown) {
    std::uint64_t waited = 0, queued = 0;
    for (const auto& wait : shown.waits) {
      waited += wait.waited_ns;
      queued += wait.queued_ns;
    }
    return std::pair(waited, queued);
  };
  const std::uint64_t middle = profile.waits[profile.waits.size() / 2].start_ns;
  const auto before = sum(*read_text(content, {.from_ns = {}, .to_ns = middle}));
  const auto after = sum(*read_text(content, {.from_ns = middle, .to_ns = {}}));
  EXPECT_EQ(std::pair(before.first + after.first, before.second + after.second), sum(profile));
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

TEST(Reader, WindowSkipsBlocksUsingOnlyTheIndex) {
  Profile profile = one_thread_profile();
  TemporaryFile file;
  auto writer = Writer::create(file.path());
  for (std::uint64_t second = 0; second < 3; ++second) {
    profile.samples.assign(10, {});
    for (auto& sample : profile.samples) sample.time_ns = second * 1000;
    profile.waits.assign(5, {});
    for (auto& wait : profile.waits) wait.start_ns = second * 1000;
    ASSERT_TRUE(writer->append(profile));
  }
  profile.samples.clear();
  profile.waits.clear();
  profile.quality.samples = 30;
  profile.quality.waits = 15;
  ASSERT_TRUE(writer->finish(profile));
  std::string content = file.content();
  // Damage in a skipped block goes unnoticed.
  for (const std::uint32_t type : {kSamples, kWaits})
    for (const auto& found : blocks_of(content))
      if (found.header.type == type) {
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
  EXPECT_EQ(shown->waits.size(), 10u);
  EXPECT_EQ(shown->quality.filtered_waits, 5u);
  EXPECT_EQ(shown->quality.lost_waits, 0u);
}

TEST(Reader, MemoryBeyondTheLimitIsRejectedWithARemedy) {
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

TEST(Reader, PayloadThatClaimsToExpandTooMuchCountsAsDamaged) {
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

TEST(Reader, IdsOutsideTheirTableAreRejected) {
  // One stack without its frame.
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
