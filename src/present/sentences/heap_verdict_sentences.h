// What the heap's numbers mean, in sentences: analysis/verdicts/heap_verdicts.h holds the facts.
#pragma once

#include <string>
#include <vector>

#include "analysis/verdicts/heap_verdicts.h"

namespace fathom::present {

std::string sentence_of(const analysis::HeapVerdict& verdict);  // without the confidence
std::vector<std::string> evidence_of(const analysis::HeapVerdict& verdict);
std::vector<std::string> doubts_of(const analysis::HeapVerdict& verdict);
std::string advice_of(const analysis::HeapVerdict& verdict);

}  // namespace fathom::present
