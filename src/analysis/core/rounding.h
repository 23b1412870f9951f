// Estimates with the digits that their error leaves them.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/core/call_tree.h"

namespace fathom::analysis {

// The place of the first digit of half an interval, 1 at least: digits behind it are not known.
double last_known_digit(double error);
// "61,000" of 61,234 ±3,000; "61,234" where the error is less than 1.
std::string count_with_error(double count, double error);

// "980 KiB" of 976.6 KiB ±60 KiB, "1.5 MiB" where a tenth of the unit is known.
std::string bytes_with_error(double bytes, double error);
// A value of the tree in its unit: "12,345 samples" as they were counted, "1,750,000 blocks" where they were sampled.
std::string amount_of(const CallTree& tree, std::int64_t value);

}  // namespace fathom::analysis
