#include "present/callgraph/call_graph_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "analysis/core/words.h"
#include "present/callgraph/layered_layout.h"
#include "present/svg/flame_graph_text.h"
#include "present/svg/svg_text.h"

namespace fathom::present {
namespace {

constexpr std::size_t kMostFunctions = 1000, kMostCalls = 5000;
constexpr double kPad = 16, kHead = 66;  // around the graph, and above it for the title
constexpr double kCommentSize = 11, kCommentLine = 15;
constexpr double kBoxPad = 6, kSmallLetters = 10, kLineFactor = 1.25;
constexpr double kNameMin = 10, kNameMax = 26;  // size of the letters of a name, by the square root of self
constexpr double kTitleSize = 17;
constexpr double kColumn = 0.6;  // mean width of a letter, in units of its size
constexpr std::size_t kNameColumns = 36;
constexpr double kArrowLength = 7, kArrowWidth = 6;
constexpr double kLoopWidth = 22;  // of the arrow of a function that calls itself
constexpr double kLeastWidth = 360;

constexpr std::string_view kStyle =
    "svg{background:#fff}text{font-family:system-ui,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:#1b1f24;text-anchor:middle}.h{text-anchor:start}.m{fill:#5a6472}.b rect{stroke:#8a4b2a;stroke-width:.8}.c path{fill:none;stroke:#6a717b}.c .p{fill:#6a717b;stroke:none}.c text{font-size:9px;fill:#5a6472;paint-order:stroke;stroke:#fff;stroke-width:3px}.d{stroke-dasharray:5 3}.c:hover path{stroke:#c2410c}.c:hover .p{fill:#c2410c;stroke:none}.b:hover rect{stroke-width:2}@media(prefers-color-scheme:dark){svg{background:#15181c}text{fill:#e6e9ed}.m,.c text{fill:#9aa4b2}.c text{stroke:#15181c}.c path{stroke:#8b94a0}.c .p{fill:#8b94a0;stroke:none}}";

struct Box {
  std::vector<std::string> lines;  // the name, what it costs itself, and of how much
  double name_size = kNameMin;
  double width = 0, height = 0;
};

double letters(const CallGraph& graph, const CallGraph::Function& function) {
  return kNameMin + (kNameMax - kNameMin) * std::sqrt(graph.share(function.self));
}

double text_width(std::string_view text, double size) {
  return static_cast<double>(text_columns(text)) * kColumn * size;
}

Box box_of(const CallGraph& graph, const CallGraph::Function& function) {
  Box box;
  box.name_size = letters(graph, function);
  box.lines.push_back(frame_label(clean_text(function.name), kNameColumns));
  if (function.self != 0) box.lines.push_back(graph.amount_with_share(function.self));
  if (function.total != function.self) box.lines.push_back("of " + graph.amount_with_share(function.total));
  double width = 0;
  for (std::size_t i = 0; i < box.lines.size(); ++i)
    width = std::max(width, text_width(box.lines[i], i == 0 ? box.name_size : kSmallLetters));
  box.width = width + 2 * kBoxPad;
  box.height =
      (box.name_size + static_cast<double>(box.lines.size() - 1) * kSmallLetters) * kLineFactor + 2 * kBoxPad;
  return box;
}

std::string text_at(double x, double y, double size, std::string_view text) {
  return fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\">{}</text>", number(x), number(y), number(size),
                     escape_xml(text));
}

class CallGraphPicture {
 public:
  explicit CallGraphPicture(const CallGraph& graph) : graph_(graph) {}

  std::string draw() {
    std::vector<LayoutNode> nodes;
    for (const CallGraph::Function& function : graph_.functions) {
      boxes_.push_back(box_of(graph_, function));
      nodes.push_back({boxes_.back().width, boxes_.back().height});
    }
    std::vector<LayoutEdge> edges;
    for (const CallGraph::Call& call : graph_.calls) {
      edges.push_back({call.from, call.to, graph_.share(call.value)});
      if (call.from == call.to) nodes[call.from].width = boxes_[call.from].width + 2 * kLoopWidth;
    }
    layout_ = lay_out(nodes, edges);
    std::string out = open();
    for (std::size_t i = 0; i < graph_.calls.size(); ++i) draw_call(out, i);
    for (std::size_t i = 0; i < boxes_.size(); ++i) draw_box(out, i);
    return out + "</g>\n</svg>\n";
  }

 private:
  std::string open() const {
    const std::string title = clean_text(
        fmt::format("{}: {}", graph_.metric, graph_.target.empty() ? "all" : short_target(graph_.target)));
    const std::string omission = graph_.omission();
    double width = std::max({kLeastWidth, layout_.width, text_width(title, kTitleSize)});
    for (const std::string& comment : graph_.comments)
      width = std::max(width, text_width(clean_text(comment), kCommentSize));
    width += 2 * kPad;
    const double head = kHead + kCommentLine * static_cast<double>(graph_.comments.size());
    const double height = layout_.height + head + kPad;
    std::string out = fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- fathom call graph -->\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n"
        "<title>{2}</title>\n<style>{3}</style>\n",
        number(width), number(height), escape_xml(title), kStyle);
    out += fmt::format("<text class=\"h\" x=\"{}\" y=\"26\" font-size=\"{}\" font-weight=\"600\">{}</text>\n",
                       number(kPad), number(kTitleSize), escape_xml(title));
    double y = 44;
    const auto add_line = [&](const std::string& text) {
      out += fmt::format("<text class=\"h m\" x=\"{}\" y=\"{}\" font-size=\"{}\">{}</text>\n", number(kPad),
                         number(y), number(kCommentSize), escape_xml(text));
      y += kCommentLine;
    };
    add_line(graph_.amount(graph_.total) + (omission.empty() ? "" : " · " + omission));
    for (const std::string& comment : graph_.comments) add_line(clean_text(comment));
    out += fmt::format("<g transform=\"translate({} {})\">\n", number((width - layout_.width) / 2),
                       number(head));
    return out;
  }

  void draw_box(std::string& out, std::size_t row) const {
    const CallGraph::Function& function = graph_.functions[row];
    const Box& box = boxes_[row];
    const LayoutPoint center = layout_.centers[row];
    const double top = center.y - box.height / 2;
    out += fmt::format(
        "<g class=\"b\"><title>{}\n{}\n{} itself, {} with all that it calls</title><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"3\" fill=\"#e8752e\" fill-opacity=\"{:.2f}\"/>",
        escape_xml(clean_text(function.name)),
        escape_xml(clean_text(function.module + (function.file.empty() ? "" : ", " + function.file))),
        escape_xml(graph_.amount_with_share(function.self)),
        escape_xml(graph_.amount_with_share(function.total)), number(center.x - box.width / 2), number(top),
        number(box.width), number(box.height), 0.06 + 0.5 * graph_.share(function.total));
    double y = top + kBoxPad + box.name_size * 0.95;
    out += text_at(center.x, y, box.name_size, box.lines.front());
    for (std::size_t i = 1; i < box.lines.size(); ++i) {
      y += kSmallLetters * kLineFactor;
      out += text_at(center.x, y, kSmallLetters, box.lines[i]);
    }
    out += "</g>\n";
  }

  void draw_call(std::string& out, std::size_t row) const {
    const CallGraph::Call& call = graph_.calls[row];
    const std::string amount = graph_.amount(call.value);
    out += fmt::format("<g class=\"c\"><title>{} → {}: {}{}</title>", name_of(call.from), name_of(call.to),
                       escape_xml(graph_.amount_with_share(call.value)),
                       call.direct ? "" : ", through functions that are not shown");
    const std::string style = fmt::format(" stroke-width=\"{:.2f}\"{}", 1 + 5 * graph_.share(call.value),
                                          call.direct ? "" : " class=\"d\"");
    if (call.from == call.to)
      draw_loop(out, call.from, style, amount);
    else
      draw_route(out, layout_.routes[row], style, amount);
    out += "</g>\n";
  }

  std::string name_of(std::uint32_t row) const { return escape_xml(clean_text(graph_.functions[row].name)); }

  // Curves between layers begin and end vertically, so that they join what passes a layer.
  static void draw_route(std::string& out, const std::vector<LayoutPoint>& route, const std::string& style,
                         const std::string& amount) {
    const bool down = route.back().y > route.front().y;
    LayoutPoint end = route.back();
    end.y += down ? -kArrowLength : kArrowLength;
    std::string path = fmt::format("M{} {}", number(route.front().x), number(route.front().y));
    for (std::size_t i = 1; i < route.size(); i += 2) {
      const LayoutPoint from = route[i - 1];
      const LayoutPoint to = i + 1 == route.size() ? end : route[i];
      const double middle = (from.y + to.y) / 2;
      path += fmt::format("C{} {} {} {} {} {}", number(from.x), number(middle), number(to.x), number(middle),
                          number(to.x), number(to.y));
      if (i + 1 < route.size()) path += fmt::format("V{}", number(route[i + 1].y));
    }
    out += fmt::format("<path d=\"{}\"{}/>", path, style);
    out += arrow_head(end, route.back());
    const LayoutPoint first = route[0], second = route[1];
    out += text_at((first.x + second.x) / 2, (first.y + second.y) / 2 + 3, 9, amount);
  }

  // To the right of the box, from its middle to below it.
  void draw_loop(std::string& out, std::uint32_t row, const std::string& style,
                 const std::string& amount) const {
    const double x = layout_.centers[row].x + boxes_[row].width / 2, y = layout_.centers[row].y;
    const double up = y - boxes_[row].height / 4, low = y + boxes_[row].height / 4;
    const LayoutPoint end{x + kArrowLength, low};
    out +=
        fmt::format("<path d=\"M{} {}C{} {} {} {} {} {}\"{}/>", number(x), number(up), number(x + kLoopWidth),
                    number(up), number(x + kLoopWidth), number(low), number(end.x), number(end.y), style);
    out += arrow_head(end, {x, low});
    out += text_at(x + kLoopWidth, up - 3, 9, amount);
  }

  static std::string arrow_head(LayoutPoint from, LayoutPoint tip) {
    const double length = std::hypot(tip.x - from.x, tip.y - from.y);
    const double across_x = (tip.y - from.y) / length * kArrowWidth / 2;
    const double across_y = (tip.x - from.x) / length * kArrowWidth / 2;
    return fmt::format("<path class=\"p\" d=\"M{} {}L{} {}L{} {}z\"/>", number(tip.x), number(tip.y),
                       number(from.x - across_x), number(from.y + across_y), number(from.x + across_x),
                       number(from.y - across_y));
  }

  const CallGraph& graph_;
  std::vector<Box> boxes_;  // by function
  LayeredLayout layout_;
};

}  // namespace

Result<std::string> write_call_graph_svg(const CallGraph& graph) {
  if (graph.functions.size() > kMostFunctions || graph.calls.size() > kMostCalls)
    return fail(ErrorKind::kUsage,
                fmt::format("the call graph has {} and {}: too many to draw",
                            analysis::counted(graph.functions.size(), "function"),
                            analysis::counted(graph.calls.size(), "call")),
                "--functions 200, or --to dot");
  return CallGraphPicture(graph).draw();
}

}  // namespace fathom::present
