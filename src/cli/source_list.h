// record --sources cpu,wait,memory,heap=exact: the list of all that is recorded, and how it fits the options that each name one
// of these. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace fathom::cli {

struct Sources {
  bool cpu = false, wait = false, memory = false;
  std::string heap = {};  // "sampled", "exact"; empty: not recorded
  bool operator==(const Sources&) const = default;
};

// kUsage for a word that is no source, and for two kinds of heap.
Result<Sources> parse_sources(const std::vector<std::string>& words);

// "cpu,wait,heap=exact": what parse_sources() reads as the same.
std::string to_text(const Sources& sources);

// What options other than --sources demand or forbid.
struct SourceDemand {
  const char* option;  // "--leaks"
  enum class Kind { kNeeds, kForbids } kind = Kind::kNeeds;
  Sources what;
};

// kUsage for the first demand that the list does not meet, with the list that does as the remedy.
Result<> fits(const Sources& listed, const std::vector<SourceDemand>& demands);

}  // namespace fathom::cli
