// Which unfreed blocks to ignore. The syntax is LeakSanitizer's, so projects can use their existing files:
//
//   # a comment
//   leak:PATTERN       PATTERN is found in a function, a source file or a module of any frame of the stack
//
// In a PATTERN, * matches any text, even none; ^ at its start and $ at its end anchor it to the start and the
// end of the name. A kind other than "leak" is an error, because ignoring the line would hide the mistake.
// Source: LeakSanitizer's documentation of suppressions. Unlike there, a $ elsewhere is literal: Rust has it
// in names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/profile.h"

namespace fathom::analysis {

// leak_suppressions.txt: what the C library and its like keep until the program ends.
extern const std::string_view kLeakSuppressionsText;

struct Suppression {
  std::string pattern;  // as written
  std::string glob;     // the same for matches_glob (idle.h)
  std::string file;     // where it was read
  std::uint32_t line = 0;
  bool built_in = false;
};

// kMalformed with the number of the line. `name` is the file's.
Result<std::vector<Suppression>> parse_suppressions(std::string_view text, const std::string& name);
// Those of leak_suppressions.txt.
const std::vector<Suppression>& built_in_suppressions();

// Asks about the stacks of one profile; names are matched once. Both outlive it.
class Suppressed {
 public:
  Suppressed(const model::Profile& profile, const std::vector<Suppression>& suppressions);
  // The first row that matches a frame of this stack.
  std::optional<std::uint32_t> by(model::StackId stack);

 private:
  std::uint32_t of_frame(model::FrameId frame);
  std::uint32_t of_text(model::StringId text);

  const model::Profile& profile_;
  const std::vector<Suppression>& suppressions_;
  // Row of `suppressions_`, kNone, or kUnknown if not computed yet. The lowest row of all frames matches
  // first, so a child can inherit its parent's result.
  std::vector<std::uint32_t> texts_, frames_, stacks_;
};

}  // namespace fathom::analysis
