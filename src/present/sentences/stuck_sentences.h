// Threads of a recording that do not go on: what the look at its end found (analysis/stacks/kept_look.h), and waits for others that
// nothing ended.
#pragma once

#include <string>
#include <vector>

#include "analysis/summary/report.h"

namespace fathom::present {

// "Deadlock: 2 threads wait for each other ...", with a line for each thread of a circle. Empty if the look found nothing, or the
// recording has none.
struct StuckSentence {
  std::string text;
  std::vector<std::string> lines;
};
std::vector<StuckSentence> stuck_sentences(const analysis::Report& report);

// "12 threads wait in serve_request at a condition variable, for 9.70 s, and nothing woke them: they are stuck, or have no work."
// "" if no such wait is news: where the program is idle for a known reason, only those whose waker has exited are.
std::string unended_sentence(const analysis::Report& report);

}  // namespace fathom::present
