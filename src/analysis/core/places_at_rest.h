// Where threads of a stripped program park when they have no work. Without names a parked worker looks like
// one that waits for a lock, but time separates them: a lock's holder runs, waits for a CPU, or waits for
// something else, so while all threads of a process are parked at once, none of them waits for a lock. A
// place (the calls from the root to the unnamed function that waits) is a place of rest if it spent a good
// part of its time like that. Unrecorded time of a thread counts as work.
#pragma once

#include <cstdint>
#include <functional>
#include <set>

#include "analysis/core/wait_cause.h"
#include "model/profile.h"

namespace fathom::analysis {

class PlacesAtRest {
 public:
  // `is_idle` answers for a row of Profile::waits whether a rule knows it by name. `percent`: so much of the time spent at a
  // place passed while the whole process was at rest.
  PlacesAtRest(const model::Profile& profile, const WaitCauses& causes,
               const std::function<bool(const model::Wait&)>& is_idle, std::uint32_t percent);
  bool holds(const model::Wait& wait) const;

 private:
  struct Place {
    std::uint32_t process = 0, stack = 0;  // rows; the stack of the caller, 0: no such place
    auto operator<=>(const Place&) const = default;
  };
  Place place_of(const model::Wait& wait) const;

  const model::Profile& profile_;
  std::set<Place> places_;
};

}  // namespace fathom::analysis
