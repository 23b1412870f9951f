// Whether the values of metric cpu count each thing there was, as callgrind's instructions and Go's goroutines do: no share of
// them has a sampling error, and they are no CPU time.
#pragma once

#include "model/profile.h"

namespace fathom::model {

// What a reader of such files writes down (Meta::facts): "all".
inline constexpr const char* kCountedFact = "counted";

inline bool counts_all(const Profile& profile) {
  const auto fact = profile.meta.facts.find(kCountedFact);
  return fact != profile.meta.facts.end() && fact->second == "all";
}

}  // namespace fathom::model
