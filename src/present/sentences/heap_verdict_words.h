// Parts of the sentences about verdicts.
#pragma once

#include <string>

#include "analysis/verdicts/heap_verdicts.h"

namespace fathom::present {

std::string rate(double bytes_per_s);  // "10.0 KiB/s"
// "12,345 blocks", "12,000 blocks" where blocks were sampled: with the digits that the error leaves, and the first one.
std::string blocks_text(double blocks, const analysis::HeapFacts& facts);
std::string bytes_text(double bytes, const analysis::HeapFacts& facts);

}  // namespace fathom::present
