// What all threads waited for, in one sentence.
#pragma once

#include <string>

#include "analysis/summary/report.h"

namespace fathom::present {

// "Waited 15.0 s (100 % of its threads' time): 9.0 s for a lock or another thread in Ledger::post, ..."; before it how
// long pools were idle, where they were for most of the time. Empty where nothing is known.
std::string sentence_of_waiting(const analysis::Report& report);

}  // namespace fathom::present
