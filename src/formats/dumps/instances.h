// Finds out which dumps belong to one process. The pid is not enough: in a container every run has the pid 1,
// and a forked child continues the counter of its parent.
#pragma once

#include <string>
#include <vector>

#include "formats/dumps/dump_file.h"

namespace fathom::dumps {

// The dumps of one run of one process, in the order in which they were written.
struct Instance {
  std::string prefix;    // of the file names; empty: they are not jemalloc's
  std::int32_t pid = 0;  // 0: unknown
  std::vector<const DumpFile*> dumps;
  // This process has no first dump of its own, and another process with the same prefix and mappings has the
  // earlier ones: its dumps include the parent's live memory at the fork.
  bool forked = false;
  // Another process with the same prefix has the same mappings, and neither is known to be the parent: one
  // was forked from the other before its first dump, or addresses are not randomized.
  bool related = false;
  std::string title() const;  // "process 21626 (jeprof)"
};

// Groups dumps by prefix, pid and the addresses of the program's mappings, which differ between runs. Ordered
// by sequence number; dumps whose names have none stay in the order of `files`. `files` outlives the result.
std::vector<Instance> instances_of(const std::vector<DumpFile>& files);

}  // namespace fathom::dumps
