// What the peak of a heap's curve is, and what is not in the picture, in sentences.
#pragma once

#include <string>
#include <vector>

#include "analysis/heap/heap_timeline.h"

namespace fathom::present {

std::vector<std::string> sentences_of(const analysis::HeapTimeline& timeline);

}  // namespace fathom::present
