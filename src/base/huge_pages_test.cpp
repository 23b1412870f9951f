#include "base/huge_pages.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "base/sanitized.h"

namespace fathom {
namespace {

// Whether pages are large is the machine's to say; that blocks are whole and go back is ours.
TEST(HugePages, LargeBlocksAreWholeAndGoBack) {
  use_huge_pages();
  for (const std::size_t size :
       {std::size_t{1}, (std::size_t{4} << 20) - 1, std::size_t{4} << 20, (std::size_t{9} << 20) + 1}) {
    auto block = std::make_unique<char[]>(size);
    std::memset(block.get(), 'x', size);
    EXPECT_EQ(block[size - 1], 'x');
  }
  std::vector<int> growing;
  for (int i = 0; i < 4'000'000; ++i) growing.push_back(i);
  EXPECT_EQ(growing.back(), 3'999'999);
}

#if !FATHOM_ADDRESS_SANITIZER  // which ends the program instead
TEST(HugePages, WhatCannotBeHadIsAnException) {
  use_huge_pages();
  for (const volatile std::size_t size : {SIZE_MAX / 2, SIZE_MAX / 4})
    EXPECT_THROW(::operator delete(::operator new(size)), std::bad_alloc);
}
#endif

}  // namespace
}  // namespace fathom
