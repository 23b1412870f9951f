#include "present/text/text_memory.h"

#include <gtest/gtest.h>

#include "analysis/memory/hand_made_memory.h"
#include "base/golden.h"
#include "model/random_profile.h"

namespace fathom::present {
namespace {

TEST(TextMemory, OfAServer) {
  const analysis::HandMadeMemory hand = analysis::memory_of_small_heap();
  const auto breakdown = analysis::make_rss_breakdown(hand.profile, {}).value();
  expect_golden("memory.txt", memory_text(breakdown, {}, true));
}

TEST(TextMemory, OfAServerThatWasSampled) {
  const analysis::HandMadeMemory hand = analysis::memory_of_small_heap(model::HeapMode::kSampled);
  const auto breakdown = analysis::make_rss_breakdown(hand.profile, {}).value();
  expect_golden("memory_sampled.txt", memory_text(breakdown, {.width = 80, .top = 5}, true));
}

TEST(TextMemory, OfAnyProfileHoldsNoControlCharacters) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const model::Profile profile = model::random_profile(seed);
    const auto breakdown = analysis::make_rss_breakdown(profile, {});
    if (!breakdown) continue;
    for (const char c : memory_text(*breakdown, {.top = 0}, true))
      ASSERT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << "seed " << seed;
  }
}

}  // namespace
}  // namespace fathom::present
