// Several profiles as one, where their numbers may be added up: what model::merge() joins is brought to one clock and one unit
// first, and what has no sum is refused. Heap dumps of one process are no such thing (formats/dumps/merge.h): they are one profile
// already when they come here.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/profile.h"

namespace fathom::open {

struct MergeInput {
  std::string name;  // of the file, for messages
  model::Profile profile;
};

struct Merged {
  model::Profile profile;
  std::vector<std::string>
      notes;  // sentences: what the sums mean; they stand in the profile's own notes, too
};

// Times stay what they are where all were recorded by one clock, and are brought to one by the time of day where the
// recordings know theirs; an input without begins where the first one does, beside it. Samples at different rates become
// times. kUsage, with the reason, for what cannot be added up: a recording given twice, samples at an unknown rate beside
// others, a heap of one moment beside a recorded one. At least one input; all pass check(), and so does the result.
Result<Merged> merge_profiles(std::vector<MergeInput> inputs);

}  // namespace fathom::open
