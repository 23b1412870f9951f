#include "analysis/heap/heap_pairing.h"

#include <gtest/gtest.h>

#include "analysis/core/unseen_allocators.h"
#include "analysis/heap/hand_made_heap.h"

namespace fathom::analysis {
namespace {

using model::HookKind;

HandMadeHeap one_process() {
  HandMadeHeap hand;
  hand.profile.heap.heaps[0].process = hand.process(10, "server");
  const auto glibc = hand.allocator("glibc 2.36", hand.module("libc.so.6"));
  hand.hook(glibc, "malloc", HookKind::kEntry);
  hand.hook(glibc, "free", HookKind::kEntry);
  hand.site({}, model::kNoThread, glibc);
  return hand;
}

TEST(HeapPairing, IsWholeWhereEveryEventWasSeen) {
  const auto hand = one_process();
  EXPECT_TRUE(pairing_of(hand.profile, 10, {}).is_whole());
}

TEST(HeapPairing, OneLostEventIsEnough) {
  auto hand = one_process();
  hand.profile.heap.heaps[0].events = 1'500;
  hand.profile.heap.heaps[0].lost_ring_full = 1;
  EXPECT_TRUE(pairing_of(hand.profile, 10, {}).events_lost);
  EXPECT_FALSE(pairing_of(hand.profile, 10, {}).proves_errors());
  EXPECT_TRUE(pairing_of(hand.profile, 11, {}).proves_errors()) << "another process lost nothing";
}

TEST(HeapPairing, AnAllocatorHookedInPartBreaksItWhereItIsUsed) {
  auto hand = one_process();
  const auto other = hand.allocator("mimalloc 2.1", hand.module("libmimalloc.so"));
  hand.hook(other, "mi_malloc", HookKind::kSlot);
  hand.hook(other, "mi_free", HookKind::kNone, "too short for a jump");
  EXPECT_FALSE(pairing_of(hand.profile, 10, {}).partly_hooked) << "no block of it was seen";
  hand.site({}, model::kNoThread, other);
  EXPECT_TRUE(pairing_of(hand.profile, 10, {}).partly_hooked);
  EXPECT_FALSE(pairing_of(hand.profile, 10, {}).proves_errors());
}

// libtbbmalloc_proxy: "nothing is left that was never freed" of a program that kept 300 blocks.
TEST(HeapPairing, AnAllocatorWithoutAHookInMallocIsUnseenWhateverElseIsHooked) {
  auto hand = one_process();
  const auto other = hand.allocator("malloc of libproxy.so", hand.module("libproxy.so"));
  hand.hook(other, "free", HookKind::kEntry);
  hand.hook(other, "realloc", HookKind::kEntry);
  hand.hook(other, "posix_memalign", HookKind::kNone, "too short");
  EXPECT_FALSE(pairing_of(hand.profile, 10, {}).unseen_allocators) << "it may have no malloc";
  hand.hook(other, "malloc", HookKind::kNone, "malloc: a call at +4");
  EXPECT_TRUE(pairing_of(hand.profile, 10, {}).unseen_allocators);
  ASSERT_EQ(unseen_allocators(hand.profile).size(), 1u);
  EXPECT_EQ(unseen_allocators(hand.profile)[0].why, "malloc: a call at +4");
  hand.hook(other, "_Znwm", HookKind::kEntry);
  EXPECT_FALSE(pairing_of(hand.profile, 10, {}).unseen_allocators);
}

TEST(HeapPairing, AnUntracedAllocatorLeavesErrorsProvedAndNothingElseSure) {
  auto hand = one_process();
  const auto other = hand.allocator("mimalloc 2.1", hand.module("libmimalloc.so"));
  hand.hook(other, "mi_malloc", HookKind::kNone, "no symbols");
  const HeapPairing pairing = pairing_of(hand.profile, 10, {});
  EXPECT_TRUE(pairing.unseen_allocators);
  EXPECT_TRUE(pairing.proves_errors());
  EXPECT_FALSE(pairing.is_whole());
}

}  // namespace
}  // namespace fathom::analysis
