#include "cli/view_pair.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/packed/packer.h"

namespace fathom::cli {
namespace {

using packed::Packing;

std::string written(const std::string& content) {
  const std::string path = testing::TempDir() + "fathom-view-pair-input";
  EXPECT_TRUE(write_file(path, content));
  return path;
}

std::string packed(std::string_view text, Packing packing) {
  packed::Packer packer(packing);
  packer.add(text);
  return packer.finish().value();
}

TEST(ViewPair, DumpsAreKnownByHowTheyBeginPackedOrNot) {
  for (const std::string text :
       {"heap_v2/524288\n", "heap profile: 1: 2 [ 3: 4] @ heapprofile\n", "--- symbol\nbinary=/x\n"}) {
    EXPECT_TRUE(is_jemalloc_dump(written(text))) << text;
    EXPECT_TRUE(is_jemalloc_dump(written(packed(text, Packing::kGzip)))) << text;
    EXPECT_TRUE(is_jemalloc_dump(written(packed(text, Packing::kZstd)))) << text;
  }
  for (const std::string text : {"main;start 12\n", "", "\x1f\x8b"}) {
    EXPECT_FALSE(is_jemalloc_dump(written(text))) << text;
    EXPECT_FALSE(is_jemalloc_dump(written(packed(text, Packing::kGzip)))) << text;
  }
}

// Files may be large: the code that opens them unpacks them, and reports errors.
TEST(ViewPair, OfAPackedFileNoMoreIsLookedAtThanItsBeginning) {
  std::string text = "heap_v2/524288\n";
  for (std::uint64_t i = 0; i < 200'000; ++i) text += std::to_string(i * i * 7919) + "\n";
  for (const Packing packing : {Packing::kGzip, Packing::kZstd}) {
    const std::string whole = packed(text, packing);
    ASSERT_GT(whole.size(), 300'000u);
    EXPECT_TRUE(is_jemalloc_dump(written(whole.substr(0, 280'000) + "and then nonsense")));
  }
}

TEST(ViewPair, WhatIsNoFileIsAPatternOrAFolderOfDumps) {
  EXPECT_TRUE(is_jemalloc_dump(testing::TempDir()));
  EXPECT_TRUE(is_jemalloc_dump("/nonexistent/jeprof.*.heap"));
}

}  // namespace
}  // namespace fathom::cli
