// Folded stacks: one line per stack, "frame;frame;frame COUNT", root first. The text that flamegraph.pl,
// inferno and speedscope read and that stackcollapse-*, py-spy and bpftrace scripts write. There is no
// escaping and no header.
//
// The first frame is the thread's name. Kernel frames end in "_[k]", inlined calls in "_[i]", code made at
// run time in "_[j]" (the suffixes of stackcollapse-perf --all). Source: the parsers of those tools.
#pragma once

#include <string>
#include <string_view>

#include "analysis/core/call_tree.h"
#include "base/result.h"
#include "model/profile.h"

namespace fathom::formats {

struct FoldedOptions {
  bool mark_inlined =
      false;              // "_[i]" after inlined calls; tools that do not know it show it as part of the name
  bool mark_jit = false;  // "_[j]"
};

// Lines sorted by bytes, each stack once. Counts are samples for cpu, bytes or counts for heap, and
// microseconds for waits, rounded so that they still add up; what is below a microsecond in all is left out.
// ";" in a name becomes ":", control characters spaces.
std::string write_folded(const analysis::CallTree& tree, const FoldedOptions& options = {});

// One sample of metric cpu per line, the count its value. Also reads: decimal fractions (all values become
// thousandths), two columns in every line (a difference: the second is taken, and a note says so), Windows
// line ends, empty lines. `name` is the file's, for messages. kMalformed with the number of the first bad
// line, or when there is no stack at all.
Result<model::Profile> read_folded(std::string_view text, const std::string& name);

}  // namespace fathom::formats
