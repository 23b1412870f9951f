// What a program's own metrics say of its memory, in sentences.
#pragma once

#include <string>
#include <vector>

#include "analysis/metrics/components.h"

namespace fathom::present {

// Which component explains how much of the growth, which are ruled out, which are undecided; for memory that
// does not grow, or for a single scrape, how large they are. Empty: no component is known.
std::vector<std::string> sentences_of(const analysis::Components& components);

// For a first screen, after a sentence on growth: the components that explain at least half of it, and those that are unusually large.
// Empty: there is none.
std::string component_headline(const analysis::Components& components);

}  // namespace fathom::present
