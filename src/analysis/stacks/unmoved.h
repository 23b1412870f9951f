// A look that was made before the end of a recording, checked against the waits that were recorded after it.
#pragma once

#include <cstdint>
#include <span>

#include "analysis/stacks/look.h"
#include "model/profile.h"

namespace fathom::stacks {

// The verdicts whose threads have not run since the look: each is in a wait that began before it and lasts to the end of the
// recording or of the thread. Their waits are as long as that. `kept`: of keep_trouble(). `waits`: rows of the profile's tables, among
// them all that were in progress at the time of the look.
Look keep_unmoved(const Look& kept, const model::Profile& profile, std::span<const model::Wait> waits);

// Whether it was in progress at that time.
inline bool spans(const model::Wait& wait, std::uint64_t time_ns) {
  return wait.start_ns <= time_ns && wait.start_ns + wait.waited_ns + wait.queued_ns >= time_ns;
}

}  // namespace fathom::stacks
