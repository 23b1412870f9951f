// Keeps the table of stacks bounded. A file may have any number of different stacks, most of which were seen once: the rarest
// become those of their callers, so that all sums stay exact and what is lost is where inside of a call the time went.
#pragma once

#include <cstdint>
#include <string>

#include "model/profile.h"

namespace fathom::model {

// What is kept of one profile that is read from a file. The table and its index take 20 to 24 bytes for each.
inline constexpr std::size_t kMostStacks = 8'000'000;

// What was folded so far.
struct RareStacks {
  std::uint64_t stacks = 0;  // rows of the table that are gone
  std::int64_t value =
      0;  // of the samples that lost their innermost calls; a sample that lost some twice counts twice
  std::int64_t largest = 0;  // no call that is gone was worth more

  // A sentence for the report; "" where nothing was folded. `total`: of all samples.
  std::string note(std::int64_t total) const;
};

// Samples that differ in nothing but their value become one.
void add_up_equal_samples(Profile& profile);

// Keeps the `most` stacks that are worth most with what they call, and the empty one; of equal ones those that came first.
// Samples of others become those of the nearest caller that is kept, and equal ones are added up. For profiles of which samples alone have stacks. Rows move: a Builder must be made again.
void fold_rare_stacks(Profile& profile, std::size_t most, RareStacks& folded);

}  // namespace fathom::model
