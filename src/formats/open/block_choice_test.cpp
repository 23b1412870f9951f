#include "formats/open/block_choice.h"

#include <gtest/gtest.h>

namespace fathom::open {
namespace {

using store::HeapBlockFilter;

template <class Set>
HeapBlockFilter filter(Set set) {
  HeapBlockFilter made;
  set(made);
  return made;
}
#define FILTER(...) filter([](HeapBlockFilter& of) { __VA_ARGS__; })

TEST(BlockChoice, DescribesTheSelection) {
  EXPECT_EQ(block_choice_text({}), "");
  EXPECT_EQ(block_choice_text(FILTER(of.keep = 20)), "");
  EXPECT_EQ(block_choice_text(FILTER(of.leaked = true)), "that were never freed");
  EXPECT_EQ(block_choice_text(FILTER(of.least_size = 4096)), "of 4096 bytes and more");
  EXPECT_EQ(block_choice_text(FILTER(of.most_size = 100)), "of 100 bytes and less");
  EXPECT_EQ(block_choice_text(FILTER(of.least_size = 64; of.most_size = 64)), "of 64 bytes");
  EXPECT_EQ(block_choice_text(FILTER(of.least_size = 64; of.most_size = 128; of.leaked = true)),
            "that were never freed, of 64 to 128 bytes");
  EXPECT_EQ(block_choice_text(FILTER(of.most_lifetime_ns = 1'000'000)), "that lived for 0.001 s and less");
  EXPECT_EQ(block_choice_text(FILTER(of.first_address = 0x7f00)), "that hold 0x7f00");
  EXPECT_EQ(block_choice_text(FILTER(of.alive_at_ns = 1'500'000'000)), "that were live at 1.5 s");
  EXPECT_EQ(block_choice_text(FILTER(of.freed_by = "worker")), "that thread 'worker' freed");
}

std::string chosen_by(const HeapBlockFilter& filter) {
  model::Profile profile;
  tell_block_choice(filter, profile);
  return profile.meta.facts["heap blocks by"];
}

// Growth among blocks of one size is real growth; among never-freed blocks everything grows.
TEST(BlockChoice, DistinguishesFateFromPlace) {
  EXPECT_EQ(chosen_by({}), "");
  EXPECT_EQ(chosen_by(FILTER(of.least_size = 4096; of.keep = 10)), "place");
  EXPECT_EQ(chosen_by(FILTER(of.first_address = 1; of.end_address = 9)), "place");
  EXPECT_EQ(chosen_by(FILTER(of.leaked = true)), "fate");
  EXPECT_EQ(chosen_by(FILTER(of.least_size = 4096; of.least_lifetime_ns = 1)), "fate");
  EXPECT_EQ(chosen_by(FILTER(of.freed_by = "worker")), "fate");
}

}  // namespace
}  // namespace fathom::open
