#include "watch/look.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "sources/memory/memory_reading.h"

namespace fathom::watch {
namespace {

constexpr std::size_t kMiB = 1 << 20;

// Since 6.16 status adds its counters up exactly.
bool status_is_exact() {
  utsname name{};
  int major = 0, minor = 0;
  return ::uname(&name) == 0 && std::sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
         (major > 6 || (major == 6 && minor >= 16));
}

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
  }
  ~Child() {
    if (pid_ > 0) end();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  void end() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  int pid() const { return pid_; }

 private:
  pid_t pid_;
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
  if (!sources::has_page_scan()) GTEST_SKIP() << "this kernel has no PAGEMAP_SCAN";
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
    if (status_is_exact()) {
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

// A database that maps terabytes: RSS is small, and the tables of the pages are not.
TEST(Look, PageTablesOfASparseMappingAreBesideRss) {
  if (!sources::has_page_scan()) GTEST_SKIP() << "this kernel has no PAGEMAP_SCAN";
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
  auto watched = Watched::open(child.pid());
  if (!watched) GTEST_SKIP() << "5 TiB of addresses are not to be had";
  const auto look = watched->look(true);
  if (!look) GTEST_SKIP() << "5 TiB of addresses are not to be had";
  EXPECT_GE(look->figures.page_tables, kTables * 2 * 4096);
  EXPECT_GE(look->figures.virtual_size, std::uint64_t{5} << 40);
  EXPECT_GE(bytes_of(*look->composition, "anonymous"), kTables * 4096);
  EXPECT_LT(look->figures.rss, 100 * kMiB);
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
  EXPECT_EQ(first->composition != asked->composition, sources::has_page_scan());
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
  const auto mappings = Watched::open(child.pid()).value().mappings();
  ASSERT_TRUE(mappings) << mappings.error().message;
  ASSERT_GT(mappings->size(), 3u);
  EXPECT_GE(mappings->front().mapping.rss, 32 * kMiB);
  for (std::size_t i = 1; i < mappings->size(); ++i)
    EXPECT_GE((*mappings)[i - 1].mapping.rss, (*mappings)[i].mapping.rss);
}

}  // namespace
}  // namespace fathom::watch
