// Random profiles for property tests: every table filled, every enumerator used, awkward texts and extreme
// numbers in, and always one that passes check(). The same seed gives the same profile on every machine.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "model/profile.h"

namespace fathom::model {

struct RandomOptions {
  std::size_t samples = 200;  // at most; some profiles have none
  // Frames with names that live in modules of kind kNames, without addresses, times and CPUs: what text
  // formats keep.
  bool only_text = false;
};

Profile random_profile(std::uint64_t seed, const RandomOptions& options = {});

// Calls test(profile) for the seeds 1 to count; a failure names its seed.
template <class Test>
void for_each_profile(std::uint64_t count, const Test& test, const RandomOptions& options = {}) {
  for (std::uint64_t seed = 1; seed <= count && !testing::Test::HasFatalFailure(); ++seed) {
    SCOPED_TRACE("profile of seed " + std::to_string(seed));
    test(random_profile(seed, options));
  }
}

}  // namespace fathom::model
