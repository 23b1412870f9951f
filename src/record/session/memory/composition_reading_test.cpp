// This test's own process is the target.
#include "record/session/memory/composition_reading.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <numeric>
#include <set>
#include <thread>

#include "base/abandonable.h"
#include "base/clock.h"
#include "linux/memory/testing_kernel.h"
#include "record/session/memory/memory_snapshots.h"

namespace fathom::session {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// The memory of a process of which a page does not come until it is let in.
class Hanging {
 public:
  MakeReader reader() {
    return [come = come_](std::int32_t) { return std::make_unique<Reader>(come); };
  }
  void let_come() {
    if (!std::exchange(came_, true)) promise_.set_value();
  }
  ~Hanging() { let_come(); }

 private:
  class Reader : public allocators::MemoryReader {
   public:
    explicit Reader(std::shared_future<void> come) : come_(std::move(come)) {}
    bool read(std::uint64_t, std::span<std::byte>) override {
      come_.wait();
      return false;
    }

   private:
    std::shared_future<void> come_;
  };
  bool came_ = false;
  std::promise<void> promise_;
  std::shared_future<void> come_ = promise_.get_future().share();
};

struct NoWalker : WalkerControl {
  void set_mappings(std::int32_t, std::span<const unwind_mapping>, std::uint32_t) override {}
  void forget(std::int32_t) override {}
  std::uint32_t epoch_after_exec(std::int32_t, std::uint32_t known) override { return known + 1; }
};

class Snapshots : public testing::Test {
 protected:
  void SetUp() override {
    FATHOM_NEEDS_PAGE_SCAN();
    table_.expect_exec(::getpid(), 1);
    table_.apply(sources::ProcessExeced{2, ::getpid(), ::getpid(), "test"});
  }
  std::uint64_t rss_of_rows() const {
    return std::accumulate(
        profile_.memory_ranges.begin(), profile_.memory_ranges.end(), std::uint64_t{0},
        [](std::uint64_t sum, const model::MemoryRange& row) { return sum + row.rss_bytes; });
  }
  bool has(model::MemoryKind kind) const {
    return std::any_of(profile_.memory_ranges.begin(), profile_.memory_ranges.end(),
                       [&](const model::MemoryRange& row) { return row.kind == kind; });
  }

  const std::vector<std::int32_t> self_{::getpid()};
  model::Profile profile_;
  model::Builder builder_{profile_};
  symbolize::Worker symbols_{symbolize::Options{}};
  ModuleCatalog modules_{builder_, symbols_,
                         [](const unwind::Table&) { return std::optional<sources::TableSlot>(); }};
  NoWalker walker_;
  ProcessTable table_{profile_, modules_, walker_, true};
};

TEST_F(Snapshots, RecordingGoesOnWhileThePageOfATargetDoesNotCome) {
  Hanging hanging;
  MemorySnapshots snapshots(profile_, builder_, table_, hanging.reader());
  const std::uint64_t begun = monotonic_ns();
  for (int i = 0; i < 20; ++i) snapshots.sample(begun + static_cast<std::uint64_t>(i) * 1000, self_, nullptr);
  EXPECT_TRUE(profile_.memory_ranges.empty()) << "the reading hangs; nobody waited for it";
  snapshots.finish(monotonic_ns(), self_, nullptr);
  EXPECT_GT(rss_of_rows(), 1u << 20) << "what the map and the pages tell is told";
  EXPECT_TRUE(has(model::MemoryKind::kFile));
  EXPECT_FALSE(has(model::MemoryKind::kNotSplit)) << "what was read before is better than the sum alone";
  const auto notes = snapshots.take_notes();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("a page did not arrive"), std::string::npos) << notes[0];
}

TEST_F(Snapshots, OfOneThatHangsThereIsNoSecondReading) {
  Hanging hanging;
  std::atomic<int> readers = 0;  // counted by the thread that reads
  MemorySnapshots snapshots(profile_, builder_, table_, [&](std::int32_t pid) {
    ++readers;
    return hanging.reader()(pid);
  });
  std::uint64_t now = monotonic_ns();
  const std::uint64_t until = now + 30 * kSecond;
  snapshots.sample(now, self_, nullptr);
  while (profile_.memory_ranges.empty() && monotonic_ns() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    snapshots.sample(monotonic_ns(), self_, nullptr);
  }
  EXPECT_TRUE(has(model::MemoryKind::kFile));
  for (int i = 1; i < 10; ++i)
    snapshots.sample(now + static_cast<std::uint64_t>(i) * 1000 * kSecond, self_, nullptr);
  EXPECT_EQ(readers, 1);
  EXPECT_TRUE(has(model::MemoryKind::kNotSplit)) << "after it, as a whole";
}

// As a file of a file system that the target serves itself, and that never answers.
class SilentFile {
 public:
  sources::AskFiles ask() {
    return [come = come_, asked = asked_](std::int32_t, const std::vector<process::MapEntry>&,
                                          bool) -> std::optional<sources::FileAnswers> {
      ++*asked;
      come.wait();
      return std::nullopt;
    };
  }
  int asked() const { return *asked_; }
  ~SilentFile() { promise_.set_value(); }

 private:
  std::promise<void> promise_;
  std::shared_future<void> come_ = promise_.get_future().share();
  std::shared_ptr<std::atomic<int>> asked_ = std::make_shared<std::atomic<int>>(0);
};

TEST_F(Snapshots, AFileThatDoesNotAnswerCostsItsAnswerAlone) {
  SilentFile silent;
  MemorySnapshots snapshots(profile_, builder_, table_, reader_of_processes(), silent.ask());
  const std::uint64_t until = monotonic_ns() + 30 * kSecond;
  while (profile_.memory_ranges.empty() && monotonic_ns() < until) {
    snapshots.sample(monotonic_ns(), self_, nullptr);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(has(model::MemoryKind::kFile));
  EXPECT_FALSE(has(model::MemoryKind::kNotSplit));
  EXPECT_EQ(silent.asked(), 1);
  const auto notes = snapshots.take_notes();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("does not respond"), std::string::npos) << notes[0];
}

TEST_F(Snapshots, AFileThatDoesNotAnswerAtTheEndDoesNotTakeTheLastReading) {
  SilentFile silent;
  MemorySnapshots snapshots(profile_, builder_, table_, reader_of_processes(), silent.ask());
  snapshots.sample(monotonic_ns(), self_, nullptr);
  EXPECT_TRUE(profile_.memory_ranges.empty());
  snapshots.finish(monotonic_ns(), self_, nullptr);
  EXPECT_TRUE(has(model::MemoryKind::kFile));
  EXPECT_GT(rss_of_rows(), 1u << 20);
}

TEST_F(Snapshots, AFileThatDoesNotAnswerInTheLastReadingIsLeftOutOfAnotherOne) {
  SilentFile silent;
  MemorySnapshots snapshots(profile_, builder_, table_, reader_of_processes(), silent.ask());
  snapshots.finish(monotonic_ns(), self_, nullptr);
  EXPECT_TRUE(has(model::MemoryKind::kFile));
  EXPECT_EQ(silent.asked(), 1);
}

TEST_F(Snapshots, ReadingThatComesBackIsCollected) {
  MemorySnapshots snapshots(profile_, builder_, table_);
  snapshots.sample(monotonic_ns(), self_, nullptr);
  snapshots.finish(monotonic_ns(), self_, nullptr);
  EXPECT_GT(rss_of_rows(), 1u << 20);
  EXPECT_TRUE(has(model::MemoryKind::kFile));
}

TEST_F(Snapshots, MoreProcessesThanAreReadAtOnceAreAllReported) {
  std::vector<std::int32_t> pids;
  for (int i = 0; i < 3 * kMostAbandonable; ++i) {
    const pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0)
      for (;;) ::pause();
    pids.push_back(pid);
    table_.expect_exec(pid, 1);
    table_.apply(sources::ProcessExeced{2, pid, pid, "child"});
  }
  std::ranges::sort(pids);
  MemorySnapshots snapshots(profile_, builder_, table_);
  const auto told = [&] {
    std::set<std::uint32_t> processes;
    for (const model::MemoryRange& row : profile_.memory_ranges)
      if (row.kind == model::MemoryKind::kFile) processes.insert(row.process.value);
    return processes.size();
  };
  const std::uint64_t until = monotonic_ns() + 30 * kSecond;
  while (told() < pids.size() && monotonic_ns() < until) {
    snapshots.sample(monotonic_ns(), pids, nullptr);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(told(), pids.size());
  EXPECT_FALSE(has(model::MemoryKind::kNotSplit));
  EXPECT_THAT(snapshots.take_notes(), testing::IsEmpty());
  for (const std::int32_t pid : pids) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
}

TEST(ReadHeldInTime, IsGivenUpWhereAPageDoesNotCome) {
  Hanging hanging;
  const auto maps = process::read_maps(::getpid());
  ASSERT_TRUE(maps.has_value());
  const allocators::AddressRanges all({{4096, allocators::kAddressLimit}});
  const HeldInTime held = read_held_in_time(::getpid(), *maps, all, hanging.reader());
  EXPECT_FALSE(held.states);
  EXPECT_TRUE(held.hangs);
}

}  // namespace
}  // namespace fathom::session
