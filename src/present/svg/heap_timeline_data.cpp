#include "present/svg/heap_timeline_data.h"

#include <fmt/format.h>

#include <cstddef>
#include <vector>

#include "present/svg/flame_graph_text.h"
#include "present/svg/heap_timeline_style.h"
#include "present/svg/svg_text.h"

namespace fathom::present {
namespace {

using analysis::HeapTimeline;
using analysis::TimelineLine;
using analysis::TimelinePoint;

// The texts of all elements with commas between them.
template <class Rows, class Text>
std::string joined(const Rows& rows, Text text) {
  std::string out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i != 0) out += ',';
    out += text(i);
  }
  return out;
}

std::string seconds_number(double time_s) {
  return fmt::format("{:.6f}", time_s);
}

std::string bytes_number(double bytes) {
  return fmt::format("{:.0f}", bytes);
}

// The axis of bytes, for the pointer: as many places as it can tell apart.
std::string moved_data(const HeapTimeline& timeline) {
  constexpr std::size_t kMostPlaces = 1000;
  const std::vector<analysis::MovedBytes>& moved = timeline.moved;
  const std::size_t every = 1 + moved.size() / kMostPlaces;
  std::string out;
  for (std::size_t i = 0; i < moved.size(); ++i)
    if (i % every == 0 || i + 1 == moved.size())
      out += fmt::format("{}[{:.6f},{:.6f}]", i == 0 ? "" : ",", moved[i].time_s,
                         moved[i].bytes / moved.back().bytes);
  return out;
}

std::string group_data(const HeapTimeline& timeline, std::size_t group) {
  std::string label = frame_label(clean_text(timeline.groups[group].name), 48);
  if (label.empty()) label = "…";
  return "[" + json_string(label) + ",\"" + timeline_band_class(timeline, group) + "\"]";
}

std::string point_data(const TimelinePoint& point) {
  return "[" + joined(point.groups, [&](std::size_t g) { return bytes_number(point.groups[g]); }) + "]";
}

std::string line_data(const TimelineLine& line, std::size_t number) {
  return fmt::format(
      "{{\"label\":{},\"kind\":\"{}\",\"times\":[{}],\"values\":[{}]}}", json_string(line.label),
      timeline_line_class(number),
      joined(line.values, [&](std::size_t v) { return seconds_number(line.values[v].time_s); }),
      joined(line.values, [&](std::size_t v) { return bytes_number(line.values[v].bytes); }));
}

}  // namespace

std::string timeline_data(const HeapTimeline& timeline, const TimelineFrame& frame) {
  const bool counts_bytes = !timeline.moved.empty() && timeline.moved.back().bytes > 0;
  const auto& points = timeline.points;
  std::string out = fmt::format(
      "{{\"left\":{},\"top\":{},\"width\":{},\"height\":{},\"from\":{:.6f},\"to\":{:.6f},\"peak\":{:.6f}",
      number(frame.left), number(frame.top), number(frame.width), number(frame.height), timeline.from_s,
      timeline.to_s, timeline.peak.time_s);
  out += ",\"groups\":[" + joined(timeline.groups, [&](std::size_t g) { return group_data(timeline, g); });
  out += "],\"times\":[" + joined(points, [&](std::size_t p) { return seconds_number(points[p].time_s); });
  out += "],\"values\":[" + joined(points, [&](std::size_t p) { return point_data(points[p]); });
  if (counts_bytes) out += "],\"moved\":[" + moved_data(timeline);
  out += "],\"lines\":[" +
         joined(timeline.lines, [&](std::size_t i) { return line_data(timeline.lines[i], i); });
  return out + "]}";
}

}  // namespace fathom::present
