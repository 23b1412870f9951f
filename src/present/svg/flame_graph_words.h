// What a flame graph says: the label and the tooltip of each frame, how much was measured, and how to read the picture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/core/call_tree.h"
#include "present/svg/flame_graph.h"
#include "present/svg/flame_graph_layout.h"

namespace fathom::present {

// Texts that it returns are clean_text(), not yet escaped. What it is given outlives it.
class FlameWords {
 public:
  FlameWords(const analysis::CallTree& tree, const FlameGraphOptions& options, const Coloring& coloring);

  // What fits into so many columns of a box; "" if nothing does.
  std::string label(const FlameBox& box, std::size_t columns) const;
  std::string tooltip(const FlameBox& box) const;
  // "1.25 s in 125 samples".
  std::string measured() const;
  // "Only 12 samples: ...": why shares are uncertain; "" where they are not.
  std::string few_samples() const;
  // "Read it upwards: ..., Width: time; ...".
  std::string orientation() const;
  // For readers who do not see the picture.
  std::string description(std::string_view title, std::string_view subtitle) const;

 private:
  struct ChangeMark {
    std::string_view word, sign;
  };
  ChangeMark change_mark(std::uint32_t node) const;
  void add_up_sides(const FlameComparison& comparison);
  std::string name_of(std::uint32_t node) const;
  std::string share_with_error(std::int64_t value) const;
  std::string amount(std::int64_t value) const;

  const analysis::CallTree& tree_;
  const FlameGraphOptions& options_;
  const Coloring& coloring_;
  std::string count_name_;
  std::vector<std::string> names_;                      // of the tree's names
  std::vector<std::int64_t> base_total_, fresh_total_;  // by node, of a comparison
};

}  // namespace fathom::present
