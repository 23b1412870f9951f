#include "sources/memory/resident_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace fathom::sources {
namespace {

constexpr std::uint64_t kPage = ResidentPages::kPage;

TEST(ResidentPages, CountsTheBytesOfABlockThatAreThere) {
  ResidentPages pages;
  pages.add(0x10000, {true, false, true, true});
  EXPECT_EQ(pages.resident(0x10000, kPage), kPage);
  EXPECT_EQ(pages.resident(0x10000 + 100, 50), 50u);
  EXPECT_EQ(pages.resident(0x10000 + kPage, 100), 0u);
  EXPECT_EQ(pages.resident(0x10000 + 4000, 2 * kPage), 96u + 4000u);
  EXPECT_EQ(pages.resident(0x10000, 4 * kPage), 3 * kPage);
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
  void* start = ::mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(start, MAP_FAILED);
  ::madvise(start, kPages * kPage, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < kPages; i += 3) static_cast<volatile char*>(start)[i * kPage] = 1;
  auto pages = ResidentPages::open(::getpid());
  ASSERT_TRUE(pages) << pages.error().message;
  const auto address = reinterpret_cast<std::uint64_t>(start);
  ASSERT_TRUE(pages->read(address, address + kPages * kPage));
  EXPECT_EQ(pages->resident(address, kPages * kPage), 100 * kPage);
  EXPECT_EQ(pages->resident(address + kPage, kPage), 0u);
  ::munmap(start, kPages * kPage);
}

}  // namespace
}  // namespace fathom::sources
