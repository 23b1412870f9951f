#include "model/store/writer.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "model/still_recorded.h"
#include "model/store/testing.h"

namespace fathom::store {
namespace {

using model::for_each_profile;
using model::Profile;
using model::random_profile;

TEST(Writer, WritingInRandomSlicesThenReadingGivesTheSameProfile) {
  TemporaryFile file;
  int slices = 0;
  for_each_profile(500, [&](const Profile& profile) {
    slices = slices % 12 + 1;
    ASSERT_NO_FATAL_FAILURE(write_sliced(file.path(), profile, slices));
    auto read_back = read(file.path());
    ASSERT_TRUE(read_back) << read_back.error().message;
    EXPECT_EQ(*read_back, profile);
  });
}

// Uses a recorder in another process, because a reader never runs in the recorder's.
TEST(Writer, ReadersDistinguishALiveRecorderFromAKilledOne) {
  TemporaryFile file;
  const Profile profile = random_profile(3, {.samples = 2000});
  for (const bool finishes : {false, true}) {
    int ready[2], go[2];
    ASSERT_EQ(::pipe(ready), 0);
    ASSERT_EQ(::pipe(go), 0);
    const pid_t recorder = ::fork();
    ASSERT_GE(recorder, 0);
    if (recorder == 0) {
      char byte = 1;
      auto writer = Writer::create(file.path(), {.overwrite = true});
      if (!writer || !writer->append(profile)) ::_exit(1);
      if (::write(ready[1], &byte, 1) != 1 || ::read(go[0], &byte, 1) != 1) ::_exit(1);
      if (finishes && !writer->finish(profile)) ::_exit(1);
      (void)!::write(ready[1], &byte, 1);
      for (;;) ::pause();  // its file stays open
    }
    char byte = 1;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    auto during = read(file.path());
    ASSERT_TRUE(during) << during.error().message;
    EXPECT_TRUE(model::is_still_recorded(*during));
    ASSERT_EQ(::write(go[1], &byte, 1), 1);
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    if (finishes) {
      auto whole = read(file.path());
      ASSERT_TRUE(whole);
      EXPECT_FALSE(whole->quality.truncated);
      EXPECT_FALSE(model::is_still_recorded(*whole));
    }
    ::kill(recorder, SIGKILL);
    ASSERT_EQ(::waitpid(recorder, nullptr, 0), recorder);
    for (const int fd : {ready[0], ready[1], go[0], go[1]}) ::close(fd);
    auto after = read(file.path());
    ASSERT_TRUE(after);
    EXPECT_EQ(after->quality.truncated, !finishes);
    EXPECT_FALSE(model::is_still_recorded(*after));
  }
}

TEST(Writer, EveryAppendLeavesAReadableFile) {
  TemporaryFile file;
  const Profile whole = random_profile(3, {.samples = 2000});
  auto writer = Writer::create(file.path());
  ASSERT_TRUE(writer);
  Slices slices(whole, 1);
  std::size_t samples = 0, waits = 0;
  for (int i = 0; i < 10; ++i) {
    const Profile& now = slices.next(i == 9);
    ASSERT_TRUE(writer->append(now));
    samples += now.samples.size();
    waits += now.waits.size();
    auto read_back = read(file.path());
    ASSERT_TRUE(read_back) << read_back.error().message;
    EXPECT_EQ(read_back->samples.size(), samples);
    EXPECT_EQ(read_back->frames, now.frames);
    EXPECT_EQ(read_back->threads, now.threads);
    EXPECT_EQ(read_back->waits.size(), waits);
    EXPECT_EQ(read_back->objects, now.objects);
    EXPECT_TRUE(read_back->quality.truncated);
    EXPECT_EQ(writer->bytes_written(), file.content().size());
  }
}

TEST(Writer, AppendOfNothingNewWritesNothing) {
  TemporaryFile file;
  Profile profile = random_profile(5);
  auto writer = Writer::create(file.path());
  ASSERT_TRUE(writer->append(profile));
  profile.samples.clear();
  profile.waits.clear();
  profile.faults.clear();
  profile.calls.clear();
  profile.spans.clear();
  profile.memory_ranges.clear();
  for (auto& series : profile.series) series.points.clear();
  const std::uint64_t before = writer->bytes_written();
  ASSERT_TRUE(writer->append(profile));
  EXPECT_EQ(writer->bytes_written(), before);
}

// The writer does not even look at rows that are not listed as changed: that keeps a long recording cheap.
TEST(Writer, OnlyRowsListedAsChangedAreWritten) {
  TemporaryFile file;
  Profile profile;
  profile.processes.resize(3);
  profile.threads.resize(1000);
  for (std::size_t i = 0; i < profile.threads.size(); ++i)
    profile.threads[i].tid = static_cast<std::int32_t>(i + 1);
  ChangedRows all{{0, 1, 2}, {}};
  for (std::uint32_t i = 0; i < 1000; ++i) all.threads.push_back(i);
  auto writer = Writer::create(file.path());
  ASSERT_TRUE(writer->append(profile, &all));
  const std::uint64_t before = writer->bytes_written();
  const ChangedRows nothing;
  ASSERT_TRUE(writer->append(profile, &nothing));
  EXPECT_EQ(writer->bytes_written(), before);

  const Profile written = profile;
  profile.processes[1].end_ns = 7;
  profile.threads[10].cpu_ns = 5;
  profile.threads[500].ran_ns = 6;
  profile.threads[700].ran_ns = 8;
  const ChangedRows some{{1}, {10, 500}};
  ASSERT_TRUE(writer->append(profile, &some));
  auto read_back = read(file.path());
  ASSERT_TRUE(read_back) << read_back.error().message;
  EXPECT_EQ(read_back->processes, profile.processes);
  EXPECT_EQ(read_back->threads[10], profile.threads[10]);
  EXPECT_EQ(read_back->threads[500], profile.threads[500]);
  EXPECT_EQ(read_back->threads[700], written.threads[700]);
  const ChangedRows rest{{}, {700}};
  ASSERT_TRUE(writer->finish(profile, &rest));
  read_back = read(file.path());
  ASSERT_TRUE(read_back) << read_back.error().message;
  EXPECT_EQ(*read_back, profile);
}

TEST(Writer, NameThatArrivesLaterIsWrittenOnce) {
  TemporaryFile file;
  Profile profile = one_thread_profile();
  auto writer = Writer::create(file.path());
  ASSERT_TRUE(writer->append(profile));
  EXPECT_EQ(read(file.path())->frames[0].line_count, 0u);
  model::Builder(profile).name_frame({0}, {{"main", "main.c", 3}, {"start", "", 0}});
  ASSERT_TRUE(writer->append(profile));
  EXPECT_EQ(read(file.path())->frames, profile.frames);
  EXPECT_EQ(read(file.path())->lines, profile.lines);
  const std::uint64_t before = writer->bytes_written();
  ASSERT_TRUE(writer->append(profile));
  EXPECT_EQ(writer->bytes_written(), before);
}

TEST(Writer, ManyRowsAreSplitIntoBlocks) {
  TemporaryFile file;
  Profile profile = one_thread_profile();
  model::Builder builder(profile);
  for (std::uint32_t i = 0; i < 150'000; ++i) {
    const auto frame = builder.frame({0}, {0x1000 + i});
    builder.stack({i % 1000}, frame);
  }
  profile.series.push_back({builder.string("memory.rss_anon"), builder.string("bytes"), 7, {}});
  for (std::uint64_t i = 0; i < 150'000; ++i) {
    profile.samples.emplace_back().stack = {static_cast<std::uint32_t>(i)};
    profile.series[0].points.push_back({i, static_cast<double>(i % 7)});
    profile.processes.emplace_back().pid = static_cast<std::int32_t>(i);
    profile.objects.push_back({model::ObjectKind::kFutex, {}, i * 64, 7});
    profile.waits.emplace_back().object = {static_cast<std::uint32_t>(i)};
  }
  auto writer = Writer::create(file.path());
  ASSERT_TRUE(writer->append(profile));
  profile.samples.clear();
  const auto waits = std::move(profile.waits);
  profile.waits.clear();
  const auto points = std::move(profile.series[0].points);
  profile.series[0].points.clear();
  for (std::uint32_t i = 0; i < 100'000; ++i) builder.name_frame({i}, {{"f" + std::to_string(i % 9), "", i}});
  ASSERT_TRUE(writer->finish(profile));
  auto read_back = read(file.path());
  ASSERT_TRUE(read_back) << read_back.error().message;
  EXPECT_EQ(read_back->samples.size(), 150'000u);
  EXPECT_EQ(read_back->series[0].points, points);
  EXPECT_EQ(read_back->waits, waits);
  read_back->samples.clear();
  read_back->waits.clear();
  read_back->series[0].points.clear();
  EXPECT_EQ(*read_back, profile);
}

TEST(Writer, FileIsPrivateAndItsFolderIsCreated) {
  TemporaryFile file;
  const std::string path = file.path() + ".d/target/time.fathom";
  auto writer = Writer::create(path);
  ASSERT_TRUE(writer->append(one_thread_profile()));
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(Writer, ExistingFileIsRejectedWithoutOverwrite) {
  TemporaryFile file;
  ASSERT_TRUE(write_file(file.path(), "precious"));
  auto refused = Writer::create(file.path());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, file.path() + ": there is a file of this name");
  EXPECT_FALSE(refused.error().remedy.empty());
  EXPECT_FALSE(Writer::create(file.path(), {.overwrite = true})) << "this is no recording";
  EXPECT_EQ(file.content(), "precious");
  ASSERT_TRUE(Writer::create(file.path(), {.force = true})->append(one_thread_profile()));
  EXPECT_TRUE(read(file.path()));

  EXPECT_FALSE(Writer::create(file.path())) << "not even a recording";
  ASSERT_TRUE(Writer::create(file.path(), {.overwrite = true})->finish(random_profile(3)));
  EXPECT_EQ(*read(file.path()), random_profile(3));
}

TEST(Writer, ARecordingThatNeverBeganLeavesNothingAndKeepsTheEarlierOne) {
  TemporaryFile file;
  const std::string folder = file.path() + ".d";
  ASSERT_TRUE(Writer::create(folder + "/target/time.fathom"));
  EXPECT_FALSE(std::filesystem::exists(folder));

  ASSERT_TRUE(Writer::create(file.path())->finish(one_thread_profile()));
  ASSERT_TRUE(Writer::create(file.path(), {.overwrite = true}));
  EXPECT_FALSE(read(file.path())->quality.truncated);
}

TEST(Writer, ARecordingRemovedInTheMeantimeIsWrittenAgain) {
  const Profile profile = random_profile(1);
  const std::string folder = ::testing::TempDir() + "fathom-writer-gone", path = folder + "/x.fathom";
  for (const bool with_folder : {false, true}) {
    auto writer = Writer::create(path);
    ASSERT_TRUE(writer && writer->finish(profile) && writer->ensure_there());
    EXPECT_EQ(writer->identity(), identity_of(path));
    with_folder ? std::filesystem::remove_all(folder) : std::filesystem::remove(path);
    ASSERT_TRUE(writer->ensure_there());
    EXPECT_EQ(writer->identity(), identity_of(path));
    EXPECT_EQ(read(path).value(), profile);
    std::filesystem::remove_all(folder);
  }
}

TEST(Writer, ARecordingWhoseNameWasTakenGetsAnotherNameAndTheErrorSaysSo) {
  const Profile profile = random_profile(2);
  const std::string folder = ::testing::TempDir() + "fathom-writer-taken", path = folder + "/x.fathom";
  auto writer = Writer::create(path);
  ASSERT_TRUE(writer && writer->finish(profile));
  std::filesystem::remove(path);
  std::ofstream(path) << "precious";
  std::ofstream(folder + "/x-2.fathom") << "precious, too";
  const auto there = writer->ensure_there();
  ASSERT_FALSE(there);
  EXPECT_EQ(
      there.error().message,
      path + ": another file took this name while recording; the recording is in " + folder + "/x-3.fathom");
  EXPECT_EQ(read_file(path).value(), "precious");
  EXPECT_EQ(read_file(folder + "/x-2.fathom").value(), "precious, too");
  EXPECT_EQ(read(folder + "/x-3.fathom").value(), profile);
  std::filesystem::remove_all(folder);
}

TEST(Writer, NothingIsAppendedToAFinishedRecording) {
  TemporaryFile file;
  auto writer = Writer::create(file.path());
  ASSERT_TRUE(writer->finish(one_thread_profile()));
  EXPECT_FALSE(writer->append(one_thread_profile()));
  EXPECT_FALSE(writer->finish(one_thread_profile()));
  EXPECT_FALSE(read(file.path())->quality.truncated);
}

TEST(Writer, SampleWithAnInvalidIdIsRejectedAndTheFileStaysReadable) {
  TemporaryFile file;
  Profile profile = one_thread_profile();
  auto writer = Writer::create(file.path());
  ASSERT_TRUE(writer->append(profile));
  profile.samples.emplace_back().stack = {99};
  EXPECT_FALSE(writer->append(profile));
  profile.samples[0].stack = {1};
  EXPECT_TRUE(writer->finish(profile));
  EXPECT_EQ(*read(file.path()), profile);
}

TEST(Writer, WaitWithAnInvalidIdOrWithoutWeightIsRejected) {
  TemporaryFile file;
  Profile profile = one_thread_profile();
  auto writer = Writer::create(file.path());
  ASSERT_TRUE(writer->append(profile));
  const auto refused = [&](auto spoil) {
    profile.waits.assign(1, {});
    spoil(profile.waits[0]);
    return !writer->append(profile);
  };
  EXPECT_TRUE(refused([](auto& wait) { wait.thread = {1}; }));
  EXPECT_TRUE(refused([](auto& wait) { wait.waker = {1}; }));
  EXPECT_TRUE(refused([](auto& wait) { wait.stack = {2}; }));
  EXPECT_TRUE(refused([](auto& wait) { wait.waker_stack = {2}; }));
  EXPECT_TRUE(refused([](auto& wait) { wait.object = {1}; }));
  EXPECT_TRUE(refused([](auto& wait) { wait.weight = 0; }));
  EXPECT_TRUE(refused([](auto& wait) {
    wait.start_ns = wait.queued_ns = UINT64_MAX / 2;
    wait.waited_ns = 2;
  }));
  profile.waits.assign(1, {});
  EXPECT_TRUE(writer->finish(profile));
  EXPECT_EQ(*read(file.path()), profile);
}

// Readers of version 1.0 do not know waits, but show the samples.
TEST(Writer, WaitsAreNotRequiredOfAReader) {
  TemporaryFile file;
  Profile profile = one_thread_profile();
  profile.samples.emplace_back();
  profile.waits.emplace_back();
  write_sliced(file.path(), profile, 1);
  std::size_t waits = 0;
  for (const auto& found : blocks_of(file.content())) {
    const bool required = (found.header.flags & kFlagRequired) != 0;
    EXPECT_EQ(required, found.header.type != kWaits && found.header.type != kIndex);
    waits += found.header.type == kWaits ? 1 : 0;
  }
  EXPECT_EQ(waits, 1u);
}

// A limit on the size of files behaves like a full disk: write(2) writes a part, then fails with EFBIG.
class SizeLimit {
 public:
  explicit SizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  SizeLimit(const SizeLimit&) = delete;
  SizeLimit& operator=(const SizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST(Writer, FullDiskIsAnErrorAndALaterAppendWritesEverything) {
  TemporaryFile file;
  const Profile whole = random_profile(11, {.samples = 3000});
  Profile first = whole;
  first.samples.resize(100);
  first.stacks.resize(std::min<std::size_t>(first.stacks.size(), 4));
  first.waits.clear();
  first.calls.clear();
  first.spans.clear();
  first.memory_ranges.clear();
  for (auto& sample : first.samples) sample.stack = {0};
  for (auto& series : first.series) series.points.clear();
  Profile second = whole;
  second.samples.erase(second.samples.begin(), second.samples.begin() + 100);
  ASSERT_FALSE(second.samples.empty());

  auto writer = Writer::create(file.path());
  ASSERT_TRUE(writer->append(first));
  const std::string before = file.content();
  for (const rlim_t room : {0u, 1u, 30u, 100u, 500u}) {
    SizeLimit limit(before.size() + room);
    auto failed = writer->append(second);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().kind, ErrorKind::kSystem);
    EXPECT_NE(failed.error().message.find(file.path()), std::string::npos);
    EXPECT_FALSE(writer->finish(second));
    EXPECT_EQ(file.content(), before);
    auto read_back = read(file.path());
    ASSERT_TRUE(read_back);
    EXPECT_EQ(read_back->samples, first.samples);
  }
  ASSERT_TRUE(writer->finish(second));
  Profile expected = whole;
  for (int i = 0; i < 100; ++i) expected.samples[i].stack = {0};
  EXPECT_EQ(*read(file.path()), expected);
}

TEST(Writer, NoSpaceAtTheStartIsAnErrorAtOnceAndLeavesNothing) {
  TemporaryFile file;
  const SizeLimit limit(0);
  auto writer = Writer::create(file.path());
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().message, file.path() + ": File too large");
  EXPECT_FALSE(std::filesystem::exists(file.path()));
}

TEST(Writer, ADeviceOrAPipeIsRejectedAndNotReplaced) {
  auto device = Writer::create("/dev/full", {.overwrite = true, .force = true});
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().message, "/dev/full: this is a device, not a regular file");
  TemporaryFile file;
  ASSERT_EQ(::mkfifo(file.path().c_str(), 0600), 0);
  auto pipe = Writer::create(file.path(), {.overwrite = true, .force = true});
  ASSERT_FALSE(pipe);
  EXPECT_EQ(pipe.error().message, file.path() + ": this is a pipe, not a regular file");
  EXPECT_TRUE(std::filesystem::is_fifo(file.path()));
}

TEST(Writer, RegularSamplesTakeAFewBytes) {
  // 20 s of 4 threads at 999 Hz on two CPUs, 300 stacks of different frequency, some microseconds of jitter.
  TemporaryFile file;
  Profile profile;
  model::Builder builder(profile);
  profile.meta.frequency_hz = 999;
  profile.processes.emplace_back().pid = 7;
  profile.threads.resize(4);
  std::mt19937_64 random(1);
  model::StackId stack;
  for (std::uint32_t i = 0; i < 300; ++i)
    stack = builder.stack(i % 10 == 0 ? model::StackId{} : stack,
                          builder.frame({0}, {0x1000 + random() % 100'000}));
  auto writer = Writer::create(file.path());
  std::size_t samples = 0;
  for (std::uint64_t second = 0; second < 20; ++second) {
    profile.samples.clear();
    for (std::uint64_t beat = 0; beat < 999; ++beat) {
      for (std::uint16_t cpu = 0; cpu < 2; ++cpu) {
        auto& sample = profile.samples.emplace_back();
        sample.time_ns = 1'000'000'000'000 + (second * 999 + beat) * 1'001'001 + random() % 8000;
        sample.cpu = cpu;
        sample.thread = {static_cast<std::uint32_t>(cpu + 2 * (beat / 100 % 2))};
        const double popularity = static_cast<double>(random() % 1000) / 1000;
        sample.stack = {1 + static_cast<std::uint32_t>(299 * popularity * popularity * popularity)};
        sample.end = 1;
      }
    }
    samples += profile.samples.size();
    profile.quality.samples = samples;
    ASSERT_TRUE(writer->append(profile));
  }
  profile.samples.clear();
  ASSERT_TRUE(writer->finish(profile));
  EXPECT_EQ(read(file.path())->samples.size(), samples);
  const double per_sample = static_cast<double>(writer->bytes_written()) / static_cast<double>(samples);
  RecordProperty("bytes_per_sample", std::to_string(per_sample));
  EXPECT_LT(per_sample, 4.0);
}

TEST(Writer, WaitsTakeLessThanTwentyBytes) {
  // 10 s of 16 workers that take from a queue (futex, waking each other) and write to one of four files.
  // Nothing is regular: each runs, waits and queues for a random time.
  TemporaryFile file;
  Profile profile;
  model::Builder builder(profile);
  profile.processes.emplace_back().pid = 7;
  profile.threads.resize(16);
  std::mt19937_64 random(1);
  const auto about = [&](double mean_ns) {
    return static_cast<std::uint64_t>(std::exponential_distribution<double>(1 / mean_ns)(random));
  };
  model::StackId stack;
  for (std::uint32_t i = 0; i < 50; ++i)
    stack = builder.stack(i % 10 == 0 ? model::StackId{} : stack, builder.frame({0}, {0x1000 + i * 64}));
  for (std::uint64_t i = 0; i < 4; ++i)
    profile.objects.push_back({model::ObjectKind::kFutex, {}, 0x7f00'0000'1000 + i * 96, 7});
  for (int i = 0; i < 4; ++i)
    profile.objects.push_back({model::ObjectKind::kFile, builder.string("/data/" + std::to_string(i)), 0, 0});
  auto writer = Writer::create(file.path());
  std::vector<std::uint64_t> now(16, 1'000'000'000'000);
  std::size_t waits = 0;
  for (std::uint64_t second = 1; second <= 10; ++second) {
    profile.waits.clear();
    for (std::uint32_t thread = 0; thread < 16; ++thread) {
      while (now[thread] < 1'000'000'000'000 + second * 1'000'000'000) {
        auto& wait = profile.waits.emplace_back();
        const bool futex = random() % 3 != 0;
        wait.start_ns = now[thread] + about(200'000);
        wait.waited_ns = about(futex ? 3e6 : 5e5);
        wait.queued_ns = about(2e4);
        now[thread] = wait.start_ns + wait.waited_ns + wait.queued_ns;
        wait.thread = {thread};
        wait.stack = {static_cast<std::uint32_t>(1 + (futex ? 0 : 20) + random() % 20)};
        wait.state = futex ? model::WaitState::kInterruptible : model::WaitState::kUninterruptible;
        wait.system_call = futex ? 202 : 75;
        wait.argument = futex ? 0x189 : 0;
        wait.object = {static_cast<std::uint32_t>(1 + (futex ? 0 : 4) + random() % 4)};
        if (futex) wait.waker = {static_cast<std::uint32_t>(random() % 16)};
        if (futex && wait.waited_ns > 1'000'000) wait.waker_stack = {40};
        wait.end = 1;
      }
    }
    // In order of arrival.
    std::ranges::sort(profile.waits, {}, [](const auto& wait) { return end_of(wait); });
    waits += profile.waits.size();
    profile.quality.waits = waits;
    ASSERT_TRUE(writer->append(profile));
  }
  profile.waits.clear();
  ASSERT_TRUE(writer->finish(profile));
  EXPECT_EQ(read(file.path())->waits.size(), waits);
  const double per_wait = static_cast<double>(writer->bytes_written()) / static_cast<double>(waits);
  RecordProperty("bytes_per_wait", std::to_string(per_wait));
  EXPECT_LT(per_wait, 20.0);
}

}  // namespace
}  // namespace fathom::store
