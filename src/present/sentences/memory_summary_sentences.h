// What the first screen says about memory, in sentences of one line.
#pragma once

#include <string>
#include <vector>

#include "analysis/summary/report.h"

namespace fathom::present {

// "grow_arena touches 94 % of the new pages first"
std::string first_touch_text(const analysis::FirstTouch& touch);
// "RSS 112.5 MiB at most, 98.0 MiB at the end, level."; empty where it was not recorded.
std::string sentence_of_resident(const analysis::Report& report);
// The verdict that matters most, with how sure it is; empty where no heap was traced.
std::string sentence_of_heap(const analysis::Report& report);
// The same, a finding each.
std::vector<std::string> paragraphs_of_heap(const analysis::Report& report);
// The CPU time of the allocators' functions and its callers, with the rates if the heap was recorded; "" if
// it is small, or the heap sentence covers it.
std::string sentence_of_allocator_cpu(const analysis::Report& report);

}  // namespace fathom::present
