// The heap by one grouping as a table: flat and cumulative, rates, and how much of it was temporary.
#pragma once

#include <string>

#include "render/text_report.h"
#include "report/heap_groups.h"

namespace fathom::render {

std::string heap_groups_text(const report::HeapGroups& groups, const TextOptions& options);

}  // namespace fathom::render
