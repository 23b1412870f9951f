// The picture itself. Its parts from top to bottom: title, subtitle, warnings, a line for the details of a
// frame, the frames, the legend and the notes. A frame is a line as thick as its row: "M12.3 0h45.6" is half
// of what a <rect> costs. The widest frames are elements of their own with a tooltip; the thousands of narrow
// ones share one path per colour, and the script knows them all from the data.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "analysis/core/functions.h"
#include "analysis/core/interval.h"
#include "analysis/core/rounding.h"
#include "analysis/core/words.h"
#include "present/svg/flame_graph.h"
#include "present/svg/flame_graph_bound.h"
#include "present/svg/flame_graph_data.h"
#include "present/svg/flame_graph_layout.h"
#include "present/svg/flame_graph_text.h"
#include "present/svg/scripts.h"
#include "present/svg/svg_text.h"

namespace fathom::present {
namespace {

using analysis::CallTree;
using analysis::percent;
using analysis::with_commas;

constexpr double kPad = 12;
constexpr double kLineHeight = 18;
constexpr double kDefaultWidth = 1200;
constexpr double kMinTooltipWidth = 2;     // pixels; too small to point at
constexpr std::size_t kMaxTooltips = 600;  // of the widest frames; about 100 bytes each
constexpr double kTextColumn = 6.3;        // mean width of a character of the 12 px text around the frames

std::string text_xml(std::string_view clean) {
  return escape_xml(clean);
}

class Picture {
 public:
  Picture(const CallTree& tree, const FlameGraphOptions& options)
      : tree_(tree),
        options_(options),
        count_name_(clean_text(options.count_name)),
        width_(options.width.value_or(kDefaultWidth)),
        column_(options.font_size * 0.605),
        coloring_(options.coloring ? *options.coloring : color_tree(tree, options.colors, options.reverse)),
        names_(tree.names.size()) {
    for (std::size_t i = 0; i < names_.size(); ++i) names_[i] = clean_text(tree.names[i]);
    const double inner = width_ - 2 * kPad;
    min_width_ = options.min_width.percent ? inner * options.min_width.value / 100 : options.min_width.value;
    layout_ = lay_out(tree, inner, min_width_);
    if (options.comparison) add_up_sides(*options.comparison);
    title_ =
        clean_text(options.title.empty() ? fmt::format("{} flame graph", model::info_of(tree.metric).title)
                                         : options.title);
    subtitle_ = clean_text(options.subtitle.empty() ? measured() : options.subtitle);
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
  std::string measured() const {
    std::string text = amount_of(tree_.total);
    if (model::is_heap(tree_.metric)) {
      text += " in " + analysis::counted(tree_.samples, "stack");
    } else if (tree_.unit != "samples" && tree_.samples > 0)
      text += " in " + analysis::counted(tree_.samples, "sample");
    return text;
  }

  void add_warnings() {
    const auto columns = static_cast<std::size_t>((width_ - 2 * kPad - 20) / kTextColumn);
    const auto add = [&](const std::string& text) {
      bool more = false;
      for (std::string& line : wrap(clean_text(text), columns))
        warnings_.push_back({std::move(line), std::exchange(more, true)});
    };
    constexpr double kFew = 100;
    if (tree_.total > 0 && tree_.effective_samples > 0 && tree_.effective_samples < kFew) {
      // Waits stand for several each, and a few long ones decide: their number says little.
      add((tree_.waits > 0 ? "The waits tell as much as " : "Only ") +
          analysis::counted(tree_.unit == "samples" ? static_cast<std::uint64_t>(tree_.total)
                            : model::is_heap(tree_.metric) || tree_.waits > 0
                                ? static_cast<std::uint64_t>(tree_.effective_samples)
                                : tree_.samples,
                            "sample") +
          ": shares are uncertain by up to ±" +
          analysis::percent_number(analysis::wilson_interval(0.5, tree_.effective_samples).half_width()) +
          " points. Record longer, or under load.");
    }
    for (const std::string& warning : options_.warnings) add(warning);
  }

  std::string name_of(std::uint32_t node) const {
    return node == 0 ? clean_text(options_.root_name) : names_[tree_.nodes[node].name];
  }

  void add_up_sides(const FlameComparison& comparison) {
    base_total_ = comparison.base;
    fresh_total_ = comparison.fresh;
    base_total_.resize(tree_.nodes.size());
    fresh_total_.resize(tree_.nodes.size());
    for (std::size_t i = tree_.nodes.size(); i-- > 1;) {
      base_total_[tree_.nodes[i].parent] += base_total_[i];
      fresh_total_[tree_.nodes[i].parent] += fresh_total_[i];
    }
  }

  // The topmost frame of what is gone or new says so: the frames that it calls have the same colour. The legend has the signs.
  struct ChangeMark {
    std::string_view word, sign;
  };
  ChangeMark change_mark(std::uint32_t node) const {
    if (!options_.comparison || node == 0 || coloring_.of_node[node] == 0) return {};
    const std::uint32_t parent = tree_.nodes[node].parent;
    if (base_total_[node] == 0 && base_total_[parent] != 0) return {"new: ", "+ "};
    if (fresh_total_[node] == 0 && fresh_total_[parent] != 0) return {"gone: ", "− "};
    return {};
  }

  std::string label_of(const FlameBox& box, std::size_t columns) const {
    if (box.hidden > 0)
      return frame_label(analysis::counted(box.hidden, "frame") + ", " + percent(share(box.value)), columns);
    // The sign where the word would cost a part of the name.
    const ChangeMark mark = change_mark(box.node);
    for (const std::string_view before : {mark.word, mark.sign}) {
      const std::size_t room = text_columns(before);
      if (room == 0 || room >= columns) continue;
      const std::string name = frame_label(name_of(box.node), columns - room);
      if (name.empty() || (before == mark.word && name.starts_with("…"))) continue;
      return std::string(before) + name;
    }
    return frame_label(name_of(box.node), columns);
  }

  std::string share_of(std::int64_t value) const {
    const double share = static_cast<double>(value) / static_cast<double>(tree_.total);
    std::string text = percent(share);
    if (is_sampled(tree_) && value != tree_.total) {
      text += " ±" + analysis::percent_number(
                         analysis::wilson_interval(share, tree_.effective_samples).half_width());
    }
    return text;
  }

  // With the digits that are known.
  std::string amount_of(std::int64_t value) const {
    return count_name_.empty() && is_estimated(tree_) ? analysis::amount_of(tree_, value)
                                                      : quantity(value, tree_.unit, count_name_);
  }

  std::string tooltip(const FlameBox& box) const {
    std::string much = options_.comparison ? share_of(box.value) + " of the width"
                                           : amount_of(box.value) + ", " + share_of(box.value);
    if (options_.comparison && box.hidden == 0)
      much = compared(*options_.comparison, base_total_[box.node], fresh_total_[box.node]);
    if (box.hidden > 0) return analysis::counted(box.hidden, "narrow frame") + " (" + much + ")";
    const analysis::TreeNode& node = tree_.nodes[box.node];
    const std::string module = clean_text(tree_.modules[node.module].name);
    const std::string where = module.empty()          ? ""
                              : module.front() == '[' ? " " + module
                                                      : " [" + module + "]";
    const std::string woken = options_.wakers.empty() || options_.wakers[box.node].empty()
                                  ? ""
                                  : "; " + clean_text(options_.wakers[box.node]);
    return name_of(box.node) + where + " (" + much + ")" + woken;
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
                       escape_xml(tooltip(box)) + "</title></path>\n";
      const auto columns = static_cast<std::size_t>(std::max(box.width - 5, 0.0) / column_);
      const std::string label = label_of(box, columns);
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

  double share(std::int64_t value) const {
    return static_cast<double>(value) / static_cast<double>(tree_.total);
  }

  std::string class_name(std::size_t color) const {
    return color == coloring_.classes.size() ? "z" : coloring_.classes[color].name;
  }

  std::string draw_head() const {
    std::string out =
        "<g class=\"head\"><rect class=\"bg\" width=\"100%\" height=\"" + number(top_ - 4) + "\"/>\n";
    const auto line = [&](std::string_view kind, double y, std::string_view text) {
      out += "<text class=\"" + std::string(kind) + "\" x=\"" + number(kPad) + "\" y=\"" + number(y) + "\">" +
             text_xml(text) + "</text>\n";
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
    add(orientation());
    add(coloring_.meaning);
    const std::string joined = "Too narrow to draw: " + analysis::counted(layout_.hidden_frames, "frame") +
                               " narrower than " + min_width_text() + ", joined in " +
                               analysis::counted(layout_.hidden_boxes, "dashed box", "dashed boxes") + "; " +
                               percent(share(layout_.hidden_value)) + " of all ends in them.";
    add(layout_.hidden_frames > 0 ? joined : "Every frame is drawn.", "muted narrow");
    for (const std::string& note : options_.notes) add(note);
    foot_end_ = y + 14;
    return out + "</g>\n";
  }

  std::string min_width_text() const {
    return options_.min_width.percent ? number(options_.min_width.value) + " %"
                                      : number(options_.min_width.value) + " pixels";
  }

  std::string orientation() const {
    const std::string root = clean_text(options_.root_name);
    const std::string way = options_.inverted ? "downwards" : "upwards";
    const std::string first = options_.inverted ? "top" : "bottom";
    const std::string nearer = options_.inverted ? "above" : "below";
    const std::string width = "Width: " + (count_name_.empty() ? unit_in_words() : count_name_) +
                              "; left to right is by name, not by time.";
    if (options_.reverse) {
      return "Read it " + way + ": the " + first + " row is \"" + root +
             "\", the next one what was running (leaves); each frame was called by the frames beyond it. " +
             width;
    }
    return "Read it " + way + ": the " + first + " row is \"" + root + "\"" +
           (has_threads() ? ", then its threads" : "") + "; each frame was called by the frame " + nearer +
           " it. " + width;
  }

  bool has_threads() const {
    return tree_.nodes.size() > 1 && tree_.nodes[1].kind == analysis::NodeKind::kThread;
  }

  std::string unit_in_words() const {
    if (tree_.unit == "ns" || tree_.unit == "us") return "time";
    return tree_.unit;
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

  std::string describe() const {
    std::vector<std::pair<std::int64_t, std::uint32_t>> self(tree_.names.size());
    for (std::uint32_t i = 0; i < self.size(); ++i) self[i].second = i;
    for (std::size_t i = 1; i < tree_.nodes.size(); ++i) {
      self[tree_.nodes[i].name].first -=
          options_.reverse ? (tree_.nodes[i].depth == 1 ? tree_.nodes[i].total : 0) : tree_.nodes[i].self;
    }
    std::sort(self.begin(), self.end());
    if (options_.comparison) return title_ + ". " + subtitle_ + ". " + orientation();
    std::string text = "Flame graph of " + measured() + ". " + orientation();
    std::string most;
    for (std::size_t i = 0; i < self.size() && i < 5 && self[i].first < 0; ++i) {
      most += (most.empty() ? "" : "; ") + names_[self[i].second] + " " + percent(share(-self[i].first));
    }
    return most.empty() ? text : text + " Most of it ran in: " + most + ".";
  }

  std::string style() const {
    std::string css =
        ".fathom{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}.fathom{background:#fff}.fathom text{fill:#1b1f24}.fathom .bg{fill:#fff}.fathom .muted{fill:#5a6472}.fathom .warn{fill:#9a3412}.fathom .title{font-size:17px;font-weight:600}.fathom .f text{fill:#14171b;pointer-events:none;white-space:pre;font:" +
        number(options_.font_size) + "px " + font() +
        "}.fathom .z{stroke:#b0b5bc;stroke-dasharray:2 1}.fathom .hb{stroke:#f4f4f4}.fathom .hl{stroke:#c3c8d0}";
    std::string dark =
        ".fathom{background:#15181c}.fathom text{fill:#e6e9ed}.fathom .bg{fill:#15181c}.fathom .muted{fill:#9aa4b2}.fathom .warn{fill:#fdba74}.fathom .z{stroke:#6a717b}.fathom .hb{stroke:#3a3d42}.fathom .hl{stroke:#5b5f66}";
    const bool bright = !coloring_.classes.empty() && coloring_.classes.front().dark_text_in_dark;
    if (!bright) dark += ".fathom .f text{fill:#f4f5f7}";
    for (const ColorClass& color : coloring_.classes) {
      if (color.hatched) {
        css += ".fathom ." + color.name + "{stroke:url(#fathom-hatch)}";
        continue;
      }
      if (color.striped) {
        css += ".fathom ." + color.name + "{stroke:url(#fathom-" + color.name + ")}.fathom ." + color.name +
               "b{stroke:" + to_string(color.light) + "}";
        if (color.dark != color.light)
          dark += ".fathom ." + color.name + "b{stroke:" + to_string(color.dark) + "}";
        continue;
      }
      css += ".fathom ." + color.name + "{stroke:" + to_string(color.light) + "}";
      if (color.dark != color.light)
        dark += ".fathom ." + color.name + "{stroke:" + to_string(color.dark) + "}";
    }
    // The reader's choice of a background is meant for the colours of the light scheme.
    if (!options_.background.empty())
      return css + ".fathom{background:" + options_.background + "}.fathom .bg{fill:" + options_.background +
             "}";
    return css + "@media(prefers-color-scheme:dark){" + dark + "}";
  }

  // A font's name goes into CSS: letters, digits, blanks, commas, hyphens.
  std::string font() const {
    std::string name;
    for (const char c : options_.font) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                         c == ' ' || c == ',' || c == '-';
      if (plain) name += c;
    }
    return (name.empty() ? "" : name + ",") +
           "ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace";
  }

  // Frames without a name are hatched: greys alone are hard to distinguish. For strokes a pattern needs user
  // space.
  std::string hatch() const {
    const bool used = std::any_of(coloring_.classes.begin(), coloring_.classes.end(),
                                  [](const ColorClass& color) { return color.hatched; });
    std::string stripes;
    for (const ColorClass& color : coloring_.classes) {
      if (!color.striped) continue;
      stripes +=
          "<pattern id=\"fathom-" + color.name +
          "\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><path class=\"" +
          color.name +
          "b\" stroke-width=\"7\" d=\"M0 3.5h7\"/><path stroke=\"#fff\" stroke-opacity=\".55\" stroke-width=\"3\" d=\"M0 0v7\"/></pattern>\n";
    }
    if (!stripes.empty()) return stripes;
    return used
               ? "<pattern id=\"fathom-hatch\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><path class=\"hb\" stroke-width=\"5\" d=\"M0 2.5h5\"/><path class=\"hl\" stroke-width=\"2\" d=\"M0 0v5\"/></pattern>\n"
               : "";
  }

  std::string open(double height) const {
    return svg_prologue("flame graph", kFlameGraphScriptSha256) +
           fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"fathom\" role=\"img\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n",
               number(width_), number(height)) +
           "<title>" + escape_xml(title_) + "</title>\n<desc>" +
           escape_xml(tree_.total > 0 ? describe() : "Nothing was measured.") + "</desc>\n<style>" + style() +
           "</style>\n" + hatch() + "<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n";
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
  std::string count_name_;  // clean
  double width_;
  double column_;
  Coloring coloring_;
  std::vector<std::string> names_;  // clean
  double min_width_ = 0;
  FlameLayout layout_;
  std::vector<std::int64_t> base_total_, fresh_total_;  // by node, of a comparison
  std::string title_, subtitle_;
  std::vector<std::pair<std::string, bool>> warnings_;  // a line, and whether it goes on with the one before
  double top_ = 0;
  double foot_end_ = 0;
};

}  // namespace

Result<MinWidth> min_width_from(std::string_view text) {
  MinWidth result;
  std::string_view digits = text;
  if (digits.ends_with('%')) {
    result.percent = true;
    digits.remove_suffix(1);
  } else if (digits.ends_with("px")) {
    digits.remove_suffix(2);
  }
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, result.value);
  if (error != std::errc{} || stop != end || !std::isfinite(result.value) || result.value < 0 ||
      (result.percent && result.value > 100)) {
    return fail(ErrorKind::kUsage, "\"" + clean_text(text) + "\" is not a width",
                "--min-width 0.5 (pixels) or 0.1%");
  }
  return result;
}

Result<std::string> background_from(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kNamed = {{{"yellow", "#fbf7d4"},
                                                                                    {"blue", "#e3ecf8"},
                                                                                    {"green", "#e4f4e1"},
                                                                                    {"grey", "#ededed"},
                                                                                    {"gray", "#ededed"}}};
  for (const auto& [name, color] : kNamed) {
    if (name == text) return std::string(color);
  }
  const bool hex = text.size() == 7 && text[0] == '#' &&
                   text.find_first_not_of("0123456789abcdefABCDEF", 1) == std::string_view::npos;
  if (hex) return std::string(text);
  return fail(ErrorKind::kUsage, "no background is called \"" + clean_text(text) + "\"",
              "--bg-colors with yellow, blue, green, grey or #rrggbb");
}

std::string compared(const FlameComparison& comparison, std::int64_t base, std::int64_t fresh) {
  const double before = static_cast<double>(base) * comparison.scale;
  const double after = static_cast<double>(fresh) * comparison.scale;
  const auto text = [&](double value) {
    return comparison.percent ? percent(value) : analysis::amount(value, comparison.unit);
  };
  std::string change = after == before ? "no change"
                       : before == 0   ? "new"
                       : after == 0    ? "gone"
                                       : (after > before ? "+" : "") + percent((after - before) / before);
  return "base " + text(before) + ", new " + text(after) + ": " + change;
}

namespace {

// The options of the whole tree, for a tree of which parts are left out: colours, legend and both sides of a comparison are
// those of the whole.
FlameGraphOptions options_of(const BoundTree& bound, const Coloring& coloring, FlameGraphOptions options) {
  const std::size_t count = bound.tree.nodes.size();
  options.coloring = coloring;
  options.coloring->of_node.resize(count);
  for (std::size_t i = 0; i < count; ++i) options.coloring->of_node[i] = coloring.of_node[bound.from[i]];
  if (options.comparison) {
    const FlameComparison& whole = *options.comparison;
    FlameComparison kept = whole;
    const auto sum_below = [](const std::vector<std::int64_t>& own, const CallTree& tree,
                              std::uint32_t node) {
      const std::uint32_t depth = tree.nodes[node].depth;
      std::int64_t sum = own[node];
      for (std::size_t i = node + 1; i < tree.nodes.size() && tree.nodes[i].depth > depth; ++i) sum += own[i];
      return sum;
    };
    for (const auto& [from, to] :
         {std::pair{&whole.base, &kept.base}, std::pair{&whole.fresh, &kept.fresh}}) {
      to->assign(count, 0);
      const auto& nodes = bound.whole->nodes;
      for (std::size_t i = 0; i < count; ++i) {
        if (!bound.stands_for_children[i]) {
          (*to)[i] = (*from)[bound.from[i]];
          continue;
        }
        for (std::uint32_t child = nodes[bound.from[i]].first_child; child != analysis::kNoNode;
             child = nodes[child].next_sibling)
          if (nodes[child].total < bound.least) (*to)[i] += sum_below(*from, *bound.whole, child);
      }
    }
    options.comparison = std::move(kept);
  }
  if (!options.wakers.empty()) {
    std::vector<std::string> kept(count);
    for (std::size_t i = 0; i < count; ++i) kept[i] = options.wakers[bound.from[i]];
    options.wakers = std::move(kept);
  }
  options.notes.push_back(fmt::format(
      "To keep this file below {}, {} are left out, each {} or less; they hold {} of the total.",
      analysis::bytes(static_cast<double>(options.max_bytes)), analysis::counted(bound.frames, "frame"),
      quantity(bound.largest, bound.tree.unit, ""), percent(analysis::share(bound.tree, bound.value))));
  return options;
}

}  // namespace

std::string flame_graph_svg(const CallTree& tree, const FlameGraphOptions& asked) {
  constexpr std::size_t kBytesOfNode = 2;  // at least: flags and a symbol
  constexpr std::size_t kUsualBytes = 8;   // so the first attempt is nearly always the last one
  FlameGraphOptions options = asked;
  if (!options.coloring) options.coloring = color_tree(tree, options.colors, options.reverse);
  std::string svg;
  std::size_t most = std::min(tree.nodes.size(), options.max_bytes / kBytesOfNode);
  if (most == tree.nodes.size()) {
    svg = Picture(tree, options).draw();
    if (svg.size() <= options.max_bytes) return svg;
  }
  most = std::min(tree.nodes.size(), 2 * options.max_bytes / kUsualBytes);
  while ((most /= 2) > 0) {
    svg = {};
    const BoundTree bound = keep_largest(tree, most);
    svg = Picture(bound.tree, options_of(bound, *options.coloring, options)).draw();
    if (svg.size() <= options.max_bytes) break;
  }
  return svg;
}

}  // namespace fathom::present
