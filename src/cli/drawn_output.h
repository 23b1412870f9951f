// `record -o FILE` where the ending of FILE names another kind of file than a recording: fathom records into FILE with the ending
// .fathom and draws FILE from it. So a picture's name never holds a recording.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace fathom::cli {

struct DrawnOutput {
  std::string recording;  // "run.fathom"
  std::string file;       // "run.svg"; empty: only the recording
};

// `output` as the user gave it. An ending that fathom cannot write ("run.perf") is an error; no ending, and .fathom, are recordings.
Result<DrawnOutput> split_output(std::string_view output);

// Draws `file` from the recording, by its ending.
Result<> draw_output(const DrawnOutput& output, bool force);

}  // namespace fathom::cli
