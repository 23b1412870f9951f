// Where to begin with a symptom: `fathom help symptoms`.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fathom::cli {

struct Symptom {
  std::string_view kind;   // "time", "memory"
  std::string_view seen;   // "it hangs"
  std::string_view begin;  // "fathom stacks -p PID"
  std::string_view shows;  // what that shows
};
std::span<const Symptom> symptoms();

// All of them as text, a kind after the other.
std::string symptoms_text();

}  // namespace fathom::cli
