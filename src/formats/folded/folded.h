// Folded stacks: one line per stack, "frame;frame;frame COUNT", root first. The text that flamegraph.pl,
// inferno and speedscope read and that stackcollapse-*, py-spy and bpftrace scripts write. There is no
// escaping and no header.
//
// The first frame is the thread's name. Kernel frames end in "_[k]", inlined calls in "_[i]", code made at
// run time in "_[j]" (the suffixes of stackcollapse-perf --all). Source: the parsers of those tools. A tree is
// written as such a text by present/exports.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/profile.h"

namespace fathom::formats {

// One sample of metric cpu per line, the count its value. Also reads: decimal fractions (all values become
// thousandths), two columns in every line (a difference: the second is taken, and a note says so), Windows
// line ends, empty lines. `name` is the file's, for messages. kMalformed with the number of the first bad
// line, or when there is no stack at all.
Result<model::Profile> read_folded(std::string_view text, const std::string& name);

}  // namespace fathom::formats
