// What the threads waited for, in sentences.
#pragma once

#include <string>
#include <vector>

#include "analysis/waits/wait_report.h"

namespace fathom::present {

// "Task shop::serve blocks its worker thread: 33 waits of up to 121 ms in shop::save (sleep), 3.96 s in all." "" if none does for
// long.
std::string async_task_sentence(const analysis::WaitReport& report);
std::vector<std::string> sentences_of(const analysis::WaitReport& report);

// "Async task shop::serve blocks a worker thread of its executor: 33 waits of up to 121 ms in shop::save, 3.96 s in all." "" if none
// does so for long.
std::string async_task_sentence(const analysis::WaitReport& report);

// "main waited 40 ms for worker (futex wait in Db::get) <- worker waited 38 ms (fsync of x.log)".
std::string in_words(const analysis::ChainRow& chain);

}  // namespace fathom::present
