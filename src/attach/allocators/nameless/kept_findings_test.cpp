#include "attach/allocators/nameless/kept_findings.h"

#include <gtest/gtest.h>

namespace fathom::allocators::nameless {
namespace {

constexpr std::string_view kStamp = "of a file, by somebody";

std::vector<Candidate> some_candidates() {
  Candidate first{.address = {0x1000}, .size = 200, .label = Role::kMalloc, .by_shape = true};
  first.direct = 3, first.through_words = 70'000, first.goes_on_to = {{0x2000}, {0x3000}};
  Candidate second{.address = {0x2000}, .size = 9, .label = kLastRole, .by_shim = true, .is_wrapper = true};
  second.in_tables = 1;
  second.from_program = 2;
  return {first, second};
}
Findings of_jemalloc() {
  JemallocEntries found;
  found.version = "5.3.0";
  found.tables = {{0x8000}, {0x9000}};
  found.candidates = some_candidates();
  found.own_code = {{{0x1000}, {0x1800}}, {{0x2000}, {0x2009}}};
  found.messages = 24;
  return {.refusal = {}, .jemalloc = found, .library = std::nullopt};
}
Findings of_library() {
  LibraryFindings found;
  found.candidates = some_candidates();
  found.doors = {{0x1000}};
  found.ways = {{found.candidates[0]}, {found.candidates[1]}, {{{0x1000}, {0x1100}}}};
  return {.refusal = {}, .jemalloc = std::nullopt, .library = found};
}
Findings refused() {
  return {.refusal = "no code names its messages", .jemalloc = std::nullopt, .library = std::nullopt};
}
void expect_equal(const std::vector<Candidate>& a, const std::vector<Candidate>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].address, b[i].address);
    EXPECT_EQ(a[i].size, b[i].size);
    EXPECT_EQ(a[i].label, b[i].label);
    EXPECT_EQ(a[i].by_shape, b[i].by_shape);
    EXPECT_EQ(a[i].by_shim, b[i].by_shim);
    EXPECT_EQ(a[i].is_wrapper, b[i].is_wrapper);
    EXPECT_EQ(a[i].direct, b[i].direct);
    EXPECT_EQ(a[i].through_words, b[i].through_words);
    EXPECT_EQ(a[i].in_tables, b[i].in_tables);
    EXPECT_EQ(a[i].from_program, b[i].from_program);
    EXPECT_EQ(a[i].goes_on_to, b[i].goes_on_to);
  }
}

TEST(KeptFindings, ReadAgainAreWhatWasWritten) {
  const auto jemalloc = decode(encode(of_jemalloc(), kStamp), kStamp);
  ASSERT_TRUE(jemalloc && jemalloc->jemalloc);
  EXPECT_EQ(jemalloc->jemalloc->version, "5.3.0");
  EXPECT_EQ(jemalloc->jemalloc->messages, 24u);
  EXPECT_EQ(jemalloc->jemalloc->tables, of_jemalloc().jemalloc->tables);
  EXPECT_EQ(jemalloc->jemalloc->own_code, of_jemalloc().jemalloc->own_code);
  expect_equal(jemalloc->jemalloc->candidates, some_candidates());

  const auto library = decode(encode(of_library(), kStamp), kStamp);
  ASSERT_TRUE(library && library->library);
  const LibraryFindings written = *of_library().library;
  EXPECT_EQ(library->library->doors, written.doors);
  EXPECT_EQ(library->library->ways.own_code, written.ways.own_code);
  expect_equal(library->library->candidates, written.candidates);
  expect_equal(library->library->ways.entries, written.ways.entries);
  expect_equal(library->library->ways.others, written.ways.others);

  const auto refusal = decode(encode(refused(), kStamp), kStamp);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->refusal, refused().refusal);
  EXPECT_FALSE(refusal->jemalloc || refusal->library);
}

TEST(KeptFindings, OfAnotherFileOrByAnotherFinderAreNotThere) {
  EXPECT_FALSE(decode(encode(of_jemalloc(), kStamp), "of a file, by somebody else"));
}

TEST(KeptFindings, CutShortOrChangedAnywhereAreNotThere) {
  for (const Findings& each : {of_jemalloc(), of_library(), refused()}) {
    const Bytes bytes = encode(each, kStamp);
    for (std::size_t size = 0; size < bytes.size(); ++size)
      EXPECT_FALSE(decode(std::span(bytes).first(size), kStamp)) << size;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      Bytes changed = bytes;
      changed[i] ^= std::byte{0x10};
      EXPECT_FALSE(decode(changed, kStamp)) << i;
    }
  }
}

}  // namespace
}  // namespace fathom::allocators::nameless
