#include "present/text/text_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/core/words.h"
#include "present/sentences/timeline_sentences.h"
#include "present/text/heading.h"
#include "present/text/text_table.h"
#include "present/text/time_axis.h"

namespace fathom::present {
namespace {

using analysis::bytes;
using analysis::HeapTimeline;
using analysis::printable;
using analysis::TimelineGroup;
using analysis::TimelineKind;
using analysis::TimelineLine;
using analysis::TimelinePoint;

constexpr std::size_t kRows = 18;
constexpr std::size_t kGutter = 9;  // numbers and the axis
constexpr std::string_view kResident = "memory.rss_anon";
constexpr char kResidentMark = '*';

// From the 256 terminal colours, distinguishable with red-green colour blindness, too.
constexpr std::array<int, 10> kColors = {33, 208, 36, 176, 220, 75, 130, 109, 168, 66};

char letter(const HeapTimeline& timeline, std::size_t group) {
  switch (timeline.groups[group].kind) {
    case TimelineKind::kNamed:
      return static_cast<char>('A' + static_cast<char>(std::min<std::size_t>(group, 25)));
    case TimelineKind::kOthers:
      return '.';
    case TimelineKind::kPassing:
      return '?';
    case TimelineKind::kMapped:
      return 'm';
  }
  return '.';
}

// The largest moment of each column of the chart.
class Columns {
 public:
  Columns(const HeapTimeline& timeline, std::size_t count) : timeline_(timeline), count_(count) {
    most_.resize(count);
    lines_.resize(count, -1);
    const TimelineLine* resident = timeline.line(kResident);
    for (std::size_t c = 0; c < count; ++c) most_[c] = point_at(timeline, time_of(c));
    for (std::size_t c = 0; c < count; ++c) {
      TimelinePoint end = point_at(timeline, time_of(c + 1));
      if (end.total > most_[c].total) most_[c] = std::move(end);
    }
    for (const TimelinePoint& point : timeline.points) {
      TimelinePoint& here = most_[column_of(point.time_s)];
      if (point.total > here.total) here = point;
    }
    if (resident == nullptr || !is_drawn(timeline, *resident)) return;
    for (const TimelineLine::Value& value : resident->values)
      lines_[column_of(value.time_s)] = std::max(lines_[column_of(value.time_s)], value.bytes);
    join_line();
  }

  double time_of(std::size_t column) const {
    return timeline_.from_s +
           (timeline_.to_s - timeline_.from_s) * static_cast<double>(column) / static_cast<double>(count_);
  }
  std::size_t column_of(double time_s) const {
    const double length = timeline_.to_s - timeline_.from_s;
    if (length <= 0) return 0;
    const double place = (time_s - timeline_.from_s) / length * static_cast<double>(count_);
    return static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(count_ - 1)));
  }
  const TimelinePoint& most(std::size_t column) const { return most_[column]; }
  double line(std::size_t column) const { return lines_[column]; }  // negative: nothing was read

 private:
  // Columns between two readings lie on a straight line.
  void join_line() {
    std::size_t last = count_;
    for (std::size_t c = 0; c < count_; ++c) {
      if (lines_[c] < 0) continue;
      if (last != count_)
        for (std::size_t i = last + 1; i < c; ++i)
          lines_[i] = lines_[last] + (lines_[c] - lines_[last]) * static_cast<double>(i - last) /
                                         static_cast<double>(c - last);
      last = c;
    }
  }

  const HeapTimeline& timeline_;
  std::size_t count_;
  std::vector<TimelinePoint> most_;
  std::vector<double> lines_;
};

// The group that is drawn at this height, which is below the total.
std::size_t group_at(const TimelinePoint& point, double height) {
  double below = 0;
  std::size_t last = 0;
  for (std::size_t g = 0; g < point.groups.size(); ++g) {
    if (point.groups[g] <= 0) continue;
    last = g;
    below += point.groups[g];
    if (height < below) return g;
  }
  return last;
}

std::string chart(const HeapTimeline& timeline, const TextOptions& options) {
  const std::size_t width = timeline_columns(options);
  const Columns columns(timeline, width);
  const ByteAxis axis = byte_axis(most_drawn(timeline), kRows);
  const std::size_t labels_every = axis.steps > 2 * axis.round ? axis.round : 1;
  std::string out = fmt::format("{:>{}}\n", axis.unit_name, kGutter - 2);
  for (std::size_t r = axis.steps; r-- > 0;) {
    // The label of a row is the value at its upper edge.
    const std::size_t line = r + 1;
    out += fmt::format("{:>{}} |", line % labels_every == 0 ? axis.label(line) : "", kGutter - 2);
    std::string row;
    int color = -1;
    std::size_t used = 0;
    for (std::size_t c = 0; c < width; ++c) {
      const TimelinePoint& point = columns.most(c);
      const double low = axis.step * static_cast<double>(r);
      char mark = ' ';
      int wanted = -1;
      if (point.total > low) {
        const std::size_t group = group_at(point, std::min(low + axis.step / 2, (low + point.total) / 2));
        mark = letter(timeline, group);
        if (timeline.groups[group].kind == TimelineKind::kNamed) wanted = kColors[group % kColors.size()];
      }
      if (columns.line(c) >= 0 && columns.line(c) >= low && columns.line(c) < low + axis.step) {
        mark = kResidentMark;
        wanted = -1;
      }
      if (options.color && wanted != color && mark != ' ') {
        row += color >= 0 ? "\x1b[0m" : "";
        row += wanted >= 0 ? fmt::format("\x1b[38;5;{}m", wanted) : "";
        color = wanted;
      }
      row += mark;
      if (mark != ' ') used = row.size();
    }
    row.resize(used);
    if (color >= 0) row += "\x1b[0m";
    out += row + "\n";
  }
  out += fmt::format("{:>{}} +{}\n", "0", kGutter - 2, std::string(width, '-'));

  const auto put = [&](std::string& line, std::size_t column, std::string_view text) {
    if (line.size() > column && column != 0) return false;
    line.resize(column, ' ');
    line += text;
    return true;
  };
  std::string times;
  for (const TimeTick& tick :
       time_ticks(timeline.from_s, timeline.to_s, std::max<std::size_t>(2, width / 12))) {
    const std::size_t column = columns.column_of(tick.time_s);
    if (column + tick.label.size() <= width || times.empty())
      put(times, times.empty() ? column : std::max(column, times.size() + 1), tick.label);
  }
  out += std::string(kGutter, ' ') + times + "\n";

  // Named moments stand below their times, those for which there is room.
  std::string moments;
  for (const analysis::TimelineMark& mark : timeline.marks) {
    const std::string name = keep_both_ends(analysis::printable(mark.name), std::min<std::size_t>(24, width));
    const std::size_t start = std::min(columns.column_of(mark.time_s), width - display_width(name));
    if (!moments.empty() && display_width(moments) >= start) continue;
    moments.append(start - display_width(moments), ' ');
    moments += name;
  }
  if (!moments.empty()) out += std::string(kGutter, ' ') + moments + "\n";

  if (!timeline.losses.outages.empty()) {
    std::string unknown(width, ' ');
    for (const analysis::OutageRow& outage : timeline.losses.outages)
      for (std::size_t column = columns.column_of(outage.from_s);
           column <= columns.column_of(outage.to_s) && column < width; ++column)
        unknown[column] = '?';
    unknown.resize(unknown.find_last_of('?') + 1);
    out += std::string(kGutter, ' ') + unknown + "  ? not recorded\n";
  }

  // The marks: what they say stands to the right of them, or to the left where there is no room.
  std::string marks;
  if (timeline.tracing_s > timeline.from_s + (timeline.to_s - timeline.from_s) * 0.02)
    put(marks, columns.column_of(timeline.tracing_s), "^ tracing began");
  const std::string peak =
      fmt::format("peak: {} at {}", bytes(timeline.peak.bytes), analysis::seconds(timeline.peak.time_s));
  const std::size_t at = columns.column_of(timeline.peak.time_s);
  const bool right = at + 2 + peak.size() <= width || at < peak.size() + 1;
  const std::size_t start = right ? at : at - peak.size() - 1;
  std::string line = marks;
  if (line.size() + (line.empty() ? 0 : 2) > start) {
    out += std::string(kGutter, ' ') + line + "\n";
    line.clear();
  }
  line.resize(start, ' ');
  line += right ? "^ " + peak : peak + " ^";
  return out + std::string(kGutter, ' ') + line + "\n";
}

std::string groups_table(const HeapTimeline& timeline, const TextOptions& options) {
  TextTable table({{""},
                   {"at peak", Align::kRight},
                   {"%", Align::kRight},
                   {"at end", Align::kRight},
                   {"of all time %", Align::kRight},
                   {std::string(to_string(timeline.by)), Align::kLeft, true},
                   {timeline.by == analysis::TimelineBy::kFunction ? "module" : ""}});
  for (std::size_t g = timeline.groups.size(); g-- > 0;) {
    const TimelineGroup& group = timeline.groups[g];
    table.add({std::string(1, letter(timeline, g)), bytes(group.at_peak),
               analysis::percent_number(timeline.peak.bytes > 0 ? group.at_peak / timeline.peak.bytes : 0),
               bytes(group.at_end), analysis::percent_number(group.share), printable(group.name),
               keep_tail(printable(group.module), 28)});
  }
  return table.text(table_width(options), options.color);
}

std::string lines_table(const HeapTimeline& timeline, const TextOptions& options) {
  if (timeline.lines.empty()) return "";
  TextTable table({{""},
                   {"at peak", Align::kRight},
                   {"most", Align::kRight},
                   {"at end", Align::kRight},
                   {"memory of the process", Align::kLeft, true}});
  for (const TimelineLine& line : timeline.lines) {
    const TimelineLine::Value* nearest = &line.values.front();
    for (const TimelineLine::Value& value : line.values)
      if (std::fabs(value.time_s - timeline.peak.time_s) < std::fabs(nearest->time_s - timeline.peak.time_s))
        nearest = &value;
    const bool drawn = line.series == kResident && is_drawn(timeline, line);
    table.add({drawn ? std::string(1, kResidentMark) : "", bytes(nearest->bytes), bytes(line.most()),
               bytes(line.values.back().bytes), line.label});
  }
  return heading("The process, as the kernel counts it", options) +
         table.text(table_width(options), options.color);
}

}  // namespace

std::size_t timeline_columns(const TextOptions& options) {
  const std::size_t width = options.width == 0 ? 160 : options.width;
  return std::clamp<std::size_t>(width, 50, 220) - kGutter;
}

std::string heap_timeline_text(const HeapTimeline& timeline, const TextOptions& options) {
  const std::string title = fmt::format("Live heap over time, by {}", analysis::to_string(timeline.by));
  std::string out = heading(title, options);
  if (timeline.points.empty() || timeline.peak.bytes <= 0) {
    for (const std::string& note : sentences_of(timeline)) out += fill("  ", note, options.width, 2);
    return out;
  }
  out += chart(timeline, options);
  out += heading("What the peak consists of, from the top of the chart down", options);
  out += groups_table(timeline, options);
  out += lines_table(timeline, options);
  out += "\n";
  for (const std::string& note : sentences_of(timeline)) out += fill("", note, options.width, 2);
  std::string how = timeline.is_bound() ? "Each column shows its maximum: no more was live in that time."
                                        : "Each column shows the known maximum of its time.";
  if (const TimelineLine* resident = timeline.line(kResident);
      resident != nullptr && is_beyond(timeline, *resident))
    how += fmt::format(" Resident memory, up to {}, is far beyond the chart and left out.",
                       bytes(resident->most()));
  return out + fill("", how, options.width, 2);
}

}  // namespace fathom::present
