#include "record/session/tracking/row_book.h"

#include <gtest/gtest.h>

namespace fathom::session {
namespace {

struct RowBookTest : testing::Test {
  RowBook::ProcessRow process(std::int32_t pid, std::string_view name, const Life& life = {}) {
    return book.assign(ProcessFacts{pid, 1, 5, name, "/usr/bin/make", false}, life);
  }
  RowBook::ThreadRow thread(const RowBook::ProcessRow& of, std::int32_t tid, std::string_view name,
                            const Life& life = {}) {
    return book.assign(of, ThreadFacts{tid, 5, name}, life);
  }
  std::string name_of(const RowBook::ProcessRow& row) {
    return std::string(profile.strings[profile.processes.at(row.id.value).name]);
  }

  model::Profile profile;
  RowLimits limits{.own_processes = 2,
                   .own_threads = 2,
                   .long_life_ns = 100,
                   .many_events = 10,
                   .most_processes = 16,
                   .most_threads = 16};
  RowBook book{profile, limits};
};

TEST_F(RowBookTest, TheFirstProcessesOfAProgramHaveRowsOfTheirOwnAndTheOthersShareOne) {
  const auto first = process(10, "cc"), second = process(11, "cc"), third = process(12, "cc"),
             fourth = process(13, "cc");
  EXPECT_FALSE(first.shared);
  EXPECT_FALSE(second.shared);
  EXPECT_NE(first.id, second.id);
  EXPECT_TRUE(third.shared);
  EXPECT_EQ(third.id, fourth.id);
  EXPECT_EQ(profile.processes[third.id.value].pid, 0);
  EXPECT_FALSE(process(14, "ld").shared);
  EXPECT_EQ(book.shared().processes, 2u);
}

TEST_F(RowBookTest, NameOfASharedRowSaysForHowManyItStands) {
  process(10, "cc"), process(11, "cc");
  const auto shared = process(12, "cc");
  EXPECT_EQ(name_of(shared), "cc (1 process or more)");
  for (std::int32_t i = 0; i < 1999; ++i) process(100 + i, "cc");
  EXPECT_EQ(name_of(shared), "cc (1,024 processes or more)");
  book.name_shared_rows();
  EXPECT_EQ(name_of(shared), "cc (2,000 processes)");
}

TEST_F(RowBookTest, WhoLivesLongOrIsSeenOftenHasItsOwn) {
  process(10, "cc"), process(11, "cc");
  EXPECT_TRUE(process(12, "cc", {99, 9}).shared);
  EXPECT_FALSE(process(12, "cc", {100, 0}).shared);
  EXPECT_FALSE(process(13, "cc", {0, 10}).shared);
}

TEST_F(RowBookTest, WhoWasAskedForHasItsOwn) {
  process(10, "cc"), process(11, "cc");
  EXPECT_FALSE(book.assign(ProcessFacts{12, 1, 5, "cc", "", true}, Life()).shared);
}

TEST_F(RowBookTest, ThreadsOfOneNameShareARowOfTheirProcess) {
  const auto here = process(10, "server"), there = process(11, "server");
  thread(here, 20, "worker"), thread(here, 21, "worker");
  const auto third = thread(here, 22, "worker"), fourth = thread(here, 23, "worker");
  EXPECT_TRUE(third.shared);
  EXPECT_EQ(third.id, fourth.id);
  EXPECT_EQ(profile.threads[third.id.value].tid, 0);
  EXPECT_EQ(profile.threads[third.id.value].process, here.id);
  EXPECT_FALSE(thread(here, 24, "other").shared);
  EXPECT_FALSE(thread(there, 25, "worker").shared);
  EXPECT_FALSE(thread(here, 26, "worker", {100, 0}).shared);
}

TEST_F(RowBookTest, ThreadsOfProcessesThatShareARowShareRowsToo) {
  process(10, "cc"), process(11, "cc");
  const auto shared = process(12, "cc");
  const auto main = thread(shared, 12, "cc");
  EXPECT_TRUE(main.shared);
  EXPECT_EQ(thread(process(13, "cc"), 13, "cc").id, main.id);
}

TEST_F(RowBookTest, NoNumberOfProgramsOrThreadNamesMakesMoreRowsThanTheLimits) {
  for (std::int32_t i = 0; i < 1000; ++i) {
    const auto row = process(100 + i, "program " + std::to_string(i), {1000, 1000});
    for (std::int32_t t = 0; t < 3; ++t)
      thread(row, 10'000 + 3 * i + t, "thread " + std::to_string(t), {1000, 1000});
  }
  EXPECT_LE(profile.processes.size(), limits.most_processes + 1);  // and "(others)"
  EXPECT_LE(profile.threads.size(), limits.most_threads + 1);
  EXPECT_LE(book.remembered(), 64u);
  EXPECT_LE(profile.strings.size(), 100u);
}

TEST_F(RowBookTest, AProgramThatHasHadItsRowsEndsTheRowOfWhoExecutesIt) {
  process(10, "cc"), process(11, "cc");
  const auto shell = process(12, "sh");
  EXPECT_FALSE(book.executes(shell, ProcessFacts{12, 1, 5, "cc", "", false}, 77));
  EXPECT_EQ(profile.processes[shell.id.value].end_ns, 77u);
  EXPECT_EQ(name_of(shell), "sh");
  const auto other = process(13, "sh");
  EXPECT_TRUE(book.executes(other, ProcessFacts{13, 1, 5, "ld", "", false}, 78));
  EXPECT_EQ(name_of(other), "ld");
}

TEST_F(RowBookTest, ChangedRowsAreReportedOnceAndInOrder) {
  const auto a = process(10, "a"), b = process(11, "b");
  book.written();
  EXPECT_TRUE(book.changed().processes.empty());
  book.end(b, 7);
  book.end(a, 7);
  book.end(b, 8);
  EXPECT_EQ(book.changed().processes, (std::vector<std::uint32_t>{a.id.value, b.id.value}));
  book.written();
  EXPECT_TRUE(book.changed().processes.empty());
}

}  // namespace
}  // namespace fathom::session
