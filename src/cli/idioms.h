// What people type for other profilers, and the line of fathom that does it: `fathom help idioms`, and the remedy for a first word
// that is another tool's command.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fathom::cli {

struct Idiom {
  std::string_view tool;    // "perf"
  std::string_view theirs;  // "perf record -g -p PID"
  std::string_view ours;    // "fathom record -p PID"
};
std::span<const Idiom> idioms();

// The line of fathom for the command `word` of another tool ("script", "annotate"); empty: none is known.
std::string_view line_for_foreign_command(std::string_view word);

// All of them as text, a tool after the other.
std::string idioms_text();

}  // namespace fathom::cli
