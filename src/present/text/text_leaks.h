// What was never freed, for a terminal: sentences, one paragraph for each group with its frames, what was
// suppressed, and a last line that scripts can look for.
#pragma once

#include <cstddef>
#include <string>

#include "analysis/heap/heap_leaks.h"

namespace fathom::present {

struct LeakTextOptions {
  std::size_t width = 100;  // columns; 0: lines as long as they are
  bool cut_names = true;    // to the width; false in pipes
  bool color = false;
  std::size_t top = 20;       // groups; 0 for all. Reports what is cut off
  std::size_t frames = 16;    // of a group; 0 for all
  std::string own_cost = {};  // what recording cost (quality_sentences.h); empty: not known
};

std::string leaks_text(const analysis::LeakReport& report, const LeakTextOptions& options);

}  // namespace fathom::present
