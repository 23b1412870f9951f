// Runs a program that does one thing for us, such as curl or getent, with bounds of its time and output.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fathom::metrics {

struct HelperProgram {
  std::vector<std::string> arguments;  // the first one is the program, searched in PATH
  std::string input = {};              // its standard input
  std::string file = {};               // what it reads at kHelperFile
};
inline constexpr const char* kHelperFile = "/proc/self/fd/3";

struct HelperEnd {
  int status = 0;        // exit status; 128 and more: ended by a signal
  std::string messages;  // the end of its standard error, lines fit for a terminal
};

// `take` receives the output in pieces; false ends the program. kNotFound: it is not installed. kSystem: it did not end before
// `deadline_ns` (CLOCK_MONOTONIC) or `stop` became readable; it is killed then.
Result<HelperEnd> run_helper(const HelperProgram& program, std::uint64_t deadline_ns, int stop,
                             const std::function<bool(std::string_view)>& take);

}  // namespace fathom::metrics
