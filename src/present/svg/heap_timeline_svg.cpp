// From top to bottom: title, subtitle, the chart of the heap, a strip with the memory of the process on a scale of its own
// (on the heap's it would press the bands flat), the legend (bands to the left in their order, lines to the right), notes. A band is one path; its values are in <metadata> for the script.
#include "present/svg/heap_timeline_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/core/words.h"
#include "present/sentences/timeline_sentences.h"
#include "present/svg/flame_graph_text.h"
#include "present/svg/heap_timeline_data.h"
#include "present/svg/heap_timeline_style.h"
#include "present/svg/scripts.h"
#include "present/svg/svg_text.h"
#include "present/text/time_axis.h"

namespace fathom::present {
namespace {

using analysis::bytes;
using analysis::HeapTimeline;
using analysis::TimelineGroup;
using analysis::TimelineLine;
using analysis::TimelinePoint;

constexpr double kTimelinePad = 12;
constexpr double kLeft = 66, kRight = 16;  // of the chart: numbers, and half of the last time
constexpr double kTop = 74;
constexpr double kTimelineLineHeight = 18;
constexpr double kStrip = 56, kStripGap = 12;  // the strip of the process's memory, and above it
constexpr double kLeastOfStrip = 0.05;         // of the largest line: less is not drawn
constexpr double kMarkRow = 16;                // of names below the times
constexpr double kTimelineTextColumn = 6.3;    // mean width of a character of 12 px text
constexpr double kLabelColumn = 7.4;           // of bold text

class TimelinePicture {
 public:
  TimelinePicture(const HeapTimeline& timeline, const HeapTimelineOptions& options)
      : timeline_(timeline),
        options_(options),
        axis_(byte_axis(timeline.most(), static_cast<std::size_t>(std::max(3.0, options.height / 45)), true)),
        full_(timeline.most() * 1.04),
        width_(options.width - kLeft - kRight) {
    for (const TimelineLine& line : timeline.lines) most_of_lines_ = std::max(most_of_lines_, line.most());
    title_ = clean_text(options.title.empty()
                            ? fmt::format("Live heap over time, by {}", analysis::to_string(timeline.by))
                            : options.title);
    if (!options.subtitle.empty()) {
      subtitle_ = clean_text(options.subtitle);
    } else if (const std::vector<std::string> notes = sentences_of(timeline); !notes.empty()) {
      subtitle_ = clean_text(notes.front());
    }
  }

  std::string draw() {
    if (timeline_.points.empty() || timeline_.peak.bytes <= 0) return draw_empty();
    const std::string foot = draw_foot(bottom() + 30 + (timeline_.marks.empty() ? 0 : kMarkRow));
    std::string out = open(foot_end_) + draw_head();
    out += "<g class=\"chart\">\n";
    out += fmt::format("<rect class=\"bg\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", number(kLeft),
                       number(kTop), number(width_), number(options_.height));
    out += draw_bands() + draw_grid() + draw_lines() + draw_outages() + draw_labels() + draw_moments() +
           draw_marks();
    out += fmt::format(
        "<path class=\"cursor\" style=\"display:none\" d=\"M0 {}v{}\"/>\n</g>\n"
        "<g class=\"panel\" style=\"display:none\"></g>\n",
        number(kTop), number(bottom() - kTop));
    out += foot;
    return out + "<metadata>" + escape_xml(timeline_data(timeline_, {kLeft, kTop, width_, options_.height})) +
           "</metadata>\n<script><![CDATA[" + std::string(heap_timeline_script()) + "]]></script>\n</svg>\n";
  }

 private:
  double x_of(double time_s) const { return kLeft + timeline_.part_at(time_s) * width_; }
  bool counts_bytes() const { return !timeline_.moved.empty() && timeline_.moved.back().bytes > 0; }
  // Lines at the bottom of the strip carry no information except their label.
  bool in_strip(const TimelineLine& line) const {
    return line.most() > 0 && line.most() >= kLeastOfStrip * most_of_lines_;
  }
  double strip_top() const { return kTop + options_.height + kStripGap; }
  // Of everything that has time for its x.
  double bottom() const { return kTop + options_.height + (most_of_lines_ > 0 ? kStripGap + kStrip : 0); }
  double y_in_strip(double value) const {
    return strip_top() + kStrip - (kStrip - 4) * value / most_of_lines_;
  }
  double y_of(double value) const { return kTop + options_.height * (1 - value / full_); }

  // Of one band alone, whatever its colour.
  static std::string id_of(std::size_t group) { return "g" + std::to_string(group); }
  static std::string id_of_line(std::size_t line) { return "n" + std::to_string(line); }

  std::string draw_bands() const {
    std::string out;
    std::vector<double> below(timeline_.points.size());
    for (std::size_t g = 0; g < timeline_.groups.size(); ++g) {
      // There along the upper edge, back along the lower one.
      std::string there, back;
      for (std::size_t p = 0; p < timeline_.points.size(); ++p) {
        const std::string x = number(x_of(timeline_.points[p].time_s));
        const std::string low = number(y_of(below[p]));
        below[p] += timeline_.points[p].groups[g];
        there += (p == 0 ? "M" : "L") + x + " " + number(y_of(below[p]));
        back = "L" + x + " " + low + back;
      }
      const TimelineGroup& group = timeline_.groups[g];
      out += fmt::format("<path class=\"band {} {}\" d=\"{}{}Z\"><title>{}</title></path>\n",
                         timeline_band_class(timeline_, g), id_of(g), there, back,
                         escape_xml(name_of(group) + ": " + amount_of(g, " at the peak")));
    }
    return out;
  }

  std::string draw_grid() const {
    std::string lines, texts;
    const auto last = static_cast<std::size_t>(full_ / axis_.step);
    for (std::size_t i = 0; i <= last; ++i) {
      const double y = y_of(axis_.step * static_cast<double>(i));
      lines += fmt::format("M{} {}h{}", number(kLeft), number(y), number(width_));
      texts += fmt::format("<text class=\"muted end\" x=\"{}\" y=\"{}\">{}{}</text>\n", number(kLeft - 8),
                           number(y + 4), axis_.label(i), i == last ? " " + axis_.unit_name : std::string());
    }
    std::string marks;
    const auto tick = [&](double x, const std::string& label) {
      marks += fmt::format("M{} {}v5", number(x), number(bottom()));
      texts += fmt::format("<text class=\"muted middle\" x=\"{}\" y=\"{}\">{}</text>\n", number(x),
                           number(bottom() + 19), label);
    };
    const auto room = std::max<std::size_t>(2, static_cast<std::size_t>(width_ / 110));
    if (counts_bytes()) {
      const double all = timeline_.moved.back().bytes;
      const ByteAxis axis = byte_axis(all, room, true);
      for (std::size_t i = 0; axis.step * static_cast<double>(i) <= all; ++i)
        tick(kLeft + axis.step * static_cast<double>(i) / all * width_, axis.label(i) + " " + axis.unit_name);
    } else {
      for (const TimeTick& at : time_ticks(timeline_.from_s, timeline_.to_s, room))
        tick(x_of(at.time_s), at.label);
    }
    return "<path class=\"grid\" d=\"" + lines + "\"/>\n<path class=\"axis\" d=\"" + marks + "M" +
           number(kLeft) + " " + number(bottom()) + "h" + number(width_) +
           (bottom() > kTop + options_.height
                ? "M" + number(kLeft) + " " + number(kTop + options_.height) + "h" + number(width_)
                : "") +
           "\"/>\n" + texts;
  }

  std::string draw_lines() const {
    if (most_of_lines_ <= 0) return "";
    std::string out = fmt::format(
        "<rect class=\"bg\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n"
        "<text class=\"muted end\" x=\"{}\" y=\"{}\">{}</text>\n",
        number(kLeft), number(strip_top()), number(width_), number(kStrip), number(kLeft - 8),
        number(strip_top() + 12), bytes(most_of_lines_));
    for (std::size_t i = 0; i < timeline_.lines.size(); ++i) {
      const TimelineLine& line = timeline_.lines[i];
      if (!in_strip(line)) continue;
      std::string path;
      for (const TimelineLine::Value& value : line.values)
        path +=
            (path.empty() ? "M" : "L") + number(x_of(value.time_s)) + " " + number(y_in_strip(value.bytes));
      if (line.values.size() == 1) path += "h4";
      out += fmt::format("<path class=\"line {} {}\" d=\"{}\"><title>{}</title></path>\n",
                         timeline_line_class(i), id_of_line(i), path,
                         escape_xml(fmt::format("{}: up to {}", line.label, bytes(line.most()))));
    }
    return out;
  }

  // Time of which nothing is known: what the bands do there is only a line from one side to the other.
  std::string draw_outages() const {
    std::string out;
    for (const analysis::OutageRow& outage : timeline_.losses.outages) {
      const double left = std::clamp(x_of(outage.from_s), kLeft, kLeft + width_);
      const double right = std::clamp(x_of(outage.to_s), left, kLeft + width_);
      if (right <= left) continue;
      out += fmt::format(
          "<rect class=\"outage\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}</title></rect>\n",
          number(left), number(kTop), number(right - left), number(bottom() - kTop),
          escape_xml(fmt::format("not recorded from {} to {}", analysis::seconds(outage.from_s),
                                 analysis::seconds(outage.to_s))));
    }
    return out;
  }

  // The names of bands that are thick enough stand in them.
  std::string draw_labels() const {
    std::string out;
    constexpr int kPlaces = 48;
    std::vector<std::vector<double>> upper(kPlaces + 1);  // edges of all bands, in pixels
    for (int p = 0; p <= kPlaces; ++p) {
      const TimelinePoint point =
          point_at(timeline_, timeline_.from_s + (timeline_.to_s - timeline_.from_s) * p / kPlaces);
      double below = 0;
      upper[p].push_back(y_of(0));
      for (const double value : point.groups) upper[p].push_back(y_of(below += value));
    }
    const double place_width = width_ / kPlaces;
    for (std::size_t g = 0; g < timeline_.groups.size(); ++g) {
      const std::string label = frame_label(clean_text(timeline_.groups[g].name), 44);
      const double needed = kLabelColumn * static_cast<double>(text_columns(label)) + 12;
      const int places = static_cast<int>(std::ceil(needed / place_width));
      double best_room = 17, best_x = 0, best_y = 0;
      for (int from = 0; from + places <= kPlaces; ++from) {
        double low = 1e9, high = 0;  // the band is between them all along the text
        for (int p = from; p <= from + places; ++p) {
          low = std::min(low, upper[p][g]);
          high = std::max(high, upper[p][g + 1]);
        }
        const double left = kLeft + from * place_width, right = left + places * place_width;
        double room = low - high;
        if (x_of(timeline_.peak.time_s) > left && x_of(timeline_.peak.time_s) < right)
          room /= 3;  // the mark would go through it
        if (room <= best_room) continue;
        best_room = room;
        best_x = kLeft + (from + places / 2.0) * place_width;
        best_y = (low + high) / 2;
      }
      if (best_x == 0 || label.empty()) continue;
      const bool light = has_light_text(timeline_, g);
      out += fmt::format("<text class=\"inside {}\" x=\"{}\" y=\"{}\">{}</text>\n",
                         light ? "onDark" : "onLight", number(best_x), number(best_y + 4), escape_xml(label));
    }
    return out;
  }

  // Named moments: a tick across the axis each, and below the times the names for which there is room.
  std::string draw_moments() const {
    std::string out;
    double free_from = kLeft - 20;
    for (const analysis::TimelineMark& mark : timeline_.marks) {
      const double x = x_of(mark.time_s);
      const std::string name = clean_text(mark.name);
      out += fmt::format("<path class=\"moment\" d=\"M{} {}v12\"><title>{}</title></path>\n", number(x),
                         number(bottom() - 6),
                         escape_xml(fmt::format("{} at {}", name, analysis::seconds(mark.time_s))));
      const std::string label = frame_label(name, 24);
      const double needed = kTimelineTextColumn * static_cast<double>(text_columns(label));
      const double left = std::min(x - needed / 2, kLeft + width_ + kRight - needed - 4);
      if (left < free_from) continue;
      free_from = left + needed + 6;
      out += fmt::format("<text class=\"muted\" x=\"{}\" y=\"{}\">{}</text>\n", number(left),
                         number(bottom() + 19 + kMarkRow), escape_xml(label));
    }
    return out;
  }

  std::string draw_marks() const {
    std::string out;
    const double bottom = kTop + options_.height;
    const double begin = x_of(timeline_.tracing_s);
    if (begin > kLeft + 0.02 * width_)
      out += fmt::format(
          "<path class=\"mark\" d=\"M{0} {1}V{2}\"/><text class=\"muted\" x=\"{3}\" y=\"{4}\">tracing began</text>\n",
          number(begin), number(kTop), number(bottom), number(begin + 5), number(kTop + 13));
    const analysis::TimelinePeak& peak = timeline_.peak;
    const double x = x_of(peak.time_s), y = y_of(peak.bytes);
    std::string text = "peak " + bytes(peak.bytes);
    if (peak.error > 0) text += " ±" + bytes(peak.error);  // next to the value whose error it is
    text += " at " + analysis::seconds(peak.time_s);
    const double needed = kLabelColumn * static_cast<double>(text_columns(text)) + 14;
    const double left = std::clamp(x - needed / 2, kLeft, kLeft + width_ - needed);
    const double box_y = std::max(kTop - 24, y - 34);
    out += fmt::format(
        "<path class=\"mark\" d=\"M{0} {1}V{2}\"/><circle class=\"dot\" cx=\"{0}\" cy=\"{3}\" r=\"4\"/><rect class=\"flag\" x=\"{4}\" y=\"{5}\" width=\"{6}\" height=\"20\" rx=\"3\"/><text class=\"strong middle\" x=\"{7}\" y=\"{8}\">{9}</text>\n",
        number(x), number(box_y + 20), number(bottom), number(y), number(left), number(box_y), number(needed),
        number(left + needed / 2), number(box_y + 14), escape_xml(text));
    return out;
  }

  static std::string name_of(const TimelineGroup& group) {
    const std::string module = clean_text(group.module);
    return clean_text(group.name) + (module.empty() ? "" : " [" + module + "]");
  }

  std::string draw_head() const {
    const auto line = [&](std::string_view kind, double y, std::string_view text, double column) {
      const auto columns = static_cast<std::size_t>((options_.width - 2 * kTimelinePad) / column);
      const std::vector<std::string> lines = wrap(text, columns);
      return "<text class=\"" + std::string(kind) + "\" x=\"" + number(kTimelinePad) + "\" y=\"" + number(y) +
             "\">" +
             escape_xml(lines.empty()       ? ""
                        : lines.size() == 1 ? lines[0]
                                            : lines[0] + " …") +
             "</text>\n";
    };
    return line("title", 26, title_, 10.6) + line("muted", 44, subtitle_, kTimelineTextColumn);
  }

  // "1.2 MiB at the peak"; what was not there at that moment has a largest of its own.
  std::string amount_of(std::size_t group, std::string_view at_peak) const {
    constexpr double kSomething = 0.5;  // bytes
    const double now = timeline_.groups[group].at_peak;
    if (now >= kSomething) return bytes(now) + std::string(at_peak);
    double most = 0;
    for (const TimelinePoint& point : timeline_.points) most = std::max(most, point.groups[group]);
    return most < kSomething ? "next to nothing" : fmt::format("none then, up to {}", bytes(most));
  }

  // A row of the legend: a swatch, a name, and a figure at the right edge.
  struct LegendRow {
    double x = 0, y = 0, value_x = 0;
    std::string id, swatch, name, module, value, title;
  };
  std::string draw_row(const LegendRow& row) const {
    const auto room =
        static_cast<std::size_t>(std::max(8.0, (row.value_x - row.x - 100) / kTimelineTextColumn));
    std::string label = frame_label(row.name, room);
    if (label.empty()) label = clean_text(row.name).substr(0, 8);
    const bool has_room = text_columns(label) + text_columns(row.module) + 3 <= room;
    return fmt::format(
        "<g class=\"item\" data-of=\"{}\">{}<text x=\"{}\" y=\"{}\">{}{}</text><text class=\"end\" x=\"{}\" y=\"{}\">{}</text><title>{}</title></g>\n",
        row.id, row.swatch, number(row.x + 24), number(row.y), escape_xml(label),
        row.module.empty() || !has_room
            ? std::string()
            : "<tspan class=\"muted\" dx=\"6\">" + escape_xml(row.module) + "</tspan>",
        number(row.value_x), number(row.y), escape_xml(row.value), escape_xml(row.title));
  }

  static std::string draw_heading(double x, double end, double y, std::string_view text,
                                  std::string_view value) {
    return fmt::format(
        "<text class=\"muted\" x=\"{}\" y=\"{}\">{}</text><text class=\"muted end\" x=\"{}\" y=\"{}\">{}</text>\n",
        number(x), number(y), text, number(end), number(y), value);
  }

  // Bands from the top one down. `y`: of the heading; then of the last row.
  std::string draw_band_rows(double end, double& y) const {
    std::string out = draw_heading(kTimelinePad, end, y,
                                   fmt::format("live, by {}, as stacked", analysis::to_string(timeline_.by)),
                                   "at the peak");
    for (std::size_t g = timeline_.groups.size(); g-- > 0;) {
      const TimelineGroup& group = timeline_.groups[g];
      y += kTimelineLineHeight;
      const double share = timeline_.peak.bytes > 0 ? group.at_peak / timeline_.peak.bytes : 0;
      out += draw_row(
          {.x = kTimelinePad,
           .y = y,
           .value_x = end,
           .id = id_of(g),
           .swatch = fmt::format("<path class=\"s {}\" d=\"M{} {}h14\"/>", timeline_band_class(timeline_, g),
                                 number(kTimelinePad), number(y - 4)),
           .name = clean_text(group.name),
           .module = clean_text(group.module),
           .value = amount_of(g, ", " + analysis::percent(share)),
           .title = name_of(group)});
    }
    return out;
  }

  std::string draw_line_rows(double x, double& y) const {
    const double end = options_.width - kTimelinePad;
    std::string out = draw_heading(x, end, y, "the process, as the kernel counts it", "most");
    for (std::size_t i = 0; i < timeline_.lines.size(); ++i) {
      const TimelineLine& line = timeline_.lines[i];
      const bool drawn = in_strip(line);
      y += kTimelineLineHeight;
      out += draw_row({.x = x,
                       .y = y,
                       .value_x = end,
                       .id = id_of_line(i),
                       .swatch = drawn ? fmt::format("<path class=\"line {}\" d=\"M{} {}h18\"/>",
                                                     timeline_line_class(i), number(x), number(y - 4))
                                       : std::string(),
                       .name = line.label + (drawn ? "" : " (not drawn)"),
                       .module = "",
                       .value = bytes(line.most()),
                       .title = line.series});
    }
    return out;
  }

  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    for (const std::string& note : sentences_of(timeline_))
      if (clean_text(note) != subtitle_) notes.push_back(note);
    if (counts_bytes())
      notes.push_back(
          "The axis counts bytes allocated and freed: bursts are drawn out, pauses take no room.");
    notes.push_back(std::string("If several moments share a pixel, the largest is drawn") +
                    (timeline_.is_bound() ? ": no more was live in that time." : "."));
    std::string small;
    for (const TimelineLine& line : timeline_.lines)
      if (!in_strip(line) && line.most() > 0) small += (small.empty() ? "" : ", ") + line.label;
    if (!small.empty())
      notes.push_back(fmt::format("Not drawn because below {} of the largest line of the process: {}.",
                                  analysis::percent(kLeastOfStrip), small));
    notes.insert(notes.end(), options_.notes.begin(), options_.notes.end());
    return notes;
  }

  // `y`: of the line above; then of the last line.
  std::string draw_note(std::string_view note, double& y) const {
    const auto columns = static_cast<std::size_t>((options_.width - 2 * kTimelinePad) / kTimelineTextColumn);
    std::string out;
    bool more = false;
    for (const std::string& line : wrap(clean_text(note), columns)) {
      y += kTimelineLineHeight;
      out += fmt::format("<text class=\"muted{}\" x=\"{}\" y=\"{}\">{}</text>\n",
                         std::exchange(more, true) ? " more" : "", number(kTimelinePad), number(y),
                         escape_xml(line));
    }
    return out;
  }

  // The legend in two columns where there is room, and the notes below it.
  std::string draw_foot(double top) {
    const bool two = options_.width >= 760 && !timeline_.lines.empty();
    const double inner = options_.width - 2 * kTimelinePad;
    const double left_end = kTimelinePad + inner * (two ? 0.62 : 1);
    double y = top + 16;
    std::string out = "<g class=\"foot\">\n" + draw_band_rows(left_end, y);
    if (!timeline_.lines.empty()) {
      double lines_y = two ? top + 16 : y + kTimelineLineHeight + 6;
      out += draw_line_rows(two ? left_end + 40 : kTimelinePad, lines_y);
      y = std::max(y, lines_y);
    }
    y += 8;
    for (const std::string& note : notes()) out += draw_note(note, y);
    foot_end_ = y + 14;
    return out + "</g>\n";
  }

  std::string describe() const {
    std::string text = title_ + ".";
    for (const std::string& note : sentences_of(timeline_)) text += " " + note;
    std::string most;
    std::size_t told = 0;
    for (const TimelineGroup& group : timeline_.groups) {
      if (group.at_peak < 1 || told == 5) continue;
      ++told;
      most += (most.empty() ? "" : "; ") + name_of(group) + " " + bytes(group.at_peak);
    }
    return clean_text(text + (most.empty() ? "" : " At the peak: " + most + "."));
  }

  std::string open(double height) const {
    return svg_prologue("timeline", kHeapTimelineScriptSha256) +
           fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"fathom\" role=\"img\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n",
               number(options_.width), number(height)) +
           "<title>" + escape_xml(title_) + "</title>\n<desc>" + escape_xml(describe()) + "</desc>\n<style>" +
           timeline_style() + "</style>\n<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n";
  }

  std::string draw_empty() const {
    return open(kTop + 60) + draw_head() + "<text class=\"strong\" x=\"" + number(kTimelinePad) + "\" y=\"" +
           number(kTop + 20) + "\">Nothing to draw: nothing was live in this selection.</text>\n</svg>\n";
  }

  const HeapTimeline& timeline_;
  const HeapTimelineOptions& options_;
  ByteAxis axis_;
  double full_;                   // bytes at the upper edge of the heap's chart
  double most_of_lines_ = 0;      // bytes at the upper edge of the strip
  double width_;                  // of the chart
  std::string title_, subtitle_;  // clean
  double foot_end_ = 0;
};

}  // namespace

std::size_t timeline_columns(const HeapTimelineOptions& options) {
  return static_cast<std::size_t>(std::max(50.0, options.width / 2));
}

std::string heap_timeline_svg(const HeapTimeline& timeline, const HeapTimelineOptions& options) {
  return TimelinePicture(timeline, options).draw();
}

}  // namespace fathom::present
