#include "base/packed/packed.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "base/files.h"
#include "base/packed/packed_testing.h"

namespace fathom::packed {
namespace {

TEST(Packed, AFileComesOutAsItWentIn) {
  EXPECT_EQ(text_of(kExample), read_file("packed_test.cpp").value());
  EXPECT_LT(kExample.packed_size, kExample.size);
}

TEST(Packed, AnEmptyFileIsEmpty) {
  EXPECT_EQ(text_of(kEmptyExample), "");
}

TEST(Packed, DamageIsAnErrorAndNotAnotherText) {
  File shorter = kExample;
  shorter.packed_size -= 1;
  EXPECT_THROW(text_of(shorter), std::logic_error);
  File longer = kExample;
  longer.size += 1;
  EXPECT_THROW(text_of(longer), std::logic_error);
}

}  // namespace
}  // namespace fathom::packed
