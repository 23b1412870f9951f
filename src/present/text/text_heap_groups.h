// The heap by one grouping as a table: flat and cumulative, rates, and how much of it was temporary.
#pragma once

#include <string>

#include "analysis/heap/heap_groups.h"
#include "present/text/text_report.h"

namespace fathom::present {

std::string heap_groups_text(const analysis::HeapGroups& groups, const TextOptions& options);

}  // namespace fathom::present
