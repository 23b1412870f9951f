// What the threads waited for, in sentences.
#pragma once

#include <string>
#include <vector>

#include "analysis/waits/wait_report.h"

namespace fathom::present {

std::vector<std::string> sentences_of(const analysis::WaitReport& report);

// "main waited 40 ms for worker (futex wait in Db::get) <- worker waited 38 ms (fsync of x.log)".
std::string in_words(const analysis::ChainRow& chain);

}  // namespace fathom::present
