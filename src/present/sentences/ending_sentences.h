// How the recorded programs ended, in the words of a report's first line.
#pragma once

#include <string>

#include "analysis/summary/report.h"

namespace fathom::present {

// "killed by SIGKILL: out of memory, limit 64.0 MiB of cgroup /x, 61.2 MiB resident at last"; of several programs that
// were attached to, and of children, each with its number. Empty where all ended by themselves or run on.
std::string endings_text(const analysis::Report& report);

}  // namespace fathom::present
