// A recording without its end is still being made, or its recorder was killed. A recorder holds a lock on its file as long as it
// lives (model/store/writer.h); whoever reads the file looks for that and puts the answer here. Never stored.
#pragma once

#include "model/profile.h"

namespace fathom::model {

inline constexpr const char* kStillRecordedFact = "still_recorded";

inline bool is_still_recorded(const Profile& profile) {
  return profile.quality.truncated && profile.meta.facts.contains(kStillRecordedFact);
}

}  // namespace fathom::model
