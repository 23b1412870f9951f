// Whether labels are complete, and whether watching the process can replace a trial.
#include "attach/inject/trial/labelled_entries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace fathom::inject {
namespace {

using allocators::nameless::Candidate;
using allocators::nameless::JemallocEntries;
using allocators::nameless::Role;
using testing::HasSubstr;

JemallocEntries entries_of_rust() {
  JemallocEntries found;
  found.candidates = {{.address = {0x1000}, .size = 200, .label = Role::kMalloc, .by_shape = true},
                      {.address = {0x2000}, .size = 900, .label = Role::kCalloc, .by_shim = true},
                      {.address = {0x3000}, .size = 900, .label = Role::kRealloc, .by_shim = true},
                      {.address = {0x4000}, .size = 150, .label = Role::kSdallocx, .by_shape = true},
                      {.address = {0x5000}, .size = 700, .direct = 3},
                      {.address = {0x6000}, .size = 12, .is_wrapper = true}};
  return found;
}

TEST(LabelledEntries, AreTheOnesThatTheProgramUses) {
  const auto trial = labelled_entries(entries_of_rust());
  ASSERT_TRUE(trial) << trial.error().message;
  ASSERT_EQ(trial->entries.size(), 4u);
  EXPECT_EQ(trial->entries[0].role, Role::kMalloc);
  EXPECT_EQ(trial->entries[3].role, Role::kSdallocx);
  EXPECT_EQ(trial->copies, 0u);
}

TEST(LabelledEntries, AreNotEnoughIfTheProgramUsesOthers) {
  auto found = entries_of_rust();
  found.candidates[4].from_program = 1;
  EXPECT_THAT(labelled_entries(found).error().message, HasSubstr("what 1 of the functions"));
}

TEST(LabelledEntries, AreNotEnoughWithoutMallocOrFree) {
  auto found = entries_of_rust();
  found.candidates[3].label = Role::kUnknown;
  EXPECT_THAT(labelled_entries(found).error().message, HasSubstr("which of its functions frees"));
  found = entries_of_rust();
  found.candidates[0].by_shape = false;
  EXPECT_THAT(labelled_entries(found).error().message, HasSubstr("which of its functions is malloc"));
}

}  // namespace
}  // namespace fathom::inject
