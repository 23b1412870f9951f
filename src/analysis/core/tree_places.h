// What the nodes of a call tree are made of, while it is made: a node is a place below another one, and places are numbered, so
// that the tree is built on integers. For this folder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/core/call_tree.h"
#include "analysis/core/fold_generics.h"
#include "analysis/core/stack_sums.h"
#include "analysis/core/tracer_frames.h"
#include "base/flat_map.h"

namespace fathom::analysis {

// A larger tree is useless, and a malicious recording could ask for one of any size: a long stack for each of
// many threads takes only a few bytes. As when memory runs out, an exception goes to main.
inline constexpr std::size_t kMostNodes = 16'000'000;
inline constexpr std::uint64_t kMostSteps = 1'000'000'000;
static_assert(kMostNodes < Uint24::kMost);
[[noreturn]] void refuse_large_tree();

// What makes two siblings one node: the name and the module.
struct Place {
  std::uint32_t name;
  std::uint32_t module;  // row of Profile::modules
  NodeKind kind;         // as first seen; a place that is also called for real is no kInlined
};

inline constexpr std::uint32_t kNoPlace = ~std::uint32_t{0};

// Places of one profile, found by frame. Names are folded and joined once per function, not once per node.
class Places {
 public:
  Places(const model::Profile& profile, bool fold, bool tracer, const StackChoice* cuts)
      : profile_(profile),
        fold_(fold),
        cuts_(cuts != nullptr && !cuts->function_cuts.empty() ? cuts : nullptr),
        left_out_(tracer ? std::nullopt : tracer_module(profile)),
        first_(profile.frames.size(), kNoPlace),
        functions_(profile.functions.size(), kNoPlace) {}

  static constexpr char kHidden = StackChoice::kHidden, kStart = StackChoice::kStart;
  struct Line {
    std::uint32_t place;
    NodeKind kind;
    char cut = 0;  // bits: it is not shown; stacks are shown from here
  };
  bool has_starts() const { return cuts_ != nullptr && !cuts_->starts.empty(); }
  // The lines of a frame, innermost first; at least one, but of the heap tracer's frames. Valid until the next call.
  const Line* lines(model::FrameId id, std::uint32_t& count) {
    const model::Frame& frame = profile_.frames[id.value];
    count = 0;
    if (left_out_ && frame.module == *left_out_) return nullptr;
    count = frame.line_count == 0 ? 1 : frame.line_count;
    std::uint32_t& first = first_[id.value];
    if (first == kNoPlace) {
      const auto start = static_cast<std::uint32_t>(lines_.size());
      if (frame.line_count == 0) {
        lines_.push_back(
            of_name(profile_.pseudo_name(frame), frame.module, kind_of_code(profile_, frame.module, false)));
        if (cuts_ != nullptr) lines_.back().cut = cuts_->frame_cuts[id.value];
      }
      for (std::uint32_t i = 0; i < frame.line_count; ++i) {
        const model::Line& line = profile_.lines[frame.first_line + i];
        lines_.push_back(of_function(line.function, i + 1 < frame.line_count));
      }
      first = start;
    }
    return lines_.data() + first;
  }
  Line of_thread(const std::string& name) { return of_name(name, {0}, NodeKind::kThread); }
  Line of_cause(const std::string& name) {
    Line line = of_name(name, {0}, NodeKind::kCause);
    if (cuts_ != nullptr) line.cut = cuts_->cut_of_cause(name);
    return line;
  }

  const std::vector<Place>& all() const { return places_; }
  std::vector<std::string> take_names() { return std::move(names_); }

 private:
  Line of_function(model::FunctionId id, bool inlined) {
    const model::Function& function = profile_.functions[id.value];
    NodeKind kind = kind_of_code(profile_, function.module, true);
    std::uint32_t& place = functions_[id.value];
    if (place == kNoPlace) {
      const std::string_view name = profile_.strings[function.name];
      place = of_name(fold_ ? fold_generics(name) : std::string(name), function.module, kind).place;
    }
    if (inlined && kind == NodeKind::kUser) kind = NodeKind::kInlined;
    return {place, kind, cuts_ != nullptr ? cuts_->function_cuts[id.value] : char{0}};
  }

  Line of_name(std::string name, model::ModuleId module, NodeKind kind) {
    const auto [named, new_name] = name_ids_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (new_name) names_.push_back(std::move(name));
    // A thread, a cause and a function of the same name are three places.
    const bool pseudo = module.value == 0 && (kind == NodeKind::kThread || kind == NodeKind::kCause);
    const std::uint64_t mark = !pseudo ? 0 : std::uint64_t{kind == NodeKind::kThread ? 2u : 1u} << 62;
    std::uint32_t& known = place_ids_[(std::uint64_t{named->second} << 32 | module.value) ^ mark];
    if (known == 0) {
      places_.push_back({named->second, module.value, kind});
      known = static_cast<std::uint32_t>(places_.size());
    }
    return {known - 1, kind};
  }

  const model::Profile& profile_;
  bool fold_;
  const StackChoice* cuts_;  // nullptr: all is shown
  std::optional<model::ModuleId> left_out_;
  std::vector<std::uint32_t> first_;      // per frame: row of lines_
  std::vector<std::uint32_t> functions_;  // per function: its place
  std::vector<Line> lines_;
  std::vector<Place> places_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> name_ids_;
  FlatMap<std::uint32_t> place_ids_;  // place number + 1
};

// rank[i]: the place of texts[i] among all in order.
template <class Row>
std::vector<std::uint32_t> sort_and_rank(std::vector<Row>& rows) {
  std::vector<std::uint32_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return rows[a] < rows[b]; });
  std::vector<std::uint32_t> rank(rows.size());
  std::vector<Row> sorted(rows.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    rank[order[i]] = i;
    sorted[i] = std::move(rows[order[i]]);
  }
  rows = std::move(sorted);
  return rank;
}

// The place of each place among all by name, module and kind.
std::vector<std::uint32_t> rank_places(const std::vector<Place>& places,
                                       const std::vector<std::uint32_t>& name_rank,
                                       const std::vector<std::uint32_t>& module_rank);

// Rows below their parents: the children of row i are order[first[i]] to order[first[i + 1]], sorted by their ranks.
struct Children {
  std::vector<std::uint32_t> first, order;
  bool has_equal = false;  // two children of one row have the same rank

  // Parents stand before their children. parent_of(row), rank_of(row): for all rows but 0. Rows mostly stand behind their parents
  // and have one child, so this goes through the table in its order, and a comparison is seldom made.
  template <class ParentOf, class RankOf>
  static Children of(std::size_t rows, ParentOf parent_of, RankOf rank_of) {
    Children children;
    std::vector<std::uint32_t>& first = children.first;
    first.assign(rows + 1, 0);
    for (std::uint32_t i = 1; i < rows; ++i) ++first[parent_of(i)];
    // Each run is filled from its end, which leaves its start in `first`.
    std::partial_sum(first.begin(), first.end(), first.begin());
    children.order.resize(rows - 1);
    for (auto i = static_cast<std::uint32_t>(rows); i-- > 1;) children.order[--first[parent_of(i)]] = i;
    for (std::size_t i = 0; i < rows; ++i) {
      if (first[i + 1] - first[i] < 2) continue;
      const auto begin = children.order.begin();
      std::sort(begin + first[i], begin + first[i + 1],
                [&](std::uint32_t a, std::uint32_t b) { return rank_of(a) < rank_of(b); });
      for (auto at = begin + first[i] + 1; at != begin + first[i + 1]; ++at)
        children.has_equal = children.has_equal || rank_of(at[-1]) == rank_of(*at);
    }
    return children;
  }
};

}  // namespace fathom::analysis
