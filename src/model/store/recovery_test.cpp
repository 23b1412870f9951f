// What can be read of a recording after any kind of damage.
#include <sys/wait.h>

#include <csignal>

#include "model/store/payload.h"
#include "model/store/testing.h"
#include "model/testing_spoil.h"

namespace fathom::store {
namespace {

using model::Profile;
using model::random_profile;
using model::Sample;

template <class Row>
bool is_prefix(const std::vector<Row>& part, const std::vector<Row>& whole) {
  return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin());
}

std::string recorded_in(const Profile& profile, int slices) {
  TemporaryFile file;
  write_sliced(file.path(), profile, slices);
  return file.content();
}

TEST(Recovery, EveryPrefixIsRejectedOrGivesAPrefixOfTheSamplesAndWaits) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    const Profile whole = random_profile(seed);
    const std::string content = recorded_in(whole, 8);
    std::size_t most = 0, most_waits = 0;
    for (std::size_t size = 0; size < content.size(); ++size) {
      auto part = read_text(content.substr(0, size));
      ASSERT_EQ(part.has_value(), size >= kFileHeaderSize) << size;
      if (!part) continue;
      ASSERT_TRUE(part->quality.truncated);
      ASSERT_GE(part->samples.size(), most) << "a longer file gave less";
      most = part->samples.size();
      ASSERT_GE(part->waits.size(), most_waits) << "a longer file gave less";
      most_waits = part->waits.size();
      // Ids below the lost rows are the same as in the whole recording.
      ASSERT_TRUE(is_prefix(part->samples, whole.samples)) << size;
      ASSERT_EQ(part->quality.samples, part->samples.size());
      ASSERT_TRUE(is_prefix(part->waits, whole.waits)) << size;
      ASSERT_EQ(part->quality.waits, part->waits.size());
    }
    EXPECT_EQ(most, whole.samples.size());
    EXPECT_EQ(most_waits, whole.waits.size());
  }
}

// What a lost block leaves: an id of any row may be of a row that is not there.
TEST(Recovery, EveryIdOfEveryTableIsRepaired) {
  model::Spoiler spoiler(model::Spoil::kIds);
  model::for_each_profile(40, [&](const Profile& profile) {
    spoiler.each(profile, [](Profile& broken, const std::string& name) {
      ASSERT_FALSE(check(broken)) << name;
      repair(broken);
      const auto checked = check(broken);
      ASSERT_TRUE(checked) << name << ": " << checked.error().message;
    });
  });
  EXPECT_EQ(spoiler.broken().size(), 51u) << ::testing::PrintToString(spoiler.broken());
}

TEST(Recovery, RecordedEqualsShownPlusLostWhereverTheFileEnds) {
  Profile profile = one_thread_profile();
  TemporaryFile file;
  auto writer = Writer::create(file.path());
  std::vector<std::size_t> sizes;
  for (std::uint64_t second = 1; second <= 5; ++second) {
    profile.samples.assign(100, {});
    profile.quality.samples = second * 100;
    ASSERT_TRUE(writer->append(profile));
  }
  const std::string content = file.content();
  for (std::size_t size = kFileHeaderSize; size <= content.size(); ++size) {
    auto part = read_text(content.substr(0, size));
    ASSERT_TRUE(part);
    // The counters of the last state in the file.
    EXPECT_EQ((part->quality.samples + part->quality.lost_disk) % 100, 0u);
    EXPECT_EQ(part->quality.samples, part->samples.size());
    EXPECT_LE(part->quality.lost_disk, 100u);
  }
}

TEST(Recovery, FlippedBitIsRejectedOrReportedAndNothingElseChanges) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    const Profile whole = random_profile(seed, {.samples = 100});
    const std::string content = recorded_in(whole, 6);
    for (std::size_t at = 0; at < content.size(); ++at) {
      std::string flipped = content;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
      auto part = read_text(flipped);
      ASSERT_EQ(part.has_value(), at >= kFileHeaderSize) << at;
      if (!part) continue;
      const bool noticed = part->quality.truncated || part->quality.notes.size() > whole.quality.notes.size();
      if (!noticed) {  // reading everything does not need the index
        ASSERT_EQ(*part, whole) << at;
      }
      ASSERT_LE(part->samples.size(), whole.samples.size());
      if (whole.quality.lost_disk == 0) {
        ASSERT_LE(part->quality.samples + part->quality.lost_disk, whole.samples.size()) << at;
      }
      ASSERT_LE(part->waits.size(), whole.waits.size());
      if (whole.quality.lost_waits == 0) {
        ASSERT_LE(part->quality.waits + part->quality.lost_waits, whole.waits.size()) << at;
      }
    }
  }
}

// Three seconds of ten samples and five waits each, with a new stack and a new file every second.
std::string three_seconds() {
  TemporaryFile file;
  Profile profile = one_thread_profile();
  model::Builder builder(profile);
  auto writer = Writer::create(file.path());
  for (std::uint32_t second = 0; second < 3; ++second) {
    const auto stack = builder.stack({1}, builder.frame({0}, {0x100 + second}));
    builder.name_frame(profile.stacks[stack.value].frame, {{"f" + std::to_string(second), "", 0}});
    profile.samples.assign(10, {});
    for (auto& sample : profile.samples) sample.stack = stack;
    profile.quality.samples += 10;
    const auto object = static_cast<std::uint32_t>(profile.objects.size());
    profile.objects.push_back({model::ObjectKind::kFile, builder.string("/" + std::to_string(second)), 0, 0});
    profile.waits.assign(5, {});
    for (auto& wait : profile.waits) {
      wait.stack = wait.waker_stack = stack;
      wait.object = {object};
      wait.waker = {0};
    }
    profile.quality.waits += 5;
    profile.threads[0].waited_ns += 100;
    EXPECT_TRUE(writer->append(profile));
  }
  profile.samples.clear();
  profile.waits.clear();
  EXPECT_TRUE(writer->finish(profile));
  return file.content();
}

std::vector<FoundBlock> blocks_of_type(const std::string& content, std::uint32_t type) {
  std::vector<FoundBlock> blocks = blocks_of(content);
  std::erase_if(blocks, [&](const FoundBlock& found) { return found.header.type != type; });
  return blocks;
}

TEST(Recovery, DamagedSamplesLoseThatSecondAndAreCounted) {
  std::string content = three_seconds();
  const auto blocks = blocks_of_type(content, kSamples);
  ASSERT_EQ(blocks.size(), 3u);
  content[blocks[1].offset + kBlockHeaderSize + 3] ^= 0x40;
  auto rest = read_text(content);
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->samples.size(), 20u);
  EXPECT_EQ(rest->quality.samples, 20u);
  EXPECT_EQ(rest->quality.lost_disk, 10u);
  EXPECT_FALSE(rest->quality.truncated);
  ASSERT_EQ(rest->quality.notes.size(), 1u);
  EXPECT_NE(rest->quality.notes[0].find("SAMP: its checksum differs"), std::string::npos);
}

TEST(Recovery, DamagedWaitsLoseThatSecondAndAreCounted) {
  std::string content = three_seconds();
  const auto blocks = blocks_of_type(content, kWaits);
  ASSERT_EQ(blocks.size(), 3u);
  content[blocks[1].offset + kBlockHeaderSize + 3] ^= 0x40;
  auto rest = read_text(content);
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->waits.size(), 10u);
  EXPECT_EQ(rest->quality.waits, 10u);
  EXPECT_EQ(rest->quality.lost_waits, 5u);
  EXPECT_EQ(rest->samples.size(), 30u);
  ASSERT_EQ(rest->quality.notes.size(), 1u);
  EXPECT_NE(rest->quality.notes[0].find("WAIT: its checksum differs"), std::string::npos);
}

TEST(Recovery, WaitsSurviveTheLossOfTheirObjectsAndStacks) {
  std::string content = three_seconds();
  content[blocks_of_type(content, kTables)[1].offset + kBlockHeaderSize] ^= 0x40;
  auto rest = read_text(content);
  ASSERT_TRUE(rest) << rest.error().message;
  ASSERT_EQ(rest->waits.size(), 15u);
  EXPECT_EQ(rest->quality.lost_waits, 0u);
  const auto file_of = [&](const model::Wait& wait) {
    return rest->strings[rest->objects[wait.object.value].name];
  };
  EXPECT_EQ(file_of(rest->waits[0]), "/0");
  EXPECT_EQ(file_of(rest->waits[5]), "");
  EXPECT_EQ(file_of(rest->waits[10]), "/2");
  EXPECT_EQ(rest->waits[5].stack.value, 0u);
  EXPECT_EQ(rest->waits[5].waker_stack.value, 0u);
  EXPECT_NE(rest->waits[10].stack.value, 0u);
}

TEST(Recovery, DamagedHeaderIsSkippedToTheNextBlock) {
  std::string content = three_seconds();
  content[blocks_of_type(content, kSamples)[1].offset + 20] ^= 0x40;
  auto rest = read_text(content);
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->samples.size(), 20u);
  EXPECT_EQ(rest->quality.lost_disk, 10u);
  EXPECT_EQ(rest->quality.notes.size(), 1u);
}

TEST(Recovery, SamplesAndLaterStacksSurviveTheLossOfStacks) {
  std::string content = three_seconds();
  const auto tables = blocks_of_type(content, kTables);
  ASSERT_EQ(tables.size(), 3u);
  content[tables[1].offset + kBlockHeaderSize] ^= 0x40;
  auto rest = read_text(content);
  ASSERT_TRUE(rest) << rest.error().message;
  ASSERT_EQ(rest->samples.size(), 30u);
  EXPECT_EQ(rest->quality.lost_disk, 0u);
  const auto name_of = [&](const Sample& sample) -> std::string {
    if (sample.stack.value == 0) return "";
    const auto& frame = rest->frames[rest->stacks[sample.stack.value].frame.value];
    return std::string(rest->strings[rest->functions[rest->lines[frame.first_line].function.value].name]);
  };
  EXPECT_EQ(name_of(rest->samples[0]), "f0");
  EXPECT_EQ(name_of(rest->samples[10]), "");  // its stack is lost
  EXPECT_EQ(name_of(rest->samples[20]), "f2");
}

TEST(Recovery, SamplesOfALostThreadGoToAThreadNamedLost) {
  std::string content = three_seconds();
  content[blocks_of_type(content, kState)[0].offset + kBlockHeaderSize] ^= 0x40;
  auto rest = read_text(content);
  ASSERT_TRUE(rest) << rest.error().message;
  ASSERT_EQ(rest->samples.size(), 30u);
  EXPECT_EQ(rest->strings[rest->threads[rest->samples[0].thread.value].name], "[lost thread]");
  ASSERT_EQ(rest->waits.size(), 15u);
  EXPECT_EQ(rest->waits[0].thread, rest->samples[0].thread);
}

TEST(Recovery, MissingBlocksInTheMiddleAreDetected) {
  const std::string content = three_seconds();
  const auto blocks = blocks_of(content);
  for (std::size_t first = 0; first + 1 < blocks.size(); ++first) {
    const std::string rest =
        content.substr(0, blocks[first].offset) + content.substr(blocks[first + 1].offset);
    auto part = read_text(rest);
    ASSERT_TRUE(part) << first << ": " << part.error().message;
    EXPECT_FALSE(part->quality.notes.empty());
    EXPECT_EQ(part->quality.samples + part->quality.lost_disk, 30u);
    EXPECT_EQ(part->quality.waits + part->quality.lost_waits, 15u);
  }
}

TEST(Recovery, GarbageAtTheEndIsReported) {
  std::string content = three_seconds();
  content.resize(content.size() - kEndSize);
  auto rest = read_text(content + std::string(5000, '\0'));
  ASSERT_TRUE(rest);
  EXPECT_TRUE(rest->quality.truncated);
  EXPECT_EQ(rest->samples.size(), 30u);
  EXPECT_EQ(rest->quality.notes.size(), 1u);
}

TEST(Recovery, FileOfBlockMarksIsReadInLinearTime) {
  std::string content = file_header();
  for (int i = 0; i < 1'000'000; ++i) content += "FBLK";
  auto rest = read_text(content);
  ASSERT_TRUE(rest);
  EXPECT_TRUE(rest->samples.empty());
}

TEST(Recovery, KilledWriterLosesNothingThatWasAppended) {
  TemporaryFile file;
  int pipes[2];
  ASSERT_EQ(::pipe(pipes), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Profile profile = one_thread_profile();
    auto writer = Writer::create(file.path());
    for (std::uint64_t second = 1;; ++second) {
      profile.samples.assign(1000, {});
      for (std::size_t i = 0; i < 1000; ++i) profile.samples[i].time_ns = second * 1000 + i * i;
      profile.quality.samples += 1000;
      if (!writer || !writer->append(profile)) _exit(1);
      const char done = 1;
      if (::write(pipes[1], &done, 1) != 1) _exit(1);
    }
  }
  ::close(pipes[1]);
  std::size_t appended = 0;
  char done = 0;
  while (appended < 50 && ::read(pipes[0], &done, 1) == 1) ++appended;
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  while (::read(pipes[0], &done, 1) == 1) ++appended;
  ::close(pipes[0]);
  EXPECT_TRUE(WIFSIGNALED(status));
  auto rest = read(file.path());
  ASSERT_TRUE(rest) << rest.error().message;
  EXPECT_TRUE(rest->quality.truncated);
  EXPECT_GE(rest->samples.size(), appended * 1000);
  EXPECT_LE(rest->samples.size(), (appended + 1) * 1000);
  EXPECT_GE(rest->meta.end_ns, appended * 1000);
}

}  // namespace
}  // namespace fathom::store
