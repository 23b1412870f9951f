#include "render/text_memory.h"

#include <gtest/gtest.h>

#include "base/golden.h"
#include "profile/random_profile.h"
#include "report/hand_made_memory.h"

namespace fathom::render {
namespace {

TEST(TextMemory, OfAServer) {
  const report::HandMadeMemory hand = report::memory_of_small_heap();
  const auto bridge = report::make_memory_bridge(hand.profile, {}).value();
  expect_golden("memory.txt", memory_text(bridge, {}, true));
}

TEST(TextMemory, OfAServerThatWasSampled) {
  const report::HandMadeMemory hand = report::memory_of_small_heap(profile::HeapMode::kSampled);
  const auto bridge = report::make_memory_bridge(hand.profile, {}).value();
  expect_golden("memory_sampled.txt", memory_text(bridge, {.width = 80, .top = 5}, true));
}

TEST(TextMemory, OfAnyProfileHoldsNoControlCharacters) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const profile::Profile profile = profile::random_profile(seed);
    const auto bridge = report::make_memory_bridge(profile, {});
    if (!bridge) continue;
    for (const char c : memory_text(*bridge, {.top = 0}, true))
      ASSERT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << "seed " << seed;
  }
}

}  // namespace
}  // namespace fathom::render
