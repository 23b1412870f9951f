// What the heap's numbers mean, for a terminal: each verdict with how sure it is, its evidence and what to
// type next.
#pragma once

#include <string>

#include "render/text_report.h"
#include "report/heap_verdicts.h"

namespace fathom::render {

// Eight at most, and all with --top 0; the JSON has all of them.
std::string heap_verdicts_text(const std::vector<report::HeapVerdict>& verdicts, const TextOptions& options);

}  // namespace fathom::render
