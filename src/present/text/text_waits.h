// The tables about waiting, for a terminal. Each is empty when there is nothing to show.
#pragma once

#include <string>

#include "analysis/waits/wait_report.h"
#include "present/text/text_report.h"

namespace fathom::present {

// Causes, and what was folded as idle: what a report of waits shows unasked.
std::string causes_text(const analysis::WaitReport& waits, const TextOptions& options);
// Which thread waits for what, where each thread's time goes, and chains of waits (--waits).
std::string waits_text(const analysis::WaitReport& waits, const TextOptions& options);
// Futexes by place and by object, with the histogram of the worst (--locks).
std::string locks_text(const analysis::WaitReport& waits, const TextOptions& options);
// Files, mapped files and peers, with their stacks (--files).
std::string files_text(const analysis::WaitReport& waits, const TextOptions& options);

}  // namespace fathom::present
