// Where a thread continues that was inside the bytes of a patch: tested without a process.
#include "attach/inject/tracer/entries.h"

#include <gtest/gtest.h>

namespace fathom::inject {
namespace {

TEST(Entries, AThreadInsideTheBytesContinuesInTheTrampoline) {
  PlannedHook hook;
  hook.hook.function = {0x1000};
  hook.entry.patch_address = {0x1004};
  hook.entry.before.resize(6);
  hook.entry.moved = {{4, 0}, {5, 1}, {7, 3}};
  hook.trampoline = {0x9000};
  EXPECT_EQ(goes_on_at(hook, 0x1000), 0x1000U);
  EXPECT_EQ(goes_on_at(hook, 0x1004), 0x1004U) << "the jump itself";
  EXPECT_EQ(goes_on_at(hook, 0x1005), 0x9001U);
  EXPECT_EQ(goes_on_at(hook, 0x1007), 0x9003U);
  EXPECT_EQ(goes_on_at(hook, 0x1006), std::nullopt);
  EXPECT_EQ(goes_on_at(hook, 0x100a), 0x100aU) << "behind the bytes";
}

}  // namespace
}  // namespace fathom::inject
