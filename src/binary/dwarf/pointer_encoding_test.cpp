#include "binary/dwarf/pointer_encoding.h"

#include <gtest/gtest.h>

#include "binary/dwarf/testing_cfi.h"

namespace fathom::dwarf {
namespace {

using testing::Bytes;
using testing::bytes;

std::optional<std::uint64_t> pointer(const Bytes& data, int encoding, const PointerBases& bases = {}) {
  Cursor in(data);
  return read_pointer(in, static_cast<std::uint8_t>(encoding), bases);
}

TEST(PointerEncoding, FormatsSayHowManyBytesAndWhetherSigned) {
  const auto data = bytes({0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f});
  EXPECT_EQ(pointer(data, kPointerAbsolute), 0x7ffffffffffffffeu);
  EXPECT_EQ(pointer(data, kPointerUdata2), 0xfffeu);
  EXPECT_EQ(pointer(data, kPointerSdata2), ~std::uint64_t{1});
  EXPECT_EQ(pointer(data, kPointerUdata4), 0xfffffffeu);
  EXPECT_EQ(pointer(data, kPointerSdata4), ~std::uint64_t{1});
  EXPECT_EQ(pointer(bytes({0x80, 0x01}), kPointerUleb128), 128u);
  EXPECT_EQ(pointer(bytes({0x7f}), kPointerSleb128), ~std::uint64_t{0});
}

TEST(PointerEncoding, RelativePointersCountFromTheirBase) {
  const auto data = bytes({0xff, 0xff, 0x10, 0x00});
  Cursor in(data);
  in.skip(2);
  EXPECT_EQ(read_pointer(in, kPointerPcRelative | kPointerSdata2, {.section = 0x1000}), 0x1012u);
  EXPECT_EQ(pointer(bytes({4, 0}), kPointerDataRelative | kPointerUdata2, {.data = 0x2000}), 0x2004u);
  EXPECT_EQ(pointer(bytes({4, 0}), kPointerFunctionRelative | kPointerUdata2, {.function = 0x3000}), 0x3004u);
}

TEST(PointerEncoding, AlignedPointerSkipsToTheNextMultipleOfEight) {
  Bytes data(5);
  testing::put(data, std::uint64_t{42});
  EXPECT_EQ(pointer(data, kPointerAligned, {.section = 0x1003}), 42u);
}

TEST(PointerEncoding, WhatCannotBeKnownIsNoPointer) {
  const auto data = bytes({1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(pointer(data, kPointerOmit), std::nullopt);
  EXPECT_EQ(pointer(data, kPointerIndirect | kPointerUdata4), std::nullopt);
  EXPECT_EQ(pointer(data, kPointerTextRelative | kPointerUdata4), std::nullopt);
  EXPECT_EQ(pointer(data, 0x07), std::nullopt);
  EXPECT_EQ(pointer(bytes({1, 2, 3}), kPointerUdata4), std::nullopt);
}

}  // namespace
}  // namespace fathom::dwarf
