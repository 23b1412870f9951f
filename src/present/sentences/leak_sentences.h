// What was left unfreed, in sentences.
#pragma once

#include <string>
#include <vector>

#include "analysis/heap/heap_leaks.h"

namespace fathom::present {

std::vector<std::string> sentences_of(const analysis::LeakReport& report);

}  // namespace fathom::present
