// Profiles of pprof (profile.proto): what Go, gperftools, Pyroscope, Parca, Datadog and many others write. Packed ones are
// unpacked before they come here.
//
// cpu becomes the metric cpu (samples at the file's rate where every time is a multiple of its period, else ns), wall and
// off-CPU times become theirs, kinds of heap amounts one heap of one moment with the intervals of its sampling. Labels tell
// threads apart, as a thread is what a sample has next to its stack: a file without labels of threads has one for each set of
// labels, "kind=press worker=0". Samples without are "(no label)". What the model has no place for is said in a note.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/pprof/message.h"
#include "model/profile.h"

namespace fathom::formats {

// kMalformed where it is damaged; kUnsupported for the difference of two heap profiles, which has negative amounts. `name`
// is the file's, for messages.
Result<model::Profile> read_pprof(std::string_view bytes, const std::string& name);

}  // namespace fathom::formats
