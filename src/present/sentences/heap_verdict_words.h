// Parts of the sentences about verdicts.
#pragma once

#include <string>

namespace fathom::present {

std::string rate(double bytes_per_s);    // "10.0 KiB/s"
std::string blocks_text(double blocks);  // "12,345 blocks"

}  // namespace fathom::present
