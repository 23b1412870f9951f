#include "record/session/recording_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>

#include "model/store/reader.h"

namespace fathom::session {
namespace {

// Files of this process cannot grow beyond this size while it lives: a disk that is full.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    before_handler_ = ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, before_handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  sighandler_t before_handler_ = SIG_DFL;
};

struct RecordingFileTest : testing::Test {
  RecordingFileTest() {
    std::filesystem::create_directory(folder);
    options.output = folder / "a.fathom";
    profile.meta.start_ns = 1000;
    profile.meta.end_ns = 2000;
    const auto process = rows.assign(ProcessFacts{10, 1, 5, "redis", "/bin/redis", true}, Life{});
    thread = rows.assign(process, ThreadFacts{10, 5, "redis"}, Life{}).id;
  }
  ~RecordingFileTest() override { std::filesystem::remove_all(folder); }

  void add_samples(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      model::Sample sample;
      sample.time_ns = 1000 + taken;
      sample.thread = thread;
      profile.samples.push_back(sample);
      ++taken;
    }
    profile.quality.samples += count;
  }
  std::size_t samples_in_file() const {
    const auto read = store::read(options.output);
    return read ? read->samples.size() : 0;
  }

  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("fathom_recording_file_test." + std::to_string(::getpid()));
  RecordOptions options;
  Urgency urgency;
  model::Profile profile;
  RowBook rows{profile, RowLimits{}};
  model::ThreadId thread;
  std::uint64_t taken = 0;
  RecordingFile file{options, urgency};
};

TEST_F(RecordingFileTest, EachSaveMovesTheRowsIntoTheFile) {
  ASSERT_TRUE(file.create());
  EXPECT_FALSE(std::filesystem::exists(options.output)) << "it gets its name with the first save";
  for (const std::size_t so_far : {3u, 6u}) {
    add_samples(3);
    ASSERT_TRUE(file.save(profile, rows, Companion::Save::kAppend));
    EXPECT_TRUE(profile.samples.empty());
    EXPECT_EQ(samples_in_file(), so_far) << "it can be read at any time";
  }
  add_samples(1);
  ASSERT_TRUE(file.finish(profile, rows, Companion::Save::kAppend));
  ASSERT_TRUE(file.ensure_there());
  EXPECT_EQ(samples_in_file(), 7u);
  EXPECT_EQ(file.bytes_written(), std::filesystem::file_size(options.output));
}

TEST_F(RecordingFileTest, RowsThatACompanionKeepsAreNotWrittenUntilItRewritesTheFile) {
  ASSERT_TRUE(file.create());
  ASSERT_TRUE(file.save(profile, rows, Companion::Save::kAppend));
  add_samples(4);
  ASSERT_TRUE(file.save(profile, rows, Companion::Save::kKept));
  EXPECT_TRUE(profile.samples.empty());
  EXPECT_EQ(samples_in_file(), 0u);
  add_samples(5);
  options.overwrite = true;
  ASSERT_TRUE(file.save(profile, rows, Companion::Save::kAnew));
  EXPECT_TRUE(profile.samples.empty());
  EXPECT_EQ(samples_in_file(), 5u);
  add_samples(2);
  ASSERT_TRUE(file.finish(profile, rows, Companion::Save::kAnew));
  EXPECT_EQ(samples_in_file(), 2u) << "with all that the profile then holds, and no more";
}

// Nothing vanishes: what the disk did not take is lost, and counted.
TEST_F(RecordingFileTest, RowsThatTheDiskDoesNotTakeAreCountedAsLost) {
  ASSERT_TRUE(file.create());
  add_samples(3);
  ASSERT_TRUE(file.save(profile, rows, Companion::Save::kAppend));
  add_samples(50'000);
  profile.waits.resize(7);
  profile.quality.waits = 7;
  {
    const FullDisk disk(file.bytes_written() + 16);
    const auto saved = file.save(profile, rows, Companion::Save::kAppend);
    ASSERT_FALSE(saved);
    EXPECT_FALSE(saved.error().remedy.empty());
  }
  EXPECT_EQ(profile.quality.lost_disk, 50'000u);
  EXPECT_EQ(profile.quality.samples, 3u);
  EXPECT_EQ(profile.quality.lost_waits, 7u);
  EXPECT_EQ(profile.quality.waits, 0u);
  EXPECT_TRUE(profile.samples.empty());
  EXPECT_EQ(samples_in_file(), 3u) << "what was written before can be read";
}

// A flight recording goes on: the disk may have room later. Unless it never had a file.
TEST_F(RecordingFileTest, ARewriteThatFailsIsANoteIfThereIsAFileAlready) {
  ASSERT_TRUE(file.create());
  {
    const FullDisk disk(16);
    add_samples(50'000);
    EXPECT_FALSE(file.save(profile, rows, Companion::Save::kAnew));
    EXPECT_THAT(profile.quality.notes, testing::IsEmpty());
  }
  profile.samples.clear();
  add_samples(2);
  ASSERT_TRUE(file.save(profile, rows, Companion::Save::kAnew));
  for (int i = 0; i < 2; ++i) {
    const FullDisk disk(16);
    add_samples(50'000);
    EXPECT_TRUE(file.save(profile, rows, Companion::Save::kAnew));
    EXPECT_TRUE(profile.samples.empty());
  }
  EXPECT_THAT(profile.quality.notes,
              testing::ElementsAre(testing::HasSubstr("a state of the recording could not be written")));
  EXPECT_EQ(samples_in_file(), 2u);
}

}  // namespace
}  // namespace fathom::session
