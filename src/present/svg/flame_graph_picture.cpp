// The picture itself. Its parts from top to bottom: title, subtitle, warnings, a line for the details of a
// frame, the frames, the legend and the notes. A frame is a line as thick as its row: "M12.3 0h45.6" is half
// of what a <rect> costs. The widest frames are elements of their own with a tooltip; the thousands of narrow
// ones share one path per colour, and the script knows them all from the data.
#include "present/svg/flame_graph_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "analysis/core/functions.h"
#include "analysis/core/words.h"
#include "present/svg/flame_graph_data.h"
#include "present/svg/flame_graph_layout.h"
#include "present/svg/flame_graph_style.h"
#include "present/svg/flame_graph_text.h"
#include "present/svg/flame_graph_words.h"
#include "present/svg/scripts.h"
#include "present/svg/svg_text.h"

namespace fathom::present {
namespace {

using analysis::CallTree;
using analysis::percent;

constexpr double kPad = 12;
constexpr double kLineHeight = 18;
constexpr double kDefaultWidth = 1200;
constexpr double kMinTooltipWidth = 2;     // pixels; too small to point at
constexpr std::size_t kMaxTooltips = 600;  // of the widest frames; about 100 bytes each
constexpr double kTextColumn = 6.3;        // mean width of a character of the 12 px text around the frames

class Picture {
 public:
  Picture(const CallTree& tree, const FlameGraphOptions& options)
      : tree_(tree),
        options_(options),
        width_(options.width.value_or(kDefaultWidth)),
        column_(options.font_size * 0.605),
        coloring_(options.coloring ? *options.coloring : color_tree(tree, options.colors, options.reverse)),
        words_(tree, options, coloring_) {
    const double inner = width_ - 2 * kPad;
    min_width_ = options.min_width.percent ? inner * options.min_width.value / 100 : options.min_width.value;
    layout_ = lay_out(tree, inner, min_width_);
    title_ =
        clean_text(options.title.empty() ? fmt::format("{} flame graph", model::info_of(tree.metric).title)
                                         : options.title);
    subtitle_ = clean_text(options.subtitle.empty() ? words_.measured() : options.subtitle);
    add_warnings();
    top_ = 58 + kLineHeight * static_cast<double>(warnings_.size()) +
           39;  // two lines for the details of a frame
  }

  std::string draw() {
    if (tree_.total <= 0) return draw_empty();
    const double frames = layout_.rows * options_.frame_height;
    const std::string foot = draw_foot(top_ + frames);
    std::string out = open(foot_end_);
    out += "<g class=\"f\" stroke-width=\"" + number(options_.frame_height - 1) + "\">\n";
    out += draw_frames();
    out += "</g>\n" + foot + draw_head();
    const FlameGeometry geometry{width_, kPad, top_, min_width_, column_, layout_.rows};
    // The data are most of the file, so no copy of them is kept.
    std::string data = flame_graph_data(tree_, coloring_, geometry, options_);
    data = escape_xml(data);
    const std::string_view script = flame_graph_script();
    out.reserve(out.size() + data.size() + script.size() + 100);
    out.append("<metadata>").append(data).append("</metadata>\n");
    out.append("<script><![CDATA[").append(script).append("]]></script>\n</svg>\n");
    return out;
  }

 private:
  void add_warnings() {
    const auto columns = static_cast<std::size_t>((width_ - 2 * kPad - 20) / kTextColumn);
    const auto add = [&](const std::string& text) {
      bool more = false;
      for (std::string& line : wrap(clean_text(text), columns))
        warnings_.push_back({std::move(line), std::exchange(more, true)});
    };
    add(words_.few_samples());
    for (const std::string& warning : options_.warnings) add(warning);
  }

  // "M12.3 0h78.9": a line of the length of the box. Wide boxes leave a gap to the next one.
  std::string line_of(const FlameBox& box) const {
    const double gap = box.width > 3 ? 0.6 : 0;
    return "M" + number(kPad + box.x) + " 0h" + number(std::max(box.width - gap, 0.05));
  }

  double y_of_row(std::uint32_t row) const {
    const std::uint32_t line = options_.inverted ? row : layout_.rows - 1 - row;
    return top_ + line * options_.frame_height + (options_.frame_height - 1) / 2;
  }

  // Widths from this on get elements of their own.
  double tooltip_width() const {
    std::vector<double> widths;
    for (const FlameBox& box : layout_.boxes) {
      if (box.width >= kMinTooltipWidth) widths.push_back(box.width);
    }
    if (widths.size() <= kMaxTooltips) return kMinTooltipWidth;
    std::nth_element(widths.begin(), widths.begin() + kMaxTooltips, widths.end(), std::greater<>());
    return std::nextafter(widths[kMaxTooltips], 1e300);
  }

  // Narrow frames of one colour, in tenths of a pixel: "M1230 4560h8m34 0h12". Neighbours grow together.
  struct Strip {
    std::vector<std::array<std::int64_t, 3>> pieces;  // row, start, end
    std::string path(const Picture& picture) {
      std::sort(pieces.begin(), pieces.end());
      std::string out;
      for (std::size_t i = 0; i < pieces.size();) {
        const auto [row, start, first_end] = pieces[i];
        std::int64_t end = first_end;
        const bool same_row = i > 0 && pieces[i - 1][0] == row;
        out += same_row ? fmt::format("m{} 0", start - pieces[i - 1][2])
                        : fmt::format("M{} {}", start,
                                      std::llround(10 * picture.y_of_row(static_cast<std::uint32_t>(row))));
        for (++i; i < pieces.size() && pieces[i][0] == row && pieces[i][1] == end; ++i) end = pieces[i][2];
        out += fmt::format("h{}", end - start);
      }
      return out;
    }
  };

  std::string draw_frames() {
    const double own_element = tooltip_width();
    std::vector<Strip> narrow(coloring_.classes.size() + 1);  // the last one: joined frames
    std::vector<std::string> wide(layout_.rows);
    std::vector<std::string> labels(layout_.rows);
    for (const FlameBox& box : layout_.boxes) {
      const std::size_t color = box.hidden > 0 ? coloring_.classes.size() : coloring_.of_node[box.node];
      if (box.width < own_element) {
        const std::int64_t start = std::llround(10 * (kPad + box.x));
        const std::int64_t end = std::llround(10 * (kPad + box.x + box.width));
        narrow[color].pieces.push_back({box.row, start, std::max(end, start + 1)});
        continue;
      }
      wide[box.row] += "<path class=\"" + class_name(color) + "\" d=\"" + line_of(box) + "\"><title>" +
                       escape_xml(words_.tooltip(box)) + "</title></path>\n";
      const auto columns = static_cast<std::size_t>(std::max(box.width - 5, 0.0) / column_);
      const std::string label = words_.label(box, columns);
      if (!label.empty()) {
        labels[box.row] += "<text x=\"" + number(kPad + box.x + 3) + "\">" + escape_xml(label) + "</text>\n";
      }
    }
    std::string out;
    for (std::uint32_t row = 0; row < layout_.rows; ++row) {
      if (wide[row].empty()) continue;
      out += "<g transform=\"translate(0 " + number(y_of_row(row)) + ")\">\n" + wide[row];
      if (!labels[row].empty()) {
        out += "<g transform=\"translate(0 " + number(options_.font_size * 0.35) + ")\">\n" + labels[row] +
               "</g>\n";
      }
      out += "</g>\n";
    }
    out += "<g transform=\"scale(.1)\" stroke-width=\"" + number(10 * (options_.frame_height - 1)) + "\">\n";
    for (std::size_t color = 0; color < narrow.size(); ++color) {
      if (narrow[color].pieces.empty()) continue;
      out += "<path class=\"" + class_name(color) + "\" d=\"" + narrow[color].path(*this) + "\"/>\n";
    }
    return out + "</g>\n";
  }

  std::string class_name(std::size_t color) const {
    return color == coloring_.classes.size() ? "z" : coloring_.classes[color].name;
  }

  std::string draw_head() const {
    std::string out =
        "<g class=\"head\"><rect class=\"bg\" width=\"100%\" height=\"" + number(top_ - 4) + "\"/>\n";
    const auto line = [&](std::string_view kind, double y, std::string_view text) {
      out += "<text class=\"" + std::string(kind) + "\" x=\"" + number(kPad) + "\" y=\"" + number(y) + "\">" +
             escape_xml(text) + "</text>\n";
    };
    line("title", 26, cut_end(title_, static_cast<std::size_t>((width_ - 2 * kPad) / 9)));
    line("muted", 46, cut_end(subtitle_, static_cast<std::size_t>((width_ - 2 * kPad) / kTextColumn)));
    double y = 46;
    for (const auto& [text, more] : warnings_) line(more ? "warn more" : "warn", y += kLineHeight, text);
    return out + "</g>\n";
  }

  // Legend and notes; the script moves them down when the frames need more room.
  std::string draw_foot(double frames_end) {
    double y = frames_end + 22;
    std::string out = "<g class=\"foot\">\n";
    double x = kPad;
    // How many frames are too narrow follows from the width, so the script shows or hides this item.
    std::vector<LegendItem> items = coloring_.legend;
    items.push_back({"too narrow to draw", {static_cast<std::uint16_t>(coloring_.classes.size())}, -1});
    for (const LegendItem& item : items) {
      const bool hidden = item.classes.front() == coloring_.classes.size() && layout_.hidden_frames == 0;
      const std::string share_text = item.self_share < 0 ? "" : " " + percent(item.self_share);
      const double item_width = 30 + kTextColumn * static_cast<double>(text_columns(item.label + share_text));
      if (x + item_width > width_ - kPad && x > kPad && !hidden) {
        x = kPad;
        y += kLineHeight;
      }
      std::string classes;
      for (const std::uint16_t row : item.classes)
        classes += (classes.empty() ? "" : " ") + std::to_string(row);
      out += "<g class=\"item\" data-classes=\"" + classes + "\" transform=\"translate(" + number(x) + " " +
             number(y) + ")\"" + (hidden ? " display=\"none\"" : "") + "><path class=\"" +
             class_name(item.classes.front()) + "\" stroke-width=\"12\" d=\"M0 -4h12\"/><text x=\"17\">" +
             escape_xml(item.label) +
             (share_text.empty() ? "" : "<tspan class=\"muted\">" + share_text + "</tspan>") +
             "</text></g>\n";
      if (!hidden) x += item_width;
    }
    const auto columns = static_cast<std::size_t>((width_ - 2 * kPad) / kTextColumn);
    const auto add = [&](const std::string& text, std::string_view kind = "muted") {
      bool more = false;
      for (const std::string& line : wrap(clean_text(text), columns)) {
        y += kLineHeight;
        out += "<text class=\"" + std::string(kind) + (std::exchange(more, true) ? " more" : "") + "\" x=\"" +
               number(kPad) + "\" y=\"" + number(y) + "\">" + escape_xml(line) + "</text>\n";
      }
    };
    if (coloring_.legend.empty() && layout_.hidden_frames == 0) y -= kLineHeight;
    y += 4;
    add(words_.orientation());
    add(coloring_.meaning);
    const std::string joined =
        "Too narrow to draw: " + analysis::counted(layout_.hidden_frames, "frame") + " narrower than " +
        number(options_.min_width.value) + (options_.min_width.percent ? " %" : " pixels") + ", joined in " +
        analysis::counted(layout_.hidden_boxes, "striped box", "striped boxes") + "; " +
        percent(analysis::share(tree_, layout_.hidden_value)) + " of all ends in them.";
    add(layout_.hidden_frames > 0 ? joined : "Every frame is drawn.", "muted narrow");
    for (const std::string& note : options_.notes) add(note);
    foot_end_ = y + 14;
    return out + "</g>\n";
  }

  static std::string cut_end(const std::string& text, std::size_t columns) {
    if (text_columns(text) <= columns) return text;
    std::string out;
    for (const char c : text) {  // whole characters only: a cut at a lead byte drops what follows it
      if ((static_cast<unsigned char>(c) & 0xC0) != 0x80 && text_columns(out) + 2 > columns) break;
      out += c;
    }
    return out + "…";
  }

  std::string open(double height) const {
    return svg_prologue("flame graph", kFlameGraphScriptSha256) +
           fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"fathom\" role=\"img\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n",
               number(width_), number(height)) +
           "<title>" + escape_xml(title_) + "</title>\n<desc>" +
           escape_xml(tree_.total > 0 ? words_.description(title_, subtitle_) : "Nothing was measured.") +
           "</desc>\n<style>" + flame_graph_style(coloring_, options_) + "</style>\n" +
           flame_graph_patterns(coloring_) + "<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n";
  }

  std::string draw_empty() const {
    const double height = top_ + 60;
    return open(height) + draw_head() + "<text class=\"title\" x=\"" + number(kPad) + "\" y=\"" +
           number(top_ + 16) +
           "\">Nothing to draw: no samples of this metric.</text>\n<text class=\"muted\" x=\"" +
           number(kPad) + "\" y=\"" + number(top_ + 38) +
           "\">The target may have been idle, or the selection is empty. fathom report FILE shows what was recorded.</text>\n</svg>\n";
  }

  const CallTree& tree_;
  const FlameGraphOptions& options_;
  double width_;
  double column_;
  Coloring coloring_;
  FlameWords words_;
  double min_width_ = 0;
  FlameLayout layout_;
  std::string title_, subtitle_;
  std::vector<std::pair<std::string, bool>> warnings_;  // a line, and whether it goes on with the one before
  double top_ = 0;
  double foot_end_ = 0;
};

}  // namespace

std::string draw_flame_graph(const CallTree& tree, const FlameGraphOptions& options) {
  return Picture(tree, options).draw();
}

}  // namespace fathom::present
