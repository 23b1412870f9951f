// The class of problem in words, and what to do next.
#pragma once

#include <string>
#include <vector>

#include "analysis/summary/problem_class.h"

namespace fathom::present {

// For a headline: "CPU-bound", "waits for locks and other threads", "idle"; "" if unknown.
std::string short_words(const analysis::ProblemClass& problem);
// "CPU-bound. A thread was running in 93 % of the busy time (threshold: 70 %)", without the last full stop; "" if it is unknown.
std::string sentence_of(const analysis::ProblemClass& problem);
// Commands that show more, the most useful first; `file` is the recording.
std::vector<std::string> next_commands(const analysis::Report& report, const analysis::ProblemClass& problem,
                                       const std::string& file);

}  // namespace fathom::present
