// --span NAME --slower-than 100ms: a recording cut down to the time of chosen spans, so that every view shows that time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/profile.h"

namespace fathom::analysis {

struct SpanChoice {
  std::string name;  // exact, or a part of it that only one kind has
  std::uint64_t slower_than_ns = 0;
  std::optional<std::uint64_t> faster_than_ns = {};
};

struct KeptSpans {
  std::string name;  // of the kind
  std::uint64_t spans = 0, of = 0;
  double time_ns = 0;
};

// Drops samples and faults outside of the spans, and cuts waits to the parts inside; counts them as filtered. Of a span without a
// thread, the time of all threads is kept. Times of threads become those inside the spans. Heap, series and the counts of probed
// functions stay whole. kNotFound if there is no such kind, no span of it is long enough, or none is known to be in the recording;
// kUsage if the name fits several kinds.
Result<KeptSpans> keep_spans(model::Profile& profile, const SpanChoice& choice);

}  // namespace fathom::analysis
