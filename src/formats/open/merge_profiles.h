// Merges several profiles if their numbers can be added up: first brings the inputs of model::merge() to one
// clock and one unit, and rejects values without a sum. Heap dumps of one process are handled elsewhere
// (formats/dumps/merge.h): they arrive here as one profile.
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
  std::vector<std::string> notes;  // sentences: what the sums mean; also in the profile's own notes
};

// Times stay unchanged if all inputs were recorded by one clock; otherwise the time of day aligns the
// recordings that know theirs, and an input without it starts when the first one does. Samples at different
// rates become times. kUsage, with the reason, for inputs that cannot be added up: a recording given twice,
// samples at an unknown rate together with others, a heap of one moment together with a recorded one. At
// least one input; all have passed check(), and so does the result.
Result<Merged> merge_profiles(std::vector<MergeInput> inputs);

}  // namespace fathom::open
