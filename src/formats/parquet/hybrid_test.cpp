#include "formats/parquet/hybrid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <span>

namespace fathom::parquet {
namespace {

std::vector<std::uint32_t> decoded(const std::string& bytes, unsigned bits, std::uint64_t count,
                                   bool* ok = nullptr) {
  Cursor in(std::as_bytes(std::span(bytes.data(), bytes.size())));
  std::vector<std::uint32_t> values;
  hybrid_decode(in, bits, count, values);
  if (ok != nullptr) *ok = in.ok();
  return values;
}

TEST(ParquetHybrid, ValuesComeBackWhateverTheirRunsAndWidth) {
  std::mt19937_64 random(7);
  for (unsigned bits = 0; bits <= 32; ++bits)
    for (const std::size_t count : {0U, 1U, 7U, 8U, 9U, 64U, 1000U}) {
      std::vector<std::uint64_t> values;
      while (values.size() < count) {
        const std::uint64_t value = random() & ((std::uint64_t{1} << bits) - 1);
        for (std::uint64_t run = 1 + random() % (random() % 3 == 0 ? 40 : 2);
             run != 0 && values.size() < count; --run)
          values.push_back(value);
      }
      const auto back = decoded(hybrid_encode(values, bits), bits, count);
      ASSERT_EQ(std::vector<std::uint64_t>(back.begin(), back.end()), values) << bits << " bits, " << count;
    }
}

TEST(ParquetHybrid, BytesAreThoseOfTheSpecification) {
  // Encodings.md: the numbers 0 to 7 with three bits each.
  EXPECT_EQ(hybrid_encode(std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7}, 3), "\x03\x88\xc6\xfa");
  EXPECT_EQ(hybrid_encode(std::vector<std::uint64_t>(100, 300), 9), "\xc8\x01\x2c\x01");
}

TEST(ParquetHybrid, WhatIsCutShortIsAnError) {
  const std::string bytes =
      hybrid_encode(std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 4);
  // The last group is filled up with zeros, which are no values.
  for (std::size_t size = 0; size < 7; ++size) {
    bool ok = true;
    EXPECT_LE(decoded(bytes.substr(0, size), 4, 12, &ok).size(), 12U);
    EXPECT_FALSE(ok) << size;
  }
}

TEST(ParquetHybrid, RunsOfNothingAndRunsWithoutEndAreErrorsOrBounded) {
  bool ok = true;
  (void)decoded(std::string("\x00\x00\x00", 3), 1, 5, &ok);
  EXPECT_FALSE(ok);
  EXPECT_EQ(decoded("\xfe\xff\xff\xff\x0f\x01", 1, 5).size(), 5U);
}

}  // namespace
}  // namespace fathom::parquet
