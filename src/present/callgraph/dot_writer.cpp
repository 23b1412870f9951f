#include "present/callgraph/dot_writer.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "analysis/core/words.h"

namespace fathom::present {
namespace {

std::string escaped(std::string_view raw) {
  std::string text;
  for (const char c : analysis::printable(raw)) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

std::string title_of(const CallGraph& graph) {
  std::string text =
      fmt::format("{}\\l{}: {}\\l", escaped(graph.target), graph.metric, escaped(graph.amount(graph.total)));
  if (const std::string omission = graph.omission(); !omission.empty()) text += omission + "\\l";
  for (const std::string& comment : graph.comments) text += escaped(comment) + "\\l";
  return text;
}

void write_function(std::string& out, const CallGraph& graph, std::size_t row) {
  const CallGraph::Function& function = graph.functions[row];
  std::string label = escaped(function.name);
  if (function.self != 0) label += "\\n" + escaped(graph.amount_with_share(function.self));
  if (function.total != function.self) label += "\\nof " + escaped(graph.amount_with_share(function.total));
  // Letters are as large as what the function costs itself, colours as strong as what it costs with all.
  out +=
      fmt::format("  f{} [label=\"{}\" tooltip=\"{} {}\" fontsize={:.1f} fillcolor=\"0.05 {:.3f} 1.0\"]\n",
                  row, label, escaped(function.module), escaped(function.file),
                  9 + 31 * std::sqrt(graph.share(function.self)), 0.05 + 0.5 * graph.share(function.total));
}

void write_call(std::string& out, const CallGraph& graph, const CallGraph::Call& call) {
  const double share = graph.share(call.value);
  out += fmt::format("  f{} -> f{} [label=\" {}\" penwidth={:.2f} weight={}{}]\n", call.from, call.to,
                     escaped(graph.amount(call.value)), 1 + 5 * share, 1 + std::llround(share * 100),
                     call.direct ? "" : " style=dashed");
}

}  // namespace

std::string write_dot(const CallGraph& graph) {
  std::string out = fmt::format(
      "digraph \"{}\" {{\n  graph [label=\"{}\" labelloc=t labeljust=l fontname=\"sans-serif\" fontsize=14]\n"
      "  node [shape=box style=filled fontname=\"sans-serif\"]\n  edge [fontname=\"sans-serif\" fontsize=9]\n",
      escaped(graph.target), title_of(graph));
  for (std::size_t row = 0; row < graph.functions.size(); ++row) write_function(out, graph, row);
  for (const CallGraph::Call& call : graph.calls) write_call(out, graph, call);
  return out + "}\n";
}

}  // namespace fathom::present
