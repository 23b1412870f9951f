// A recording as a whole, in sentences: what was measured, how busy it was, what costs most, what it waited for.
#pragma once

#include <string>
#include <vector>

#include "analysis/summary/report.h"

namespace fathom::present {

std::vector<std::string> sentences_of(const analysis::Report& report);

}  // namespace fathom::present
