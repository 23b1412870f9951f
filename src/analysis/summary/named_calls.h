// A call tree without the calls that cannot be the answer: for a search that goes over the tree dozens of times. Of the
// functions with a name those are kept that have a share of the samples, and each call of one of them is a node below the
// nearest kept call above it. All sums of the kept functions are those of the whole tree. A tree of millions of calls has a few
// thousand such nodes.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/core/call_tree.h"

namespace fathom::analysis {

inline constexpr std::uint32_t kNoFunction = UINT32_MAX;

class NamedCalls {
 public:
  // `function_of`: by node; kNoFunction: a call without a name. `class_of`: by function; what kind of code it is, below
  // kClasses. `tree` outlives this.
  static constexpr std::uint8_t kClasses = 3;
  NamedCalls(const CallTree& tree, std::vector<std::uint32_t> function_of,
             std::vector<std::uint8_t> class_of);

  // By function, kept or not: samples that have it.
  const std::vector<std::int64_t>& whole() const { return whole_; }
  // From here on of functions that at least so many samples have; of others all sums are 0. Nothing is excluded afterwards.
  void keep(double least);
  void include_all();
  // Samples of the function, anywhere on the stack, no longer count.
  void exclude(std::uint32_t function);

  // Of the samples below one function: how many have each other function for the first time there, and how deep it is.
  struct Below {
    std::vector<std::int64_t> total;
    std::vector<double> depth;  // sum over samples
    std::int64_t self = 0;      // samples of it with no named function below
  };
  Below below(std::uint32_t from) const;  // kNoFunction: of all samples
  // Of the samples of `from`: those that have a function of this class below it.
  std::int64_t below_of_class(std::uint32_t from, std::uint8_t of_class) const;
  // By function: samples of which it is the deepest one with a name: its own instructions, and what has no name below it.
  std::vector<std::int64_t> selves() const;
  // By function: samples of `from` that have it, called by `from` with no function of the same class between them.
  std::vector<std::int64_t> callees_of(std::uint32_t from) const;
  // By function: samples of `leaf` that have it above that.
  std::vector<std::int64_t> callers_of(std::uint32_t leaf) const;

 private:
  struct Node {
    std::uint32_t parent, level;  // among the kept ones; the root is node 0 on level 0
    std::uint32_t function;
    std::uint32_t caller;     // the nearest function of its class above it, kept or not
    std::uint32_t depth;      // in the tree
    std::int64_t self = 0;    // samples of it that have no named function below it
    std::int64_t direct = 0;  // samples of it that are in no node below it
  };

  std::vector<std::int64_t> totals() const;
  std::size_t calls_with(double least) const;
  template <class Enter>
  void walk(Enter enter) const;

  const CallTree& tree_;
  std::vector<std::uint32_t> function_of_;
  std::vector<std::uint8_t> class_of_;
  std::vector<std::int64_t> whole_;
  std::vector<Node> nodes_;            // depth first
  std::vector<std::int64_t> weights_;  // by node: its total without what is excluded
};

}  // namespace fathom::analysis
