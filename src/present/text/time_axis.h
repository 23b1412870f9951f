// Axes of charts over time: round numbers where the lines of a grid stand.
#pragma once

#include <string>
#include <vector>

#include "analysis/heap/heap_timeline.h"

namespace fathom::present {

// Bytes, in a unit that gives short numbers.
struct ByteAxis {
  double step = 1;                            // bytes between two lines
  std::size_t steps = 1;                      // the number of them that hold the largest value
  double unit = 1;                            // bytes
  std::string unit_name;                      // "MiB"
  std::size_t round = 5;                      // every so many steps the number is a round one
  std::string label(std::size_t line) const;  // "2.5", of the line at `line` steps
};
// As few steps as hold `most`, at most `max_steps` (1 or more). Steps of rows may be 1.2 or 3 of something;
// those of lines that all have their number are `round_only`.
ByteAxis byte_axis(double most, std::size_t max_steps, bool round_only = false);

// Round times inside of [from_s, to_s], at most `max_ticks` (2 or more) of them.
struct TimeTick {
  double time_s;
  std::string label;  // "1.5 s", "250 ms", "2 h"
};
std::vector<TimeTick> time_ticks(double from_s, double to_s, std::size_t max_ticks);

// The groups at a time between the points; all zeros outside of them.
analysis::TimelinePoint point_at(const analysis::HeapTimeline& timeline, double time_s);

// Next to a process that holds many times what was traced of it, the heap would be a stroke at the bottom:
// its line is left out.
bool is_beyond(const analysis::HeapTimeline& timeline, const analysis::TimelineLine& line);
// Neither beyond nor so little that it would lie on the axis.
bool is_drawn(const analysis::HeapTimeline& timeline, const analysis::TimelineLine& line);
// The largest value that is drawn.
double most_drawn(const analysis::HeapTimeline& timeline);

}  // namespace fathom::present
