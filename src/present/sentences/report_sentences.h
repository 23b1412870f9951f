// A recording as a whole, in sentences: what was measured, how busy it was, what costs most, what it waited for.
#pragma once

#include <string>
#include <vector>

#include "analysis/summary/report.h"

namespace fathom::present {

// "12 threads"; "1,000 threads and more" where a row stands for many short-lived ones of a program that runs on; "" where none is known.
std::string threads_in_words(const analysis::Report& report);
// With those behind a row that many share.
std::uint64_t number_of_processes(const analysis::Report& report);

// Why there is no sample: "Nothing was sampled, of 2.1 ms of CPU time at 99 Hz."
// "The target used 1.30 s of CPU time and could not be sampled: the kernel does not let ...". Without the reason where it stands
// in the quality block below.
std::string unsampled_sentence(const model::Unsampled& unsampled, bool with_reason = true);
std::string sentence_of_nothing(const analysis::Report& report);

std::vector<std::string> sentences_of(const analysis::Report& report);

}  // namespace fathom::present
