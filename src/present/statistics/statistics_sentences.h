// What follows from the statistics that an allocator prints of itself, in words: what of its memory the program has, what
// lies free and why, what would give it back, and who waited for it. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attach/allocators/statistics/statistics.h"

namespace fathom::present {

struct StatisticsSentence {
  std::string text;
  std::vector<std::string> remedies{};  // what to type or to call, each with what it gives and costs
};

// "jemalloc 5.3.0 · 12.3 s after its start · 9 arenas".
std::string statistics_headline(const allocators::Statistics& one);

// Of one of them, the most important first. `prefix` of the allocator's functions is not in its statistics.
std::vector<StatisticsSentence> statistics_sentences(const allocators::Statistics& one);

// If there are several, they count as one process's in time order if their times since its start allow it.
std::vector<StatisticsSentence> growth_sentences(std::span<const allocators::Statistics> all);

}  // namespace fathom::present
