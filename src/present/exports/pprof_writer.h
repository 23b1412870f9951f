// profile.proto of the pprof project, as go tool pprof, Pyroscope, Parca and Grafana take it: one file for each kind of cost.
// Names of types and periods are those that these backends know (docs/exports.md has the table). Amounts of a moment and sums over
// time are files of their own, because servers decide by the duration which of the two a file has. Addresses are those of the files' own tables, so mappings
// begin at 0 and span everything, which pprof takes as "already adjusted". A place without a name is an address in a mapping
// with its build id, and no name is made up: a server with the symbols names it later. Threads and reasons of waits are labels;
// the reason is the leaf of its stack as well, as in every picture of fathom.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/core/selection.h"
#include "base/result.h"
#include "model/profile.h"

namespace fathom::present {

struct PprofOptions {
  analysis::Selection selection = {};
  bool fold_generics = false;
  std::vector<std::string> comments = {};  // sentences: what is known about the truth of the numbers
  // Types as Go's own endpoints have them, for readers that know these names only: waits as contentions and delay, the heap without
  // its peak, and of a part of the time what changed in it.
  bool as_go = false;
  // For servers: no labels of samples, because each distinct label becomes a series there. Samples of all threads are added up.
  bool for_server = false;
  bool allow_empty = false;  // a profile without samples, where the selection has nothing
};

// Not packed. kNotFound where the selection has nothing.
Result<std::string> write_pprof(const model::Profile& profile, const PprofOptions& options);

// What servers take at once: Pyroscope refuses profiles of more than 16,000 samples and, by default, of some megabytes unpacked.
struct PprofLimits {
  std::uint64_t most_samples = 15'999;
  std::size_t most_bytes = 1'900'000;  // unpacked; a sample that is larger by itself is a part of its own
};
// The same in parts, each a whole profile. Their samples are those of the one, each once, so sums over all parts are its sums.
Result<std::vector<std::string>> write_pprof_parts(const model::Profile& profile, const PprofOptions& options,
                                                   const PprofLimits& limits);

}  // namespace fathom::present
