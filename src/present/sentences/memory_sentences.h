// What the memory of a process is made of, in sentences.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/memory/rss_breakdown.h"

namespace fathom::present {

std::vector<std::string> sentences_of(const analysis::RssBreakdown& breakdown);

// "stacks of threads". `traced`: RssBreakdown::traced.
std::string_view label_of(const analysis::MemoryPart& part, bool traced);

}  // namespace fathom::present
