// Descriptors, threads and children that only become more, in words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/summary/report.h"
#include "analysis/summary/resource_growth.h"

namespace fathom::present {

// "file descriptors", "threads", "child processes", "zombies"
std::string_view noun_of(analysis::CountedResource resource);
// "50/s", "12 a minute"
std::string rate_of_counts(double per_s);
// "the limit of 1,024 (ulimit -n) is reached in 8 s"; "" without a limit, or if that takes more than a year.
std::string limit_in_words(analysis::CountedResource resource, std::uint64_t limit,
                           std::optional<double> left_s);

// "File descriptors grow by 50/s (120 to 620 in 10.00 s); the limit of 1,024 (ulimit -n) is reached in 8 s. ...", a sentence for each
// of find_resource_growth() of the report. "" where there are none.
std::string sentence_of_resources(const analysis::Report& report);
// "; file descriptors grow by 50/s", behind another axis of the problem.
std::string short_sentence_of_resources(const analysis::Report& report);
// For a headline: "descriptors grow", each once.
std::vector<std::string> short_words_of_resources(const analysis::Report& report);
// It is the answer before all others: the limit is reached within a day, or the program has little else to do.
bool resources_come_first(const analysis::Report& report);

}  // namespace fathom::present
