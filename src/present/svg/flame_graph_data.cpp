#include "present/svg/flame_graph_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/flat_map.h"
#include "present/svg/flame_graph_text.h"

namespace fathom::present {
namespace {

using analysis::CallTree;
using analysis::TreeNode;

void append_number(std::string& out, std::uint64_t number) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  while (number >= 32) {
    out += kDigits[32 + number % 32];
    number /= 32;
  }
  out += kDigits[number];
}

// ASCII only, so that bytes here are characters there.
std::size_t shared_prefix(std::string_view a, std::string_view b) {
  std::size_t length = 0;
  while (length < a.size() && length < b.size() && a[length] == b[length] &&
         static_cast<unsigned char>(a[length]) < 0x80) {
    ++length;
  }
  return length;
}

void append_names(std::string& out, const CallTree& tree) {
  std::string before;
  for (const std::string& bytes : tree.names) {
    const std::string name = clean_text(bytes);
    const std::size_t shared = shared_prefix(before, name);
    out += '\n';
    append_number(out, shared);
    out += name.substr(shared);
    before = name;
  }
}

struct Symbol {
  std::uint32_t name, module;
  std::uint16_t color;
  auto operator<=>(const Symbol&) const = default;
};

struct SymbolRows {
  std::vector<Symbol> symbols;         // ascending
  std::vector<std::uint32_t> of_node;  // row of symbols
};

// A tree has far fewer symbols than nodes, so only these are sorted.
SymbolRows symbols_of(const CallTree& tree, const Coloring& coloring) {
  std::vector<Symbol> found;
  SymbolRows rows;
  rows.of_node.reserve(tree.nodes.size());
  FlatMap<std::uint32_t> looks, numbers;  // both count from 1
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const Symbol symbol{tree.nodes[i].name, tree.nodes[i].module, coloring.of_node[i]};
    std::uint32_t& look = looks[std::uint64_t{symbol.color} << 32 | symbol.module];
    if (look == 0) look = static_cast<std::uint32_t>(looks.size());
    std::uint32_t& number = numbers[std::uint64_t{look} << 32 | symbol.name];
    if (number == 0) {
      found.push_back(symbol);
      number = static_cast<std::uint32_t>(found.size());
    }
    rows.of_node.push_back(number - 1);
  }
  std::vector<std::uint32_t> order(found.size()), place(found.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, [&](std::uint32_t at) { return found[at]; });
  for (const std::uint32_t at : order) {
    place[at] = static_cast<std::uint32_t>(rows.symbols.size());
    rows.symbols.push_back(found[at]);
  }
  for (std::uint32_t& row : rows.of_node) row = place[row];
  return rows;
}

// By symbol; left out where no function has a place.
void append_places(std::string& out, const CallTree& tree, const std::vector<Symbol>& symbols,
                   const FlameGraphOptions& options) {
  if (!options.place_of) return;
  std::string places;
  bool has_any = false;
  for (const Symbol& symbol : symbols) {
    const std::string place =
        clean_text(options.place_of(tree.modules[symbol.module].name, tree.names[symbol.name]));
    has_any = has_any || !place.empty();
    places += (places.empty() ? "" : ",") + json_string(place);
  }
  if (has_any) out += ",\"places\":[" + places + "]";
}

// Each text once, and by node its row plus one; left out where no waker is known.
void append_wakers(std::string& out, const std::vector<std::string>& wakers) {
  std::map<std::string_view, std::size_t> rows;
  std::string texts, nodes;
  for (const std::string& waker : wakers) {
    if (waker.empty()) {
      append_number(nodes, 0);
      continue;
    }
    const auto [row, added] = rows.try_emplace(waker, rows.size() + 1);
    if (added) texts += (texts.empty() ? "" : ",") + json_string(clean_text(waker));
    append_number(nodes, row->second);
  }
  if (!texts.empty()) out += ",\"wakers\":[" + texts + "],\"woken\":\"" + nodes + "\"";
}

}  // namespace

bool is_sampled(const CallTree& tree) {
  return tree.effective_samples > 0 &&
         (tree.unit == "samples" || tree.metric == model::Metric::kCpu ||
          (model::is_heap(tree.metric) && tree.effective_samples < analysis::kExact));
}

bool is_estimated(const CallTree& tree) {
  return model::is_heap(tree.metric) && is_sampled(tree);
}

std::string flame_graph_data(const CallTree& tree, const Coloring& coloring, const FlameGeometry& geometry,
                             const FlameGraphOptions& options) {
  const auto [symbols, rows] = symbols_of(tree, coloring);
  std::string out = fmt::format(
      R"({{"version":1,"unit":{},"count":{},"type":{},"root":{},"effective":{:.6g},)"
      R"("width":{:g},"fluid":{},"pad":{:g},"top":{:g},"frame":{:g},"font":{:g},"column":{:.6g},"min":{:.6g},"rows":{},)"
      R"("inverted":{},"reverse":{},"light":{},"threads":{},)",
      json_string(clean_text(tree.unit)), json_string(clean_text(options.count_name)),
      json_string(clean_text(options.name_type)), json_string(clean_text(options.root_name)),
      is_sampled(tree) ? tree.effective_samples : 0.0, geometry.width, !options.width.has_value(),
      geometry.pad, geometry.top, options.frame_height, options.font_size, geometry.column,
      geometry.min_width, geometry.rows, options.inverted, options.reverse, !options.background.empty(),
      tree.nodes.size() > 1 && tree.nodes[1].kind == analysis::NodeKind::kThread);
  if (is_estimated(tree)) out += "\"estimated\":true,";
  out += "\"classes\":[";
  for (std::size_t i = 0; i < coloring.classes.size(); ++i) {
    out += (i == 0 ? "" : ",") + json_string(coloring.classes[i].name);
  }
  out += "],\"modules\":[";
  for (std::size_t i = 0; i < tree.modules.size(); ++i) {
    out += (i == 0 ? "" : ",") + json_string(clean_text(tree.modules[i].name));
  }
  out += "]";
  if (options.comparison) {
    const FlameComparison& comparison = *options.comparison;
    const auto numbers = [](const std::vector<std::int64_t>& values) {
      std::string text;
      for (const std::int64_t value : values)
        append_number(text, static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0)));
      return text;
    };
    out += fmt::format(R"(,"compare":{{"base":"{}","new":"{}","scale":{:g},"percent":{},"unit":{}}})",
                       numbers(comparison.base), numbers(comparison.fresh), comparison.scale,
                       comparison.percent, json_string(clean_text(comparison.unit)));
  }
  append_places(out, tree, symbols, options);
  append_wakers(out, options.wakers);
  out += "}\n";
  std::uint32_t name = 0;
  for (const Symbol& symbol : symbols) {
    append_number(out, symbol.name - name);
    append_number(out, symbol.module);
    append_number(out, symbol.color);
    name = symbol.name;
  }
  out += '\n';
  std::vector<std::uint32_t> first_child(symbols.size(), 0);  // of the last node with the symbol
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const TreeNode& node = tree.nodes[i];
    // One level up is a sibling of the node before; none at all is its child.
    const std::uint64_t up = i == 0 ? 0 : tree.nodes[i - 1].depth + 1 - node.depth;
    bool expected = false;
    if (i > 0 && up == 0) {
      std::uint32_t& last = first_child[rows[i - 1]];
      expected = last == rows[i];
      last = rows[i];
    }
    const std::uint64_t flags =
        (node.self > 0 ? 1 : 0) + (node.kind == analysis::NodeKind::kInlined ? 2 : 0) + (expected ? 4 : 0);
    append_number(out, flags + 8 * up);
    if (!expected) append_number(out, rows[i]);
    if (node.self > 0) append_number(out, static_cast<std::uint64_t>(node.self));
  }
  append_names(out, tree);
  return out;
}

}  // namespace fathom::present
