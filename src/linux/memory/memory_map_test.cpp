#include "linux/memory/memory_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "base/files.h"

namespace fathom::sources {
namespace {

// As the kernel writes it (6.18), shortened to the fields that differ.
std::string mapping(const std::string& head, int size, int rss, int anonymous, const std::string& more = "") {
  const auto field = [](const char* name, int value) {
    return std::string(name) + "       " + std::to_string(value) + " kB\n";
  };
  return head + "\n" + field("Size:   ", size) +
         "KernelPageSize:        4 kB\nMMUPageSize:           4 kB\n" + field("Rss:    ", rss) +
         field("Pss:    ", rss) + field("Pss_Dirty:", rss) + field("Shared_Clean:", 0) +
         field("Private_Dirty:", rss) + field("Anonymous:", anonymous) + field("KSM:", 0) +
         field("LazyFree:", 0) + more + "THPeligible:           0\nVmFlags: rd wr mr mw me ac \n";
}

const std::string kServer =
    mapping("55d0c0000000-55d0c0100000 r-xp 00000000 fe:00 1234                       /usr/bin/server", 1024,
            800, 0) +
    mapping("55d0c0100000-55d0c0102000 rw-p 00100000 fe:00 1234                       /usr/bin/server", 8, 8,
            8) +
    mapping("55d0c0102000-55d0c0902000 rw-p 00000000 00:00 0 ", 8192, 4096, 4096) +
    mapping("55d0c1000000-55d0c1021000 rw-p 00000000 00:00 0                          [heap]", 132, 100,
            100) +
    mapping("7f1000000000-7f1000400000 rw-p 00000000 00:00 0 ", 4096, 3000, 3000) +
    mapping("7f1000400000-7f1004000000 ---p 00000000 00:00 0 ", 61440, 0, 0) +
    mapping("7f1010000000-7f1018000000 rw-p 00000000 00:00 0 ", 131072, 65536, 65536,
            "AnonHugePages:     63488 kB\nSwap:                512 kB\nSwapPss:             512 kB\n") +
    mapping("7f1020000000-7f1020001000 ---p 00000000 00:00 0 ", 4, 0, 0) +
    mapping("7f1020001000-7f1020801000 rw-p 00000000 00:00 0 ", 8192, 80, 80) +
    mapping("7f1020801000-7f1020802000 ---p 00000000 00:00 0 ", 4, 0, 0) +
    mapping("7f1020802000-7f1021002000 rw-p 00000000 00:00 0 ", 8192, 24, 24) +
    mapping("7f1030000000-7f1030400000 rw-s 00000000 00:01 99                         /memfd:rings (deleted)",
            4096, 40, 0) +
    mapping(
        "7f1030400000-7f1030500000 rw-s 00000000 00:01 3                          /SYSV00000000 (deleted)",
        1024, 12, 0) +
    mapping("7f1030500000-7f1030600000 rw-s 00000000 00:01 4                          /dev/zero (deleted)",
            1024, 12, 0) +
    mapping(
        "7f1040000000-7f1040400000 rw-p 00000000 00:0f 77                         /anon_hugepage (deleted)",
        4096, 0, 0, "Private_Hugetlb:    4096 kB\n") +
    mapping("7f1050000000-7f1050100000 rw-p 00000000 00:00 0                          [anon:pool of frames]",
            1024, 4, 4) +
    mapping(
        "7f1060000000-7f1060010000 r--s 00000000 fe:00 555                        /var/lib/a (b)\\012c "
        "(deleted)",
        64, 8, 0) +
    mapping("7ffd0aa00000-7ffd0aa21000 rw-p 00000000 00:00 0                          [stack]", 132, 48, 48) +
    mapping("7ffd0abee000-7ffd0abf2000 r--p 00000000 00:00 0                          [vvar]", 16, 0, 0) +
    mapping("7ffd0abf4000-7ffd0abf6000 r-xp 00000000 00:00 0                          [vdso]", 8, 4, 0) +
    mapping("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]", 4, 0, 0);

TEST(Smaps, NumbersOfEachMapping) {
  const auto mappings = parse_smaps(kServer);
  ASSERT_TRUE(mappings) << mappings.error().message;
  ASSERT_EQ(mappings->size(), 21u);
  const MemoryMapping& large = (*mappings)[6];
  EXPECT_EQ(large.entry.start.value, 0x7f1010000000u);
  EXPECT_EQ(large.rss, 65536u << 10);
  EXPECT_EQ(large.anonymous, 65536u << 10);
  EXPECT_EQ(large.huge, 63488u << 10);
  EXPECT_EQ(large.swap, 512u << 10) << "and not SwapPss";
  EXPECT_EQ((*mappings)[14].huge_file, 4096u << 10);
  EXPECT_EQ((*mappings)[14].rss, 0u);
  EXPECT_EQ((*mappings)[16].entry.path, "/var/lib/a (b)\nc");
  EXPECT_TRUE((*mappings)[16].entry.deleted);
}

TEST(Smaps, SaysWhatEachMappingIs) {
  const StackPointer stack{0x7f1020f00000, "worker"};
  const auto judged = judge_mappings(parse_smaps(kServer).value(), std::span(&stack, 1));
  using Use = MappingUse;
  const std::vector<Use> expected{Use::kFile,        Use::kFile,      Use::kFileZeroed,  Use::kBreak,
                                  Use::kArena,       Use::kAnonymous, Use::kAnonymous,   Use::kAnonymous,
                                  Use::kThreadStack, Use::kAnonymous, Use::kThreadStack, Use::kShared,
                                  Use::kShared,      Use::kShared,    Use::kHugeFile,    Use::kAnonymous,
                                  Use::kFile,        Use::kMainStack, Use::kKernel,      Use::kKernel,
                                  Use::kKernel};
  ASSERT_EQ(judged.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(judged[i].use, expected[i]) << i << " " << judged[i].mapping.entry.path;
  EXPECT_EQ(judged[2].name, "/usr/bin/server") << "zeroed data is its file's";
  EXPECT_EQ(judged[8].name, "") << "a stack by its guard page: of a thread that runs, or has ended";
  EXPECT_EQ(judged[10].name, "worker");
  EXPECT_EQ(judged[15].name, "[anon:pool of frames]");
}

// Two arenas side by side are one mapping; what is as large and not aligned is none.
TEST(Smaps, ArenasOfGlibcHaveAShape) {
  const auto use = [](const std::string& text) {
    return judge_mappings(parse_smaps(text).value(), {})[0].use;
  };
  EXPECT_EQ(use(mapping("7f1000000000-7f1004400000 rw-p 00000000 00:00 0 ", 69632, 4, 4) +
                mapping("7f1004400000-7f1008000000 ---p 00000000 00:00 0 ", 61440, 0, 0)),
            MappingUse::kArena);
  EXPECT_EQ(use(mapping("7f1000000000-7f1004000000 rw-p 00000000 00:00 0 ", 65536, 4, 4)),
            MappingUse::kArena);
  EXPECT_EQ(use(mapping("7f1000001000-7f1004001000 rw-p 00000000 00:00 0 ", 65536, 4, 4)),
            MappingUse::kAnonymous);
  EXPECT_EQ(use(mapping("7f1000000000-7f1000400000 rw-p 00000000 00:00 0 ", 4096, 4, 4)),
            MappingUse::kAnonymous);
}

TEST(Smaps, PiecesOfAnySizeGiveTheSame) {
  const auto whole = parse_smaps(kServer).value();
  for (const std::size_t size : {1u, 7u, 64u, 1000u}) {
    SmapsParser parser;
    for (std::size_t at = 0; at < kServer.size(); at += size)
      ASSERT_TRUE(parser.feed(std::string_view(kServer).substr(at, size)));
    EXPECT_EQ(parser.finish().value(), whole) << size;
  }
}

TEST(Smaps, EveryPrefixIsReadOrRefused) {
  for (std::size_t size = 0; size < kServer.size(); size += 11) {
    const auto mappings = parse_smaps(std::string_view(kServer).substr(0, size));
    ASSERT_TRUE(mappings) << size;
    for (const MemoryMapping& row : *mappings) EXPECT_LE(row.anonymous, row.rss);
  }
}

TEST(Smaps, NonsenseIsRefused) {
  const std::string head = "7f1000000000-7f1004000000 rw-p 00000000 00:00 0 \n";
  for (const std::string& text :
       {std::string("Rss: 4 kB\n"), std::string("\n"), std::string("hello\n"), head + "Rss: -4 kB\n",
        head + "Rss: 99999999999999999999 kB\n", head + "Rss: 18014398509481984 kB\n", head + "Rss 4 kB\n",
        head + head, std::string(100'000, '7')})
    EXPECT_EQ(parse_smaps(text).error().kind, ErrorKind::kMalformed) << text.substr(0, 100);
  EXPECT_EQ(parse_smaps("").value().size(), 0u);
}

TEST(Smaps, OfThisProcessAddsUpToTheRollup) {
  constexpr std::size_t kBytes = 20 << 20;
  void* start = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(start, MAP_FAILED);
  for (std::size_t i = 0; i < kBytes / 2; i += 4096) static_cast<volatile char*>(start)[i] = 1;
  const auto reading = read_smaps(::getpid(), 1'000'000'000);
  ASSERT_TRUE(reading) << reading.error().message;
  EXPECT_TRUE(reading->whole);
  EXPECT_LE(reading->longest_ns, reading->took_ns);
  std::uint64_t rss = 0;
  for (const MemoryMapping& row : reading->mappings) rss += row.rss;
  const auto rollup = read_file("/proc/self/smaps_rollup").value();
  const auto kilobytes = std::strtoull(rollup.c_str() + rollup.find("Rss:") + 4, nullptr, 10);
  EXPECT_NEAR(static_cast<double>(rss), static_cast<double>(kilobytes) * 1024,
              0.02 * static_cast<double>(rss));
  ::munmap(start, kBytes);
}

TEST(Smaps, ABudgetEndsTheReading) {
  const auto reading = read_smaps(::getpid(), 0);
  ASSERT_TRUE(reading);
  EXPECT_FALSE(reading->whole);
}

TEST(Smaps, OfNoProcess) {
  EXPECT_EQ(read_smaps(99'999'999, 1'000'000).error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace fathom::sources
