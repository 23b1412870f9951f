// The meanings of several dumps together. Each dump contains all live memory at its moment, so dumps of one
// process are never added up: the same bytes would count once per dump.
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
    kDefault,  // one file: that one; several of one process: kLatest; of several processes: an error
    kLatest,   // the last dump except the one at exit, which is written after the program has cleaned up
    kAll,      // a heap over time
    kLast,     // the same for the last `count` dumps
    kSum,      // live memory of several processes, each from its latest dump
    kMean,     // mean live memory over the dumps
    kMax,      // the dump with the most live memory
  };
  Kind kind = Kind::kDefault;
  std::size_t count = 0;
  bool operator==(const Merge&) const = default;
};

// "latest", "last:5", "all", "sum", "mean", "max". kUsage for anything else.
Result<Merge> parse_merge(std::string_view text);

// The profile of `files`, at least one; `pid`: use only this process's dumps. The profile's target and its
// first note explain the choice. kUsage if the choice does not make sense for these files, with one that
// does.
Result<model::Profile> merge_dumps(const std::vector<DumpFile>& files, const Merge& merge,
                                   std::optional<std::int32_t> pid, FilesByName names);

}  // namespace fathom::dumps
