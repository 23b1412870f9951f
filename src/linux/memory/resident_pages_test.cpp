#include "linux/memory/resident_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace fathom::sources {
namespace {

constexpr std::uint64_t kResidentPage = ResidentPages::kPage;

TEST(ResidentPages, CountsTheBytesOfABlockThatAreThere) {
  ResidentPages pages;
  pages.add(0x10000, {true, false, true, true});
  EXPECT_EQ(pages.resident(0x10000, kResidentPage), kResidentPage);
  EXPECT_EQ(pages.resident(0x10000 + 100, 50), 50u);
  EXPECT_EQ(pages.resident(0x10000 + kResidentPage, 100), 0u);
  EXPECT_EQ(pages.resident(0x10000 + 4000, 2 * kResidentPage), 96u + 4000u);
  EXPECT_EQ(pages.resident(0x10000, 4 * kResidentPage), 3 * kResidentPage);
}

TEST(ResidentPages, KnowsNothingOutsideOfWhatWasLookedAt) {
  ResidentPages pages;
  pages.add(0x10000, {true});
  pages.add(0x20000, {true, true});
  EXPECT_FALSE(pages.knows(0xffff));
  EXPECT_TRUE(pages.knows(0x10fff));
  EXPECT_FALSE(pages.knows(0x11000));
  EXPECT_TRUE(pages.knows(0x21000));
  EXPECT_EQ(pages.resident(0x11000, 100), 0u);
  EXPECT_EQ(pages.resident(0x10800, UINT64_MAX), 0x800u) << "cut at the end of what is known";
  EXPECT_EQ(pages.pages(), 3u);
}

TEST(ResidentPages, OfThisProcess) {
  constexpr std::size_t kPages = 300;  // more than one piece would be 8192
  void* start =
      ::mmap(nullptr, kPages * kResidentPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(start, MAP_FAILED);
  ::madvise(start, kPages * kResidentPage, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < kPages; i += 3) static_cast<volatile char*>(start)[i * kResidentPage] = 1;
  auto pages = ResidentPages::open(::getpid());
  ASSERT_TRUE(pages) << pages.error().message;
  const auto address = reinterpret_cast<std::uint64_t>(start);
  ASSERT_TRUE(pages->read(address, address + kPages * kResidentPage));
  EXPECT_EQ(pages->resident(address, kPages * kResidentPage), 100 * kResidentPage);
  EXPECT_EQ(pages->resident(address + kResidentPage, kResidentPage), 0u);
  ::munmap(start, kPages * kResidentPage);
}

}  // namespace
}  // namespace fathom::sources
