// How much of the time between the first and the last moment of a profile was recorded. Merged recordings have gaps between
// them, in which nothing is known: a rate is of the time that was recorded. Pure.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "model/profile.h"

namespace fathom::model {

// A fact of merged recordings: ns between the first start and the last end in which none of them recorded.
inline constexpr const char* kUnrecordedFact = "unrecorded_ns";

// 0 where there is no gap; at most the time between start and end.
std::uint64_t unrecorded_ns(const Meta& meta);

// Without the gaps; 0 if unknown.
double recorded_s(const Profile& profile);

// How much of the time from the first start to the last end no interval covers. One whose end is not after its start covers
// nothing and does not count.
std::uint64_t gaps_between(std::vector<std::pair<std::uint64_t, std::uint64_t>> intervals);

}  // namespace fathom::model
