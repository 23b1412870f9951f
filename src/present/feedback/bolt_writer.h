// The profile that llvm-bolt reads with -data, of samples without branch records: "no_lbr EVENT", then a line for each
// instruction, "1 FUNCTION OFFSET SAMPLES" with the offset in hexadecimal digits. Source: llvm-project, bolt/lib/Profile,
// DataReader.
#pragma once

#include <string>

#include "analysis/feedback/symbol_counts.h"

namespace fathom::present {

std::string bolt_text(const feedback::SymbolCounts& counts);

}  // namespace fathom::present
