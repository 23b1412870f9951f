// A call tree as folded stacks (formats/folded/folded.h): one line per stack, "frame;frame;frame COUNT".
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "analysis/core/call_tree.h"

namespace fathom::present {

struct FoldedOptions {
  // "_[i]" after inlined calls; tools that do not know it show it as part of the name.
  bool mark_inlined = false;
  bool mark_jit = false;  // "_[j]"
};

// Lines sorted by bytes, each stack once. Counts are samples for cpu, bytes or counts for heap, and
// microseconds for waits, rounded so that they still add up; what is below a microsecond in all is left out.
// ";" in a name becomes ":", control characters spaces.
std::string write_folded(const analysis::CallTree& tree, const FoldedOptions& options = {});
// The same piece by piece: the text may be ten times as large as the tree.
void write_folded(const analysis::CallTree& tree, const FoldedOptions& options,
                  const std::function<void(std::string_view)>& take);

}  // namespace fathom::present
