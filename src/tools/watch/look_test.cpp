#include "tools/watch/look.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <future>
#include <string>

#include "linux/memory/testing_kernel.h"

namespace fathom::watch {
namespace {

constexpr std::size_t kMiB = 1 << 20;

class Child {
 public:
  explicit Child(void (*live)()) {
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      live();
      for (;;) ::raise(SIGSTOP);
    }
    int status = 0;
    ::waitpid(pid_, &status, WUNTRACED);
    lives_ = WIFSTOPPED(status);
  }
  ~Child() {
    if (pid_ > 0 && lives_) end();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  void end() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  int pid() const { return pid_; }
  bool lives() const { return lives_; }

 private:
  pid_t pid_;
  bool lives_ = false;
};

void touch(void* start, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += 4096) static_cast<volatile char*>(start)[i] = 1;
}

std::uint64_t bytes_of(const Composition& composition, std::string_view kind,
                       std::string_view name_part = "") {
  std::uint64_t sum = 0;
  for (const analysis::MemoryLine& line : composition.lines.lines)
    if (line.kind == kind && line.name.find(name_part) != std::string::npos) sum += line.bytes;
  return sum;
}

TEST(Look, OfAStoppedProcessNothingIsUnexplained) {
  FATHOM_NEEDS_PAGE_SCAN();
  Child child([] {
    touch(::mmap(nullptr, 16 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 16 * kMiB);
    const int memory = ::memfd_create("rings", 0);
    if (::ftruncate(memory, 8 * kMiB) == 0)
      touch(::mmap(nullptr, 8 * kMiB, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0), 4 * kMiB);
  });
  auto watched = Watched::open(child.pid());
  ASSERT_TRUE(watched) << watched.error().message;
  // The kernel may take pages of files from a process that stands still: then it is looked at again.
  for (int attempt = 0; attempt < 20; ++attempt) {
    const auto look = watched->look(true);
    ASSERT_TRUE(look) << look.error().message;
    ASSERT_NE(look->composition, nullptr);
    const Composition& composition = *look->composition;
    EXPECT_EQ(composition.way, Way::kPageScan);
    if (composition.moved) continue;
    EXPECT_EQ(composition.lines.rss_bytes, look->figures.rss);
    if (sources::kernel_tells_rss_exactly()) {
      EXPECT_EQ(composition.lines.unexplained_bytes, 0);
    }
    EXPECT_EQ(bytes_of(composition, "memfd", "rings"), 4 * kMiB);
    EXPECT_GE(bytes_of(composition, "anonymous"), 16 * kMiB);
    EXPECT_GT(bytes_of(composition, "code", "libc"), 0u);
    EXPECT_GT(bytes_of(composition, "main-stack"), 0u);
    EXPECT_TRUE(watched->missing().empty() || watched->missing()[0].starts_with("pressure"));
    EXPECT_FALSE(look->limits.limits.empty());
    return;
  }
  FAIL() << "it moved at each look";
}

TEST(Look, HugePagesAreReportedAndCountedOnce) {
  FATHOM_NEEDS_PAGE_SCAN();
  Child child([] {
    void* start = ::mmap(nullptr, 32 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ::madvise(start, 32 * kMiB, MADV_HUGEPAGE);
    touch(start, 32 * kMiB);
  });
  auto watched = Watched::open(child.pid());
  ASSERT_TRUE(watched) << watched.error().message;
  const auto look = watched->look(true);
  ASSERT_TRUE(look) << look.error().message;
  std::uint64_t huge = 0;
  for (const analysis::MemoryLine& line : look->composition->lines.lines) {
    EXPECT_LE(line.huge_bytes, line.bytes);
    huge += line.huge_bytes;
  }
  EXPECT_GE(bytes_of(*look->composition, "anonymous"), 32 * kMiB);
  EXPECT_LE(huge, look->composition->lines.rss_bytes);
  EXPECT_LE(bytes_of(*look->composition, "anonymous"), look->composition->lines.rss_bytes);
}

TEST(Look, AMappedDatabaseIsALineThatTheKernelTakesBack) {
  FATHOM_NEEDS_PAGE_SCAN();
  static std::string file;
  file = testing::TempDir() + "watched-database-XXXXXX";
  const int database = ::mkstemp(file.data());
  ASSERT_GE(database, 0);
  ASSERT_EQ(::ftruncate(database, 64 * kMiB), 0);
  Child child([] {
    const int own = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
    char* start = static_cast<char*>(::mmap(nullptr, 64 * kMiB, PROT_READ | PROT_WRITE, MAP_SHARED, own, 0));
    for (std::size_t at = 0; at < 64 * kMiB; at += kMiB) touch(start + at, 64 * 1024);
  });
  auto watched = Watched::open(child.pid());
  ASSERT_TRUE(watched) << watched.error().message;
  const auto look = watched->look(true);
  ASSERT_TRUE(look) << look.error().message;
  ::unlink(file.c_str());
  ::close(database);
  const auto& lines = look->composition->lines.lines;
  const auto line =
      std::find_if(lines.begin(), lines.end(), [&](const auto& one) { return one.name == file; });
  ASSERT_NE(line, lines.end());
  EXPECT_EQ(line->kind, "file");
  EXPECT_TRUE(line->reclaimable);
  EXPECT_EQ(line->virtual_bytes, 64 * kMiB);
  EXPECT_GT(line->bytes, 0u);
  EXPECT_LE(line->bytes, 64 * kMiB);
}

// A database that maps terabytes: RSS is small, and the tables of the pages are not.
TEST(Look, PageTablesOfASparseMappingAreNotInRss) {
  FATHOM_NEEDS_PAGE_SCAN();
  static constexpr std::size_t kTables = 2000;  // one page of them for each 2 MiB
  Child child([] {
    void* start = ::mmap(nullptr, std::size_t{5} << 40, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) ::_exit(1);
    ::madvise(start, std::size_t{5} << 40, MADV_NOHUGEPAGE);
    for (std::size_t i = 0; i < kTables; ++i)
      static_cast<volatile char*>(start)[i * (std::size_t{1} << 31)] =
          1;  // 2 GiB apart: each has tables of its own
  });
  if (!child.lives()) GTEST_SKIP() << "5 TiB of addresses are not to be had here";
  auto watched = Watched::open(child.pid());
  ASSERT_TRUE(watched) << watched.error().message;
  const auto look = watched->look(true);
  ASSERT_TRUE(look) << look.error().message;
  EXPECT_GE(look->figures.page_tables, kTables * 2 * 4096);
  EXPECT_GE(look->figures.virtual_size, std::uint64_t{5} << 40);
  EXPECT_GE(bytes_of(*look->composition, "anonymous"), kTables * 4096);
  EXPECT_LT(look->figures.rss, std::uint64_t{1} << 30);
}

TEST(Look, OfAProcessThatHasEndedIsNotFound) {
  Child child([] {});
  auto watched = Watched::open(child.pid());
  ASSERT_TRUE(watched);
  ASSERT_TRUE(watched->look(false));
  child.end();
  EXPECT_EQ(watched->look(false).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(Watched::open(99'999'999).error().kind, ErrorKind::kNotFound);
}

TEST(Look, TheCompositionIsReadWhenItIsDueOrAskedFor) {
  auto watched = Watched::open(::getpid());
  ASSERT_TRUE(watched);
  const auto first = watched->look(true);
  ASSERT_TRUE(first);
  const auto asked = watched->look(true);
  ASSERT_TRUE(asked);
  EXPECT_NE(first->composition, nullptr);
  EXPECT_EQ(first->composition != asked->composition, sources::kernel_scans_pages());
}

TEST(Look, AnotherProgramInTheProcessHasItsOwnName) {
  Child child([] {
    ::raise(SIGSTOP);
    ::execl("/bin/sleep", "sleep", "600", nullptr);
  });
  auto watched = Watched::open(child.pid());
  ASSERT_TRUE(watched);
  ASSERT_TRUE(watched->look(true));
  EXPECT_NE(watched->process().name, "sleep");
  ::kill(child.pid(), SIGCONT);
  for (int i = 0; i < 600 && watched->process().name != "sleep"; ++i) {
    ::usleep(100'000);
    ASSERT_TRUE(watched->look(false));
  }
  EXPECT_EQ(watched->process().name, "sleep");
  const auto look = watched->look(false);
  ASSERT_TRUE(look);
  if (sources::kernel_scans_pages()) {
    EXPECT_GT(bytes_of(*look->composition, "code", "sleep"), 0u) << "the lines are those of the new program";
  }
}

TEST(Look, WhatDoesNotComeBackIsWaitedForOnceAndLeft) {
  FATHOM_NEEDS_PAGE_SCAN();
  std::promise<void> promise;
  const std::shared_future<void> come = promise.get_future().share();
  class Hanging : public allocators::MemoryReader {
   public:
    explicit Hanging(std::shared_future<void> come) : come_(std::move(come)) {}
    bool read(std::uint64_t, std::span<std::byte>) override {
      come_.wait();
      return false;
    }

   private:
    std::shared_future<void> come_;
  };
  std::atomic<int> readers = 0;  // counted by the thread that reads
  auto watched = Watched::open(::getpid(), {.records = [&](std::int32_t) {
                                 ++readers;
                                 return std::make_unique<Hanging>(come);
                               }});
  ASSERT_TRUE(watched);
  for (int i = 0; i < 3; ++i) {
    const auto look = watched->look(true);
    ASSERT_TRUE(look);
    EXPECT_EQ(look->composition->way, Way::kPageScan) << "what the map and the pages tell";
    EXPECT_FALSE(look->composition->lines.lines.empty());
  }
  EXPECT_EQ(readers, 1);
  ASSERT_FALSE(watched->missing().empty());
  EXPECT_NE(watched->missing().back().find("did not arrive"), std::string::npos);
  promise.set_value();
}

// As a file of a file system that the target serves itself, and that never answers.
TEST(Look, AFileThatDoesNotAnswerIsAskedOnceAndLeft) {
  FATHOM_NEEDS_PAGE_SCAN();
  std::promise<void> promise;
  const std::shared_future<void> come = promise.get_future().share();
  const auto asked = std::make_shared<std::atomic<int>>(0);
  auto watched =
      Watched::open(::getpid(), {.files = [come, asked](std::int32_t, const std::vector<process::MapEntry>&,
                                                        bool) -> std::optional<sources::FileAnswers> {
                      ++*asked;
                      come.wait();
                      return std::nullopt;
                    }});
  ASSERT_TRUE(watched);
  for (int i = 0; i < 3; ++i) {
    const auto look = watched->look(true);
    ASSERT_TRUE(look);
    EXPECT_EQ(look->composition->way, Way::kPageScan) << "what the map and the pages tell";
    EXPECT_GT(bytes_of(*look->composition, "code"), 0u);
  }
  EXPECT_TRUE(watched->mappings());
  EXPECT_EQ(*asked, 1);
  ASSERT_FALSE(watched->missing().empty());
  EXPECT_NE(watched->missing().back().find("does not respond"), std::string::npos);
  promise.set_value();
}

// Otherwise a user who may not read the pages would retry it at each reading.
TEST(Look, AReadingInVainIsPaidForLikeAnyOther) {
  constexpr uid_t kNobody = 65534;
  const uid_t me = ::geteuid();
  if (me == 0) {
    ASSERT_EQ(::seteuid(kNobody), 0);
  }
  auto watched = Watched::open(1);
  const auto look = watched ? watched->look(true) : Result<Look>(tl::unexpected<Error>(watched.error()));
  ASSERT_EQ(::seteuid(me), 0);
  ASSERT_TRUE(look) << look.error().message;
  if (look->composition->way != Way::kStatus) GTEST_SKIP() << "needs a first process of another user";
  EXPECT_GT(look->composition->took_ns, 0u);
}

TEST(Look, WhoMayNotSeeTheMappingsHasThreeLines) {
  Figures figures;
  figures.anonymous = 5000;
  figures.file = 9000;
  figures.shared = 100;
  figures.rss = 14100;
  const analysis::MemoryLines lines = lines_of_status(figures);
  ASSERT_EQ(lines.lines.size(), 3u);
  EXPECT_EQ(lines.lines[0].name, "files");
  EXPECT_EQ(lines.unexplained_bytes, 0);
}

TEST(Look, MappingsAreMostResidentFirst) {
  Child child([] {
    touch(::mmap(nullptr, 32 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 32 * kMiB);
  });
  auto mappings = Watched::open(child.pid()).value().mappings();
  ASSERT_TRUE(mappings) << mappings.error().message;
  ASSERT_GT(mappings->size(), 3u);
  sort_mappings(*mappings, MappingOrder::kResident);
  EXPECT_GE(mappings->front().judged.mapping.rss, 32 * kMiB);
  ASSERT_TRUE(mappings->front().sharing);
  EXPECT_GE(mappings->front().sharing->dirty, 32 * kMiB) << "it was written to";
  for (std::size_t i = 1; i < mappings->size(); ++i)
    EXPECT_GE((*mappings)[i - 1].judged.mapping.rss, (*mappings)[i].judged.mapping.rss);
}

}  // namespace
}  // namespace fathom::watch
