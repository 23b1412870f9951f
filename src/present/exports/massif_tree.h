// The tree of one moment in massif.out: the functions that requested the bytes, and their callers.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/core/heap.h"
#include "model/profile.h"
#include "present/exports/massif_writer.h"

namespace fathom::present {

class MassifTree {
 public:
  // `profile` and `options` outlive it.
  MassifTree(const model::Profile& profile, const analysis::Selection& selection,
             const MassifOptions& options)
      : profile_(profile), options_(options), leaves_(profile, selection, false) {}

  // Lines of the tree of these bytes, by site. `total`: their sum, which is the first line's number.
  std::string text(const std::vector<double>& bytes_of_site, double total);

 private:
  struct Node {
    std::uint32_t frame = 0, line = 0;
    double bytes = 0;
    std::vector<std::uint32_t> children;
  };
  void write(const std::vector<Node>& nodes, std::uint32_t node, std::size_t depth, double least,
             std::string& out) const;
  std::string label(const Node& node) const;

  const model::Profile& profile_;
  const MassifOptions& options_;
  analysis::HeapLeaves leaves_;
};

}  // namespace fathom::present
