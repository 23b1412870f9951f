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
  std::string text = fmt::format("Most was live {} after the start: {}", seconds(std::max(0.0, peak.time_s)),
                                 bytes(peak.bytes));
  if (peak.error > 0) text += fmt::format(" ±{}", bytes(peak.error));
  if (peak.to_slice_end) {
    text += ", to the end of a slice: the moments between are known of all threads together only.";
  } else if (peak.over > 0) {
    text += fmt::format(
        ". For moments between the ends of slices the sum of several heaps is not known exactly: it was at "
        "most {} more.",
        bytes(peak.over));
  } else {
    text += peak.error > 0                ? "; ± is the 95 % interval."
            : peak.part_of_slice          ? ", to a part of a slice."
            : !timeline.losses.complete() ? ", as far as it was recorded."
                                          : ", exact to the event.";
  }
  add(std::move(text));
  if (!timeline.losses.complete())
    add(
        fmt::format("Not everything was recorded: {}. What is drawn may be too high by blocks whose free is "
                    "missing, and too low by others.",
                    text_of(timeline.losses)));
  for (const TimelineGroup& group : timeline.groups)
    if (group.kind == TimelineKind::kPassing)
      add("\"Passing\" came and went between two moments at which it is known whose bytes are live: how "
          "much it "
          "was is known, whose it was is not.");
  for (const TimelineGroup& group : timeline.groups)
    if (group.kind == TimelineKind::kMapped)
      add("Memory that the program mapped counts from its mapping on; pages that it never touched are not "
          "resident.");
  if (!timeline.from_start) {
    std::string earlier = "Blocks from before the tracing are not in it";
    if (timeline.earlier_bytes != 0)
      earlier += fmt::format(": {} of anonymous memory were resident when it began",
                             bytes(static_cast<double>(timeline.earlier_bytes)));
    add(earlier + ".");
  }
  return notes;
}

}  // namespace fathom::present
