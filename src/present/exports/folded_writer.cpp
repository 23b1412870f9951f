#include "present/exports/folded_writer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "base/flat_map.h"
#include "base/text_index.h"
#include "present/exports/folded_text.h"

namespace fathom::present {
namespace {

using analysis::CallTree;
using analysis::TreeNode;

std::string_view suffix(const CallTree& tree, const TreeNode& node, const FoldedOptions& options) {
  if (node.kind == analysis::NodeKind::kKernel) return "_[k]";
  if (node.kind == analysis::NodeKind::kInlined && options.mark_inlined) return "_[i]";
  if (options.mark_jit && tree.modules[node.module].kind == model::ModuleKind::kAnonymous) return "_[j]";
  return "";
}

// What stands for each node in a line. Nodes that differ only in what a line cannot say (the module of a frame) have one text.
class FrameTexts {
 public:
  FrameTexts(const CallTree& tree, const FoldedOptions& options) : of_node_(tree.nodes.size()) {
    FlatMap<std::uint32_t> known;  // number + 1, by name, suffix and whether it begins the line
    for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
      const TreeNode& node = tree.nodes[i];
      const std::string_view end = suffix(tree, node, options);
      const bool begins = node.parent == 0;
      const std::uint64_t key = std::uint64_t{node.name} << 32 | (begins ? 256u : 0u) |
                                (end.empty() ? 0u : static_cast<unsigned char>(end[2]));
      std::uint32_t& number = known[key];
      if (number == 0) {
        std::string text = begins ? "" : ";";  // a name that begins the line is written otherwise
        append_folded_name(text, tree.name(node));
        text += end;
        number = texts_.number_of(std::string_view(text).substr(begins ? 0 : 1)) + 1;
      }
      of_node_[i] = number - 1;
    }
    no_stack_ = texts_.number_of("[no stack]");
    rank();
  }

  std::uint32_t of_node(std::uint32_t node) const { return of_node_[node]; }
  std::uint32_t no_stack() const { return no_stack_; }  // of a sample without stack and thread
  std::string_view text(std::uint32_t number) const { return texts_[number]; }
  // The places of a text among all, where a line ends behind it and where it goes on with ';'.
  std::uint32_t rank_at_end(std::uint32_t number) const { return ranks_[std::size_t{2} * number]; }
  std::uint32_t rank_before_more(std::uint32_t number) const { return ranks_[std::size_t{2} * number + 1]; }

 private:
  void rank() {
    std::vector<std::uint32_t> order(std::size_t{2} * texts_.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto at = [&](std::uint32_t item, std::size_t byte) {
      const std::string_view text = texts_[item / 2];
      return byte < text.size()                     ? static_cast<unsigned char>(text[byte]) + 1
             : byte == text.size() && item % 2 != 0 ? ';' + 1
                                                    : 0;
    };
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      const std::string_view left = texts_[a / 2], right = texts_[b / 2];
      const std::size_t shared = std::min(left.size(), right.size());
      if (const int order = left.substr(0, shared).compare(right.substr(0, shared)); order != 0)
        return order < 0;
      for (std::size_t byte = shared; byte <= shared + 1; ++byte)
        if (at(a, byte) != at(b, byte)) return at(a, byte) < at(b, byte);
      return false;
    });
    ranks_.resize(order.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) ranks_[order[i]] = i;
  }

  TextIndex texts_;
  std::vector<std::uint32_t> of_node_;
  std::uint32_t no_stack_ = 0;
  std::vector<std::uint32_t> ranks_;
};

// Calls below one call, in the order of their lines: a line that ends with a call, or all that go on behind it. A walk over them
// needs no more room than the deepest stack, where sorted lines would take as much as the whole text.
struct Item {
  std::uint32_t rank, text;
  bool goes_on;
  std::uint32_t first, end;  // of Level::nodes, where it goes on
  std::int64_t self;         // else
};
struct Level {
  std::vector<std::uint32_t> nodes;  // by text
  std::vector<Item> items;
  std::size_t next = 0;
  std::size_t path = 0;  // length of what stands in front
};

class Writer {
 public:
  Writer(const CallTree& tree, const FoldedOptions& options,
         const std::function<void(std::string_view)>& take)
      : tree_(tree), texts_(tree, options), take_(take) {
    const bool waits = tree.metric == model::Metric::kOffCpu || tree.metric == model::Metric::kWall;
    if (waits && tree.unit == "ns") scale_ = 1e-3;
  }

  void write() {
    const std::vector<std::uint32_t> root{0};
    std::vector<Level> levels(1);  // some of them are of calls that are done, and are filled again
    std::size_t open = 1;
    std::string path;
    fill(levels[0], root, {0, 0, false, 0, 1, 0}, 0);
    while (open > 0) {
      Level& level = levels[open - 1];
      path.resize(level.path);
      if (level.next == level.items.size()) {
        --open;
        continue;
      }
      const Item item = level.items[level.next++];
      path += texts_.text(item.text);
      if (!item.goes_on) {
        write_line(path, item.self);
        continue;
      }
      path += ';';
      if (open == levels.size()) levels.emplace_back();
      fill(levels[open], levels[open - 1].nodes, item, path.size());
      ++open;
    }
    take_(out_);
  }

 private:
  // What is below `above`, of which the calls are in `callers`.
  void fill(Level& level, const std::vector<std::uint32_t>& callers, const Item& above,
            std::size_t path) const {
    level.nodes.clear();
    level.items.clear();
    level.next = 0;
    level.path = path;
    for (std::uint32_t i = above.first; i < above.end; ++i)
      for (std::uint32_t child = tree_.first_child(callers[i]); child != analysis::kNoNode;
           child = tree_.nodes[child].next_sibling)
        level.nodes.push_back(child);
    std::ranges::sort(level.nodes, {},
                      [&](std::uint32_t node) { return std::pair(texts_.of_node(node), node); });
    std::int64_t no_stack = path == 0 ? tree_.nodes[0].self : 0;
    for (std::uint32_t at = 0; at < level.nodes.size();) {
      const std::uint32_t text = texts_.of_node(level.nodes[at]), begin = at;
      std::int64_t self = 0;
      bool goes_on = false;
      for (; at < level.nodes.size() && texts_.of_node(level.nodes[at]) == text; ++at) {
        self += tree_.nodes[level.nodes[at]].self;
        goes_on = goes_on || tree_.first_child(level.nodes[at]) != analysis::kNoNode;
      }
      if (text == texts_.no_stack()) self += std::exchange(no_stack, 0);
      if (self != 0) level.items.push_back({texts_.rank_at_end(text), text, false, 0, 0, self});
      if (goes_on) level.items.push_back({texts_.rank_before_more(text), text, true, begin, at, 0});
    }
    // It has a weight, and a line needs a name.
    if (no_stack != 0)
      level.items.push_back(
          {texts_.rank_at_end(texts_.no_stack()), texts_.no_stack(), false, 0, 0, no_stack});
    std::ranges::sort(level.items, {}, &Item::rank);
  }

  void write_line(std::string_view path, std::int64_t self) {
    constexpr std::size_t kPiece = 256 * 1024;
    sum_ += self;
    // Rounding the running sum and not each line keeps the total right.
    const std::int64_t rounded = scale_ == 1 ? sum_ : std::llround(static_cast<double>(sum_) * scale_);
    const std::int64_t count = rounded - written_;
    written_ = rounded;
    if (count == 0) return;
    out_ += path;
    out_ += ' ';
    out_ += std::to_string(count);
    out_ += '\n';
    if (out_.size() < kPiece) return;
    take_(out_);
    out_.clear();
  }

  const CallTree& tree_;
  FrameTexts texts_;
  const std::function<void(std::string_view)>& take_;
  double scale_ = 1;
  std::int64_t sum_ = 0, written_ = 0;
  std::string out_;
};

}  // namespace

void write_folded(const CallTree& tree, const FoldedOptions& options,
                  const std::function<void(std::string_view)>& take) {
  Writer(tree, options, take).write();
}

std::string write_folded(const CallTree& tree, const FoldedOptions& options) {
  std::string text;
  write_folded(tree, options, [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace fathom::present
