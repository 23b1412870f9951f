// An allocator of which a function that frees or resizes cannot be hooked is not traced at all.
#include "record/session/heap/heap_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fathom::session {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

inject::PlannedHook planned(const char* name, std::uint8_t allocator, bool essential, bool goes_in) {
  inject::PlannedHook hook;
  hook.hook.name = name;
  hook.hook.allocator = allocator;
  hook.hook.essential = essential;
  hook.kind = goes_in ? TRACER_HOOK_ENTRY : TRACER_HOOK_NONE;
  hook.text = std::string(name) + ": not hooked: too short";
  return hook;
}
std::vector<std::string> names_of(const std::vector<inject::PlannedHook>& hooks) {
  std::vector<std::string> names;
  for (const auto& each : hooks) names.push_back(each.hook.name);
  return names;
}

class Halves : public testing::Test {
 protected:
  Halves() {
    target_.allocators.push_back({allocators::Kind::kLibc, "glibc 2.36", "/lib/libc.so.6", {1}, {}});
    target_.allocators.push_back({allocators::Kind::kJemalloc, "jemalloc 5.3.0", "/opt/node", {2}, {}});
  }
  HeapTarget target_;
};

TEST_F(Halves, WhatFreesAndCannotBeHookedTakesItsAllocatorOut) {
  std::vector<inject::PlannedHook> hooks{planned("malloc", 0, false, true), planned("free", 0, true, true),
                                         planned("je_malloc", 1, false, true),
                                         planned("je_free", 1, true, false)};
  leave_out_halves(target_, hooks);
  EXPECT_THAT(names_of(hooks), ElementsAre("malloc", "free"));
  ASSERT_EQ(target_.unseen.size(), 1u);
  EXPECT_EQ(text_of(target_.unseen[0]),
            "/opt/node: jemalloc 5.3.0 is not traced: je_free: not hooked: too short");
}

TEST_F(Halves, WhatOnlyAllocatesMayBeMissing) {
  std::vector<inject::PlannedHook> hooks{planned("pvalloc", 0, false, false), planned("free", 0, true, true)};
  leave_out_halves(target_, hooks);
  EXPECT_THAT(names_of(hooks), ElementsAre("pvalloc", "free"));
  EXPECT_TRUE(target_.unseen.empty());
}

TEST_F(Halves, AFunctionThatAnotherHookStandsInForIsNotMissing) {
  std::vector<inject::PlannedHook> hooks{planned("free", 0, true, true), planned("cfree", 0, true, false)};
  hooks[1].same_as_another = true;
  leave_out_halves(target_, hooks);
  EXPECT_EQ(hooks.size(), 2u);
  EXPECT_TRUE(target_.unseen.empty());
}

}  // namespace
}  // namespace fathom::session
