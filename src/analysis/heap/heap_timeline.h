// Live bytes over time, stacked by allocating code, with mapped memory and the resident set: how much the
// process held when, and what its peak consisted of. Data; the terminal chart, the picture and the massif
// writer draw it.
//
// A heap is known exactly at the ends of its slices and at its peak. Inside a slice only the maximum of live
// bytes is known, not its owners: there the groups are straight lines, and the excess above them is a group
// of its own (kPassing). So the groups add up to the total at every point.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/core/heap_losses.h"
#include "analysis/core/selection.h"
#include "model/profile.h"

namespace fathom::analysis {

enum class TimelineBy : std::uint8_t { kFunction, kModule, kThread, kAllocator };
// "function", "module", "thread", "allocator": what users type.
std::string_view to_string(TimelineBy by);
std::optional<TimelineBy> timeline_by_from(std::string_view name);

struct TimelineOptions {
  Selection selection = {};  // window, process, thread
  TimelineBy by = TimelineBy::kFunction;
  std::size_t groups = 8;  // with names of their own; the others are one
  // Points and lines are thinned out to so many equal pieces of time, each of which keeps its largest and its
  // last value: nothing was ever above what is drawn. 0: all points.
  std::size_t columns = 0;
  bool moved = false;  // the axis counts bytes instead of time: HeapTimeline::moved
};

enum class TimelineKind : std::uint8_t {
  kNamed,
  kOthers,
  kPassing,  // came and went inside a slice: its owner is unknown
  kMapped,   // by the program itself (mmap, brk); not all of it need be resident
};

struct TimelineGroup {
  TimelineKind kind = TimelineKind::kNamed;
  std::string name;
  std::string module;    // of a function; else empty
  double share = 0;      // of the area under the total, 0 to 1
  double at_peak = 0;    // bytes, at TimelinePeak::time_s
  double at_end = 0;     // bytes, at the last point
  std::size_t keys = 1;  // so many functions, modules ...: more than one in kOthers only
};

struct TimelinePoint {
  double time_s = 0;  // from the start of the recording
  double total = 0;   // bytes; the sum of `groups`
  std::vector<double> groups;
};

// A number that was read from the kernel now and then, on the same axis.
struct TimelineLine {
  std::string series;  // "memory.rss_anon"
  std::string label;   // "resident, anonymous"
  struct Value {
    double time_s = 0, bytes = 0;
  };
  std::vector<Value> values;
  double most() const;
};

// A moment with a name: a phase that began, a trigger, why a dump was written.
struct TimelineMark {
  double time_s = 0;
  std::string name;
};

struct TimelinePeak {
  double time_s = 0;
  double bytes = 0;
  double error = 0;  // half of the 95 % interval where the heap was sampled
  // The peak was not above bytes + `over`: 0 where the moment is exact, to the event.
  double over = 0;
  bool to_slice_end = false;      // moments inside of slices were not looked at
  bool part_of_slice = false;     // known to a part of a slice (model::Heap::chosen)
  bool composition_exact = true;  // whose it was is known for that very moment
};

// Bytes that were allocated and freed until a moment. On such an axis bursts are drawn out, and pauses take no room.
struct MovedBytes {
  double time_s = 0, bytes = 0;
};

struct HeapTimeline {
  TimelineBy by = TimelineBy::kFunction;
  double from_s = 0, to_s = 0;        // the axis
  std::vector<TimelineGroup> groups;  // from the bottom up
  std::vector<TimelinePoint> points;  // in order of time; two of one time are a jump
  std::vector<TimelineLine> lines;    // resident memory first; without those that are 0 all the time
  TimelinePeak peak;
  std::vector<TimelineMark> marks;  // inside of the axis, in order of time
  std::vector<MovedBytes>
      moved;               // from 0 at from_s on; between two of them a straight line. Empty: not asked for
  double tracing_s = 0;    // when the tracing began
  bool from_start = true;  // there are no blocks from before it
  bool sampled = false;
  HeapLosses losses;                // what is missing of what is drawn
  std::uint64_t earlier_bytes = 0;  // resident anonymous memory when the tracing began

  double most() const;  // of the total; the peak
  // Where a moment is on the axis, 0 to 1: a part of the time, or of the bytes where `moved` has some.
  double part_at(double time_s) const;
  // Whether nothing was live above the points, whatever happened between them.
  bool is_bound() const { return !sampled && !peak.to_slice_end && peak.over == 0 && losses.complete(); }
  // The line of that name, nullptr if there is none.
  const TimelineLine* line(std::string_view series) const;
};

// nullopt where no heap was traced. `profile` has passed check().
std::optional<HeapTimeline> make_heap_timeline(const model::Profile& profile, const TimelineOptions& options);

}  // namespace fathom::analysis
