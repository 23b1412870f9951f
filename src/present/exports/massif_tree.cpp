#include "present/exports/massif_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "analysis/core/words.h"

namespace fathom::present {
namespace {

using namespace model;

// ms_print takes '#' for the start of a comment, and Rust's closures have one: "{closure#0}".
std::string one_line(std::string_view text) {
  std::string clean = analysis::printable(text);
  std::replace(clean.begin(), clean.end(), '#', ':');
  return clean;
}

}  // namespace

std::string MassifTree::text(const std::vector<double>& bytes_of_site, double total) {
  std::vector<Node> nodes(1);
  nodes[0].bytes = total;
  std::unordered_map<std::uint64_t, std::uint32_t> known;  // parent and place
  for (std::uint32_t i = 0; i < bytes_of_site.size(); ++i) {
    if (bytes_of_site[i] <= 0) continue;
    const analysis::HeapLeaf leaf = leaves_.of(profile_.heap.sites[i].stack);
    StackId stack = leaf.stack;
    std::uint32_t line = leaf.skip, node = 0;
    for (std::size_t depth = 0; depth < options_.depth; ++depth) {
      const std::uint32_t frame = profile_.stacks[stack.value].frame.value;
      const Frame row = stack.value == 0 ? Frame{} : profile_.frames[frame];
      // Lines of all frames, then frames without any; 0 of those stands for no stack at all.
      const std::uint64_t place = stack.value == 0      ? profile_.lines.size() + profile_.frames.size()
                                  : row.line_count == 0 ? profile_.lines.size() + frame
                                                        : std::uint64_t{row.first_line} + line;
      const auto [child, is_new] =
          known.try_emplace(std::uint64_t{node} << 32 | place, static_cast<std::uint32_t>(nodes.size()));
      if (is_new) {
        nodes[node].children.push_back(child->second);
        Node added;
        added.frame = stack.value == 0 ? UINT32_MAX : frame;
        added.line = line;
        nodes.push_back(added);
      }
      node = child->second;
      nodes[node].bytes += bytes_of_site[i];
      if (stack.value == 0) break;
      if (++line < row.line_count) continue;
      line = 0;
      stack = profile_.stacks[stack.value].parent;
      if (stack.value == 0) break;
    }
  }
  for (Node& node : nodes)
    std::sort(node.children.begin(), node.children.end(), [&](std::uint32_t a, std::uint32_t b) {
      return nodes[a].bytes != nodes[b].bytes ? nodes[a].bytes > nodes[b].bytes : a < b;
    });
  std::string out;
  write(nodes, 0, 0, total * options_.threshold, out);
  return out;
}

void MassifTree::write(const std::vector<Node>& nodes, std::uint32_t number, std::size_t depth, double least,
                       std::string& out) const {
  const Node& node = nodes[number];
  std::size_t kept = 0;
  double below = 0;
  for (const std::uint32_t child : node.children) {
    if (nodes[child].bytes >= least) {
      ++kept;
    } else {
      below += nodes[child].bytes;
    }
  }
  const std::size_t small = node.children.size() - kept;
  out += fmt::format(
      "{}n{}: {:.0f} {}\n", std::string(depth, ' '), kept + (small > 0 ? 1 : 0), node.bytes,
      depth == 0 ? "(heap allocation functions) malloc/new/new[], --alloc-fns, etc." : label(node));
  // Children are written largest first, and what is below the threshold where its sum belongs.
  bool is_written = small == 0;
  const auto write_small = [&] {
    is_written = true;
    out += fmt::format("{}n0: {:.0f} in {} place{}, {}below massif's threshold ({:.2f}%)\n",
                       std::string(depth + 1, ' '), below, small, small == 1 ? "" : "s",
                       small == 1 ? "" : "all ", options_.threshold * 100);
  };
  for (std::size_t i = 0; i < kept; ++i) {
    if (!is_written && below > nodes[node.children[i]].bytes) write_small();
    write(nodes, node.children[i], depth + 1, least, out);
  }
  if (!is_written) write_small();
}

// "0x401136: parse (reader.c:12)", "0x4843: malloc (in /usr/lib/x.so)", "0x12: ??? (in ...)".
std::string MassifTree::label(const Node& node) const {
  if (node.frame == UINT32_MAX) return "0x0: ???";
  const Frame& frame = profile_.frames[node.frame];
  const Module& module = profile_.modules[frame.module.value];
  std::string_view path = profile_.strings[module.path];
  if (path.empty()) path = profile_.strings[module.name];
  std::string where = path.empty() ? "" : fmt::format(" (in {})", one_line(path));
  if (frame.line_count == 0) return fmt::format("0x{:X}: ???{}", frame.address.value, where);
  const Line& line = profile_.lines[frame.first_line + node.line];
  std::string_view file = profile_.strings[line.file];
  if (const std::size_t slash = file.rfind('/'); slash != std::string_view::npos)
    file.remove_prefix(slash + 1);
  if (!file.empty() && line.line != 0) where = fmt::format(" ({}:{})", one_line(file), line.line);
  return fmt::format("0x{:X}: {}{}", frame.address.value,
                     one_line(profile_.strings[profile_.functions[line.function.value].name]), where);
}

}  // namespace fathom::present
