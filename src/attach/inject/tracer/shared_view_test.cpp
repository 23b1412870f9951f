// Each check of the head alone: whole runs (hostile_target_test) and the fuzz target trigger several of them
// at once, so a missing one could hide behind another.
#include "attach/inject/tracer/shared_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "attach/inject/tracer/shared_layout.h"

namespace fathom::inject {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kEnd = std::uint64_t{1} << 47;  // of the addresses that a program can map

// The head of a killed profiler, with one change of data and one of text, and a third that was taken out
// again.
class Head {
 public:
  Head() : shared(std::make_unique<tracer_shared>(laid_out())) {
    shared->own_count = 2;
    shared->own[0] = {0x10000000, 0x1000};
    shared->own[1] = {0x20000000, 0x3000};
    shared->journal_count = 3;
    shared->journal[0] = change(0x555555000000, TRACER_HOOK_SLOT, 8, 1);
    shared->journal[1] = change(0x7f0000001003, TRACER_HOOK_ENTRY, 5, 1);
    shared->journal[2] = change(0x7f0000002000, TRACER_HOOK_ENTRY, 16, 0);
  }
  // "" if it passes.
  std::string refusal() const {
    const auto view = check_head(*shared, mapped_bytes);
    return view ? "" : view.error().message;
  }

  std::unique_ptr<tracer_shared> shared;
  std::uint64_t mapped_bytes = shared->bytes;

 private:
  static tracer_shared laid_out() {
    Options options;
    options.mappings = options.pages = options.rows = options.rules = 16;
    options.ring_count = 2;
    options.ring_bytes = 4096;
    return lay_out(options).value();
  }
  static tracer_journal_entry change(std::uint64_t address, std::uint8_t kind, std::uint8_t length,
                                     std::uint8_t in) {
    tracer_journal_entry entry{};
    entry.address = address;
    entry.kind = kind;
    entry.length = length;
    entry.in = in;
    return entry;
  }
};

TEST(SharedView, OfAValidHeadHasItsMappingsAndItsActiveChanges) {
  const Head head;
  ASSERT_EQ(head.refusal(), "");
  const auto view = check_head(*head.shared, head.mapped_bytes);
  ASSERT_EQ(view->own.size(), 2u);
  EXPECT_EQ(view->own[1].address, 0x20000000u);
  ASSERT_EQ(view->journal.size(), 2u);
  EXPECT_EQ(view->journal[0].address, 0x555555000000u);
  EXPECT_EQ(view->journal[1].address, 0x7f0000001003u);
}

TEST(SharedView, HeadOfAnotherVersionIsRejected) {
  Head mark, version, size;
  mark.shared->magic ^= 1;
  EXPECT_THAT(mark.refusal(), HasSubstr("another mark"));
  version.shared->version += 1;
  EXPECT_THAT(version.refusal(), HasSubstr("another version"));
  size.shared->header_bytes += 8;
  EXPECT_THAT(size.refusal(), HasSubstr("another version"));
}

TEST(SharedView, SizeMustEqualThatOfTheMapping) {
  Head head;
  head.mapped_bytes += 4096;
  EXPECT_THAT(head.refusal(), HasSubstr("bytes are mapped, and it names"));
}

TEST(SharedView, EveryTableMustLieInsideTheMemory) {
  struct Table {
    u64 tracer_shared::*offset;
    u32 tracer_shared::*count;
  };
  for (const Table& table : {Table{&tracer_shared::mappings_offset, &tracer_shared::mappings_count},
                             Table{&tracer_shared::pages_offset, &tracer_shared::pages_count},
                             Table{&tracer_shared::rows_offset, &tracer_shared::rows_count},
                             Table{&tracer_shared::rules_offset, &tracer_shared::rules_count}}) {
    Head in_the_head, beyond, too_long, longest;
    (*in_the_head.shared).*table.offset = sizeof(tracer_shared) - 8;
    EXPECT_THAT(in_the_head.refusal(), HasSubstr("table lies outside"));
    (*beyond.shared).*table.offset = beyond.mapped_bytes + 8;
    (*beyond.shared).*table.count = 0;
    EXPECT_THAT(beyond.refusal(), HasSubstr("table lies outside"));
    (*too_long.shared).*table.count = static_cast<u32>(too_long.mapped_bytes);
    EXPECT_THAT(too_long.refusal(), HasSubstr("table lies outside"));
    (*longest.shared).*table.count = UINT32_MAX;
    EXPECT_THAT(longest.refusal(), HasSubstr("table lies outside"));
  }
}

TEST(SharedView, RingSizesMustBePowersOfTwoInsideTheMemory) {
  Head none, odd, narrow, many;
  none.shared->ring_bytes = 0;
  odd.shared->ring_bytes = 4097;
  narrow.shared->ring_stride = narrow.shared->ring_bytes;
  many.shared->ring_count = 1000;
  for (const Head* head : {&none, &odd, &narrow, &many})
    EXPECT_THAT(head->refusal(), HasSubstr("rings lie outside"));
}

TEST(SharedView, CountsMustFitIntoTheirRoom) {
  Head mappings, changes;
  mappings.shared->own_count = TRACER_OWN_MAPPINGS + 1;
  EXPECT_THAT(mappings.refusal(), HasSubstr(std::to_string(TRACER_OWN_MAPPINGS + 1) + " mappings"));
  changes.shared->journal_count = TRACER_JOURNAL + 1;
  EXPECT_THAT(changes.refusal(), HasSubstr(std::to_string(TRACER_JOURNAL + 1) + " changes"));
}

TEST(SharedView, OwnMappingsMustLieWhereAProgramCanMap) {
  Head empty, null, beyond, wraps;
  empty.shared->own[1].bytes = 0;
  null.shared->own[1].address = 0;
  beyond.shared->own[1] = {kEnd - 0x1000, 0x2000};
  wraps.shared->own[1] = {0x20000000, UINT64_MAX - 0x1000};
  for (const Head* head : {&empty, &null, &beyond, &wraps})
    EXPECT_THAT(head->refusal(), HasSubstr("mapping 1"));
}

TEST(SharedView, ChangesMustHaveAValidKindLengthAndPlace) {
  Head kind, empty, long_entry, short_slot, crooked_slot, state, null, beyond;
  kind.shared->journal[1].kind = 77;
  empty.shared->journal[1].length = 0;
  long_entry.shared->journal[1].length = sizeof(tracer_journal_entry::before) + 1;
  short_slot.shared->journal[1] = short_slot.shared->journal[0];
  short_slot.shared->journal[1].length = 4;
  crooked_slot.shared->journal[1] = crooked_slot.shared->journal[0];
  crooked_slot.shared->journal[1].address += 4;
  state.shared->journal[1].in = 2;
  null.shared->journal[1].address = 0;
  beyond.shared->journal[1].address = kEnd - 2;
  for (const Head* head : {&kind, &empty, &long_entry, &short_slot, &crooked_slot, &state, &null, &beyond})
    EXPECT_THAT(head->refusal(), HasSubstr("change 1"));
}

TEST(LockingProfiler, IsReadFromTheLineOfTheMemory) {
  process::MapEntry shared;
  shared.device_minor = 1;
  shared.inode = 1234;
  const std::string_view others =
      "1: POSIX  ADVISORY  WRITE 11 00:01:1234 0 EOF\n2: FLOCK  ADVISORY  WRITE 12 00:01:12345 0 EOF\n"
      "3: FLOCK  ADVISORY  WRITE 13 00:02:1234 0 EOF\n4: OFDLCK ADVISORY  READ -1 00:01:1234 0 EOF\n"
      "5: -> FLOCK  ADVISORY  WRITE 14 00:01:1234 0 EOF\n6: FLOCK  ADVISORY  READ 0 00:01:1234 0 EOF\n";
  EXPECT_EQ(locking_profiler("", shared), std::nullopt);
  EXPECT_EQ(locking_profiler(others, shared), std::nullopt);
  std::string held(others);
  held.append("7: FLOCK  ADVISORY  READ 708 00:01:1234 0 EOF\n");
  EXPECT_EQ(locking_profiler(held, shared), 708);
  for (std::size_t cut = 0; cut < held.size() - 1; ++cut) {
    const auto found = locking_profiler(std::string_view(held).substr(0, cut), shared);
    if (found) {
      EXPECT_EQ(*found, 708);
    }
  }
}

}  // namespace
}  // namespace fathom::inject
