// A recording's data on the page cache of mapped files: series of model/file_series.h. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/profile.h"

namespace fathom::analysis {

// Bytes, at the last reading before the end of the selection.
struct FileCacheRow {
  std::string path;  // of several tables of a database their folder
  std::int32_t pid = 0;
  double size = 0, cached = 0;
  double cached_first = 0, cached_most = 0;  // at the first reading, and at any
  std::optional<double> dirty, evicted;      // evicted: so lately that reading it again counts as pressure
};

// Of one process, or of all: a file that several processes map appears once. Most cached first. `until_ns`:
// on the profile's own clock.
std::vector<FileCacheRow> recorded_file_caches(const model::Profile& profile, std::optional<std::int32_t> pid,
                                               std::uint64_t until_ns);

}  // namespace fathom::analysis
