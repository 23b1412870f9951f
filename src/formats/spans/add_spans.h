// Puts the spans of a file into a recording: on its clock, and on its threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "formats/spans/span_file.h"
#include "model/profile.h"

namespace fathom::formats {

// How a file without a known clock was placed.
enum class SpanPlacement : std::uint8_t {
  kByClock,       // the file's clock is known, or its times fit the recording's clock
  kProcessStart,  // from the start of the process, whose threads were awake when the spans began and ended
  kUnknown,       // lengths only: no span has a thread
};

struct AddedSpans {
  std::uint64_t added = 0;
  std::uint64_t without_thread =
      0;                      // of these, without async ones: their thread was not recorded, or is not known
  std::uint64_t known = 0;    // in the recording already, and left out
  std::uint64_t outside = 0;  // before or after the recording, and left out
  SpanPlacement placement = SpanPlacement::kByClock;
};

// A time in which a thread was not on a CPU.
struct AsleepTime {
  model::ThreadId thread;
  std::uint64_t from_ns = 0, to_ns = 0;
};
std::vector<AsleepTime> asleep_times(const model::Profile& profile);

// `profile` has passed check(), and still does. `asleep`: of its threads, in any order.
AddedSpans add_spans(model::Profile& profile, const SpanFile& file, const std::vector<AsleepTime>& asleep);

// The thread whose work began and ended at these times, if exactly one thread of `pid` (0: of all) was awake at nearly all of
// them. For files that do not name their thread: a thread cannot mark a moment while it waits.
model::ThreadId thread_awake_at(const model::Profile& profile, const std::vector<AsleepTime>& asleep,
                                const std::vector<std::uint64_t>& moments, std::int32_t pid);

}  // namespace fathom::formats
