// What a program's own metrics say of its memory, in sentences.
#pragma once

#include <string>
#include <vector>

#include "analysis/metrics/components.h"

namespace fathom::present {

// Which component explains how much of the growth, which are ruled out, which are undecided; for memory that
// does not grow, or for a single scrape, how large they are. Empty: no component is known.
std::vector<std::string> sentences_of(const analysis::Components& components);

}  // namespace fathom::present
