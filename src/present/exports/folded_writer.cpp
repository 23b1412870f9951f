#include "present/exports/folded_writer.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "present/exports/folded_text.h"

namespace fathom::present {
namespace {

std::string_view suffix(const analysis::CallTree& tree, const analysis::TreeNode& node,
                        const FoldedOptions& options) {
  if (node.kind == analysis::NodeKind::kKernel) return "_[k]";
  if (node.kind == analysis::NodeKind::kInlined && options.mark_inlined) return "_[i]";
  if (options.mark_jit && tree.modules[node.module].kind == model::ModuleKind::kAnonymous) return "_[j]";
  return "";
}

}  // namespace

std::string write_folded(const analysis::CallTree& tree, const FoldedOptions& options) {
  // Stacks that differ only in what a line cannot say (the module of a frame) become one line.
  std::vector<std::pair<std::string, std::int64_t>> lines;
  std::string path;
  std::vector<std::size_t> ends{0};  // length of `path` by depth
  for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
    const analysis::TreeNode& node = tree.nodes[i];
    ends.resize(node.depth);
    path.resize(ends.back());
    if (!path.empty()) path += ';';
    append_folded_name(path, tree.name(node));
    path += suffix(tree, node, options);
    ends.push_back(path.size());
    if (node.self != 0) lines.emplace_back(path, node.self);
  }
  // A sample without stack and thread: it has a weight, and a line needs a name.
  if (tree.nodes[0].self != 0) lines.emplace_back("[no stack]", tree.nodes[0].self);
  std::sort(lines.begin(), lines.end());

  const bool waits = tree.metric == model::Metric::kOffCpu || tree.metric == model::Metric::kWall;
  const double scale = waits && tree.unit == "ns" ? 1e-3 : 1;
  std::string text;
  std::int64_t sum = 0;
  std::int64_t written = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    sum += lines[i].second;
    if (i + 1 < lines.size() && lines[i + 1].first == lines[i].first) continue;
    // Rounding the running sum and not each line keeps the total right.
    const std::int64_t rounded = scale == 1 ? sum : std::llround(static_cast<double>(sum) * scale);
    const std::int64_t count = rounded - written;
    written = rounded;
    if (count == 0) continue;
    text += lines[i].first;
    text += ' ';
    text += std::to_string(count);
    text += '\n';
  }
  return text;
}

}  // namespace fathom::present
