// Where the time goes, in sentences of one line.
#pragma once

#include <string>
#include <vector>

#include "analysis/summary/report.h"

namespace fathom::present {

// What was recorded, for a title: "slow 20000" for "./slow 20000", because who started it knows where it lay.
std::string target_without_folder(const model::Profile& profile);
// "slow 20000 · 2.74 s · 1 thread, 0.41 of 2 CPUs · 1,138 samples"
std::string headline_of(const analysis::Report& report);
// "98 % of CPU time is below LogParser::parse_line (slow.cpp:24): nearly all of it building std::basic_regex."
std::string sentence_of_hot_spot(const analysis::Report& report);
// The functions that this sentence is about, as it writes them; empty where it is about kinds of work.
std::vector<std::string> subjects_of_hot_spot(const analysis::Report& report);
// The function, or kind of work, that this sentence is about, and its share of the CPU time: "LogParser::parse_line", "41 %". Both
// empty if there is none, or as long as it has no name.
struct HotName {
  std::string name, share;
};
HotName hot_name_of(const analysis::Report& report);
// "It ran for 120 ms only, 1.2 % of one core."; empty where it ran for more than a few percent of one.
std::string sentence_of_little_cpu(const analysis::Report& report);
// "own code 1.3 % · libstdc++ 71 % · libc 22 % · kernel 5.6 %": whose instructions ran.
std::string modules_line(const analysis::Report& report);
// "Throwing exceptions takes 40 % of CPU time."; "" if no such cost is worth a word, or the first sentence has it.
std::string sentence_of_runtime_costs(const analysis::Report& report);

// "slow.cpp:24"; empty if unknown.
// Of code made at run time, of which no line is known, where the function `name` begins.
std::string place_text(const analysis::SourcePlace& place, std::string_view name);
// What metric cpu is of: a file may count something else, and then it says what.
std::string cost_in_words(const analysis::Report& report);
// "98 %", "7.3 %": as many digits as mean something.
std::string rounded_percent(double share);

}  // namespace fathom::present
