// What the heap's numbers mean, for a terminal: each verdict with how sure it is, its evidence and what to
// type next.
#pragma once

#include <string>

#include "analysis/verdicts/heap_verdicts.h"
#include "present/text/text_report.h"

namespace fathom::present {

// Eight at most, and all with --top 0; the JSON has all of them.
std::string heap_verdicts_text(const std::vector<analysis::HeapVerdict>& verdicts,
                               const TextOptions& options);

}  // namespace fathom::present
