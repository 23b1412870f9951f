#include "analysis/diff/piece_sums.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "analysis/core/stack_sums.h"
#include "analysis/core/waits.h"
#include "base/flat_map.h"
#include "base/stable_sort.h"

namespace fathom::analysis {
namespace {

using model::Metric;

// Waits that cross a boundary belong to two pieces, and heap sites have no time.
bool has_only_samples(Metric metric) {
  return metric != Metric::kOffCpu && metric != Metric::kWall && !model::is_heap(metric);
}

class SampleSums {
 public:
  SampleSums(const model::Profile& profile, const TreeOptions& options,
             const std::vector<std::uint64_t>& cuts)
      : profile_(profile), options_(options), budgets_(cuts.size() + 1), weights_(cuts.size() + 1) {
    for (const std::uint64_t cut : cuts) {
      const std::uint64_t start = profile.meta.start_ns;
      cuts_.push_back(cut > UINT64_MAX - start ? UINT64_MAX : start + cut);
    }
    name_roots();
  }

  PieceSums add_up() {
    const Metric metric = options_.selection.metric;
    const Filter filter(profile_, options_.selection);
    // A value of 3 means three samples of weight 1.
    const bool counts = unit_of(profile_, options_.selection) == "samples";
    std::uint32_t piece = 0;
    for (const model::Sample& sample : profile_.all_samples()) {
      if (!filter.takes(sample)) continue;
      const std::uint32_t now = piece_of(sample.time_ns, piece);
      if (now != piece) flush(piece);
      piece = now;
      ++sums_.samples;
      const std::int64_t value = budgets_[piece].take(value_of(sample, metric, 1));
      const auto weight = static_cast<double>(value);
      weights_[piece].sum += weight;
      weights_[piece].variance += counts ? weight : weight * weight;
      const std::uint32_t row = row_of(root_of_thread_[sample.thread.value], sample.stack.value);
      if (open_[row] == 0) touched_.push_back(row);
      open_[row] += value;
    }
    flush(piece);
    for (const Weights& weights : weights_) {
      if (weights.variance > 0)
        sums_.effective = std::min(
            kExact, sums_.effective + std::min(kExact, weights.sum * weights.sum / weights.variance));
    }
    sort_rows();
    return std::move(sums_);
  }

 private:
  struct Weights {
    double sum = 0, variance = 0;
  };

  void name_roots() {
    sums_.causes.emplace_back();
    root_of_thread_.assign(profile_.threads.size(), 0);
    if (!options_.thread_roots) return;
    std::unordered_map<std::string, std::uint32_t> ids;
    for (std::uint32_t i = 0; i < profile_.threads.size(); ++i) {
      std::string name = thread_name(profile_, {i});
      const auto [root, added] = ids.try_emplace(name, static_cast<std::uint32_t>(ids.size()));
      if (added) sums_.root_names.push_back(std::move(name));
      root_of_thread_[i] = root->second;
    }
  }

  // Samples are nearly always in time order, so try the piece of the previous sample first.
  std::uint32_t piece_of(std::uint64_t time_ns, std::uint32_t near) const {
    while (near < cuts_.size() && time_ns >= cuts_[near]) ++near;
    while (near > 0 && time_ns < cuts_[near - 1]) --near;
    return near;
  }

  std::uint32_t row_of(std::uint32_t root, std::uint32_t stack) {
    std::uint32_t& row = rows_[std::uint64_t{root} << 32 | stack];
    if (row == 0) {
      sums_.rows.push_back({root, stack, 0, 0});
      open_.push_back(0);
      row = static_cast<std::uint32_t>(sums_.rows.size());
    }
    return row - 1;
  }

  void flush(std::uint32_t piece) {
    for (const std::uint32_t row : touched_) {
      if (open_[row] != 0) sums_.entries.push_back({row, piece, open_[row]});
      open_[row] = 0;
    }
    touched_.clear();
  }

  void sort_rows() {
    std::vector<std::uint32_t> order(sums_.rows.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return sums_.rows[a] < sums_.rows[b]; });
    std::vector<std::uint32_t> rank(order.size());
    std::vector<PieceSums::Row> sorted(order.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      rank[order[i]] = i;
      sorted[i] = sums_.rows[order[i]];
    }
    sums_.rows = std::move(sorted);
    for (PieceSums::Entry& entry : sums_.entries) entry.row = rank[entry.row];
  }

  const model::Profile& profile_;
  const TreeOptions& options_;
  std::vector<std::uint64_t> cuts_;  // in the unit of the samples' times
  std::vector<ValueBudget> budgets_;
  std::vector<Weights> weights_;
  std::vector<std::uint32_t> root_of_thread_;
  FlatMap<std::uint32_t> rows_;         // by root and stack; row + 1
  std::vector<std::int64_t> open_;      // by row: the piece being added up
  std::vector<std::uint32_t> touched_;  // rows of open_; a row whose values cancel out may appear more than
                                        // once
  PieceSums sums_;
};

PieceSums piece_by_piece(const model::Profile& profile, const TreeOptions& options,
                         const std::vector<std::uint64_t>& cuts) {
  PieceSums sums;
  std::unordered_map<std::string, std::uint32_t> roots, causes;
  const auto number = [](std::unordered_map<std::string, std::uint32_t>& ids, std::vector<std::string>& names,
                         const std::string& name) {
    const auto [found, added] = ids.try_emplace(name, static_cast<std::uint32_t>(names.size()));
    if (added) names.push_back(name);
    return found->second;
  };
  number(causes, sums.causes, "");
  std::vector<std::pair<PieceSums::Row, PieceSums::Entry>> found;
  for (std::uint32_t piece = 0; piece <= cuts.size(); ++piece) {
    TreeOptions part = options;
    Selection& selection = part.selection;
    // The first and the last piece have the selection's own boundaries, so no sample falls between or outside
    // the pieces.
    if (piece > 0) selection.from_ns = std::max(cuts[piece - 1], selection.from_ns.value_or(0));
    if (piece < cuts.size()) selection.to_ns = std::min(cuts[piece], selection.to_ns.value_or(UINT64_MAX));
    CallTree tree;
    tree.metric = selection.metric;
    tree.unit = unit_of(profile, selection);
    const StackSums of_piece = add_up_stacks(profile, part, tree);
    std::vector<std::uint32_t> root_rows, cause_rows;
    for (const std::string& name : of_piece.root_names)
      root_rows.push_back(number(roots, sums.root_names, name));
    for (const std::string& name : of_piece.causes) cause_rows.push_back(number(causes, sums.causes, name));
    for (const StackSums::Row& row : of_piece.rows) {
      const std::uint32_t root = root_rows.empty() ? 0 : root_rows[row.root];
      found.push_back({{root, row.stack, cause_rows[row.cause], row.skip}, {0, piece, row.value}});
    }
    sums.effective = std::min(kExact, sums.effective + tree.effective_samples);
    sums.samples += tree.samples;
  }
  stable_sort_rows(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [row, entry] : found) {
    if (sums.rows.empty() || sums.rows.back() != row) sums.rows.push_back(row);
    entry.row = static_cast<std::uint32_t>(sums.rows.size() - 1);
    sums.entries.push_back(entry);
  }
  return sums;
}

}  // namespace

PieceSums add_up_pieces(const model::Profile& profile, const TreeOptions& options,
                        const std::vector<std::uint64_t>& cuts) {
  if (has_only_samples(options.selection.metric)) return SampleSums(profile, options, cuts).add_up();
  return piece_by_piece(profile, options, cuts);
}

}  // namespace fathom::analysis
