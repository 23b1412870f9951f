// What the threads waited for, in sentences.
#pragma once

#include <string>
#include <vector>

#include "analysis/waits/go_locks.h"
#include "analysis/waits/lock_holders.h"
#include "analysis/waits/wait_report.h"

namespace fathom::present {

std::vector<std::string> sentences_of(const analysis::WaitReport& report);

// "Async task shop::serve blocks a worker thread of its executor: 33 waits of up to 121 ms in shop::save, 3.96 s in all." "" if none
// does so for long.
std::string async_task_sentence(const analysis::WaitReport& report);

// "Threads waited 4.10 s for locks, most of it in take_it, and for 3.20 s of that the thread that held the lock, low, could run and
// had no CPU."
std::string sentence_of(const analysis::HolderDelay& delay);
// What it delays, as a share of the recording's length: above 1 where several threads wait.
double share_of_time(const analysis::HolderDelay& delay, const analysis::WaitReport& report);

// What is seen of goroutines at locks, and that the rest is not.
std::string sentence_of(const analysis::GoLocks& locks);

// "main waited 40 ms for worker (futex wait in Db::get) <- worker waited 38 ms (fsync of x.log)".
std::string in_words(const analysis::ChainRow& chain);

}  // namespace fathom::present
