// One run of a side of a comparison: a recording, or a part of one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "analysis/core/selection.h"
#include "model/facts.h"
#include "model/profile.h"
#include "model/recorded_time.h"

namespace fathom::analysis {

struct DiffRun {
  const model::Profile* profile = nullptr;    // outlives the report
  Selection selection = {};                   // if it restricts time, only values inside that range are
                                              // compared
  std::string label;                          // the file, as typed
  double work = 0;                            // units of work done in this time; 0: unknown
  std::span<const std::uint64_t> codes = {};  // UnionRun::codes; the array outlives the report
};

// The compared part of the recording, in ns from its start.
struct DiffWindow {
  std::uint64_t from = 0, to = 0;
  std::uint64_t unrecorded = 0;  // part of it: between merged recordings
  double seconds() const {
    return to > from + unrecorded ? static_cast<double>(to - from - unrecorded) * 1e-9 : 0;
  }
};
inline DiffWindow window_of(const DiffRun& run) {
  const model::Meta& meta = run.profile->meta;
  const std::uint64_t length = meta.end_ns > meta.start_ns ? meta.end_ns - meta.start_ns : 0;
  DiffWindow window;
  window.from = std::min(run.selection.from_ns.value_or(0), length);
  window.to = std::min(run.selection.to_ns.value_or(length), length);
  if (!run.selection.from_ns && !run.selection.to_ns) window.unrecorded = model::unrecorded_ns(meta);
  return window;
}

// A program recorded from its start to its end.
inline bool is_whole_run(const DiffRun& run) {
  const model::Meta& meta = run.profile->meta;
  const auto ending = model::facts_of<model::EndingFacts>(meta);
  return !model::facts_of<model::OriginFacts>(meta).command.empty() && (ending.exit || ending.signal) &&
         !model::facts_of<model::ImportFacts>(meta).merged && !run.selection.from_ns && !run.selection.to_ns;
}

}  // namespace fathom::analysis
