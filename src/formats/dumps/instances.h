// Which dumps are of one process. Its number is not enough: in a container every run has the number 1, and a forked child
// goes on with the counter of its parent.
#pragma once

#include <string>
#include <vector>

#include "formats/dumps/dump_file.h"

namespace fathom::dumps {

// The dumps of one run of one process, in the order in which they were written.
struct Instance {
  std::string prefix;    // of the names; empty: they are no names of jemalloc's
  std::int32_t pid = 0;  // 0: not known
  std::vector<const DumpFile*> dumps;
  // It has no first dump of its own, and another process of the same prefix and the same mappings has those before: what
  // was live in that one at the fork is in these dumps too.
  bool forked = false;
  // Another process of the same prefix has the same mappings and neither is known to be the parent: one was forked from
  // the other before its first dump, or the places were not random.
  bool related = false;
  std::string title() const;  // "process 21626 (jeprof)"
};

// Grouped by prefix, pid and where the program was mapped, which is another place in each run. Ordered by the sequence
// number; dumps whose names say nothing stay in the order of `files`. `files` outlives the result.
std::vector<Instance> instances_of(const std::vector<DumpFile>& files);

}  // namespace fathom::dumps
