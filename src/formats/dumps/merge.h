// What several dumps mean together. Each dump holds all that was live at its moment, so dumps of one process are never
// added up: the same bytes would count once for each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/dumps/build.h"

namespace fathom::dumps {

struct Merge {
  enum class Kind : std::uint8_t {
    kDefault,  // one file: that; several of one process: kLatest; of several processes: refused
    kLatest,   // the last dump, but not the one at the exit: it is written after the program has cleaned up
    kAll,      // a heap over time
    kLast,     // the same of the last `count` dumps
    kSum,      // what is live in different processes, by the latest dump of each
    kMean,     // of what was live in the dumps
    kMax,      // the dump in which most was live
  };
  Kind kind = Kind::kDefault;
  std::size_t count = 0;
  bool operator==(const Merge&) const = default;
};

// "latest", "last:5", "all", "sum", "mean", "max". kUsage for anything else.
Result<Merge> parse_merge(std::string_view text);

// The profile of `files`, of which there is at least one; `pid`: of dumps of several processes those of this one. What the
// choice means stands in the profile's target and first in its notes. kUsage where the choice has no meaning for these
// files, with one that has.
Result<model::Profile> merge_dumps(const std::vector<DumpFile>& files, const Merge& merge,
                                   std::optional<std::int32_t> pid, FilesByName names);

}  // namespace fathom::dumps
