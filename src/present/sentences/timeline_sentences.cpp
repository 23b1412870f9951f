#include "present/sentences/timeline_sentences.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/core/words.h"
#include "present/sentences/heap_sentences.h"

namespace fathom::present {

using namespace analysis;  // this folder puts into words what lies there

std::vector<std::string> sentences_of(const HeapTimeline& timeline) {
  std::vector<std::string> notes;
  const auto add = [&](std::string text) { notes.push_back(std::move(text)); };
  const TimelinePeak& peak = timeline.peak;
  if (timeline.points.empty() || peak.bytes <= 0) {
    add("Nothing was live in this time.");
    return notes;
  }
  std::string text = fmt::format("The peak was {} after the start: {}", seconds(std::max(0.0, peak.time_s)),
                                 bytes(peak.bytes));
  if (peak.error > 0) text += fmt::format(" ±{}", bytes(peak.error));
  if (peak.to_slice_end) {
    text += ", at the end of a time slice: moments in between are known only for all threads together.";
  } else if (peak.over > 0) {
    text += fmt::format(
        ". Between the ends of time slices the sum of several heaps is not exact: it was at most {} more.",
        bytes(peak.over));
  } else {
    text += peak.error > 0                ? "; ± is the 95 % interval."
            : peak.part_of_slice          ? ", to a part of a slice."
            : !timeline.losses.complete() ? ", in the part that was recorded."
                                          : ", exact to the event.";
  }
  add(std::move(text));
  if (!timeline.losses.complete())
    add(fmt::format(
        "The recording is incomplete: {}. The chart may be too high where a free is missing, and too low elsewhere.",
        text_of(timeline.losses)));
  for (const TimelineGroup& group : timeline.groups)
    if (group.kind == TimelineKind::kPassing)
      add("\"Passing\" memory was allocated and freed between two snapshots of its owners: its size is known, its owner is not.");
  for (const TimelineGroup& group : timeline.groups)
    if (group.kind == TimelineKind::kMapped)
      add("Mapped memory counts from the moment it is mapped; pages that were never touched are not resident.");
  if (!timeline.from_start) {
    std::string earlier = "Blocks from before the tracing are excluded";
    if (timeline.earlier_bytes != 0)
      earlier += fmt::format(": {} of anonymous memory were resident when tracing began",
                             bytes(static_cast<double>(timeline.earlier_bytes)));
    add(earlier + ".");
  }
  return notes;
}

}  // namespace fathom::present
