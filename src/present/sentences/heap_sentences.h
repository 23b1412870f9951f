// What a traced heap says, what is missing of it and what makes it worth less, in sentences.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/core/heap_losses.h"
#include "analysis/summary/heap_report.h"

namespace fathom::present {

std::vector<std::string> sentences_of(const analysis::HeapReport& report);
std::string text_of(const analysis::HeapFinding& finding, const analysis::HeapReport& report);

// "12 of 3,456 events were lost (10 found no room, 2 had no ring)"; empty where none was.
std::string lost_events_text(const analysis::HeapLosses& losses);
// "nothing was recorded from 3.1 s to 9.2 s, as fathom did not answer"; empty where that did not happen.
std::string outages_text(const analysis::HeapLosses& losses);
// Both, and empty where nothing is missing.
std::string text_of(const analysis::HeapLosses& losses);
// "Up to 61.2 MiB belong to an allocator that fathom cannot see: jemalloc 5.3.0 in node, as ...; of its blocks
// nothing is known."; empty where there is none. `at_most`: bytes, where they are known.
std::string unseen_text(const std::vector<analysis::UnseenAllocator>& unseen, std::optional<double> at_most);
// "Of the heap, the blocks alone that were never freed. ..."; empty if all blocks are covered.
std::string block_choice_text(const analysis::HeapReport& report);
// "12 blocks (3.0 KiB) went with 1 program that executed another one (exec)."; empty where there were none.
std::string text_of(const analysis::HeapDropped& dropped);

}  // namespace fathom::present
