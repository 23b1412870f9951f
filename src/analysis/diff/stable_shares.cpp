#include "analysis/diff/stable_shares.h"

#include <algorithm>

#include "analysis/diff/estimate.h"

namespace fathom::analysis {

void StableShares::halve() {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (i % 2 == 0) {
      std::swap(pieces_[i / 2], pieces_[i]);
      continue;
    }
    for (const auto& [leaf, value] : pieces_[i]) pieces_[i / 2][leaf] += value;
  }
  pieces_.resize((pieces_.size() + 1) / 2);
  piece_ns_ *= 2;
}

void StableShares::add(std::uint64_t time_ns, std::uint32_t leaf, std::int64_t value) {
  while (time_ns / piece_ns_ >= kMostPieces) {
    // If the first sample comes very late, there is nothing earlier to merge.
    if (pieces_.empty())
      piece_ns_ *= 2;
    else
      halve();
  }
  const std::size_t piece = time_ns / piece_ns_;
  if (pieces_.size() <= piece) pieces_.resize(piece + 1);
  pieces_[piece][leaf] += value;
}

std::vector<KnownShare> StableShares::top(
    std::uint64_t now_ns, std::size_t most,
    const std::function<std::uint64_t(std::uint32_t)>& function_of) const {
  const std::size_t count = std::min<std::size_t>(pieces_.size(), now_ns / piece_ns_);
  if (count < kLeastPieces) return {};
  std::vector<std::int64_t> wholes(count);
  std::unordered_map<std::uint64_t, std::vector<std::int64_t>> functions;
  std::int64_t all = 0;
  for (std::size_t piece = 0; piece < count; ++piece) {
    for (const auto& [leaf, value] : pieces_[piece]) {
      auto& values = functions[function_of(leaf)];
      values.resize(count);
      values[piece] += value;
      wholes[piece] += value;
      all += value;
    }
  }
  if (all < kLeastSamples) return {};
  const std::vector<RunScale> scale{
      {.pieces = count, .weight = 1, .of_whole = true, .own_spread = 0}};  // describes this run alone
  std::vector<std::pair<std::uint64_t, Figure>> figures;
  for (const auto& [function, values] : functions)
    figures.emplace_back(function, figure_of(values, wholes, scale));
  std::sort(figures.begin(), figures.end(), [](const auto& a, const auto& b) {
    return a.second.mean != b.second.mean ? a.second.mean > b.second.mean : a.first < b.first;
  });
  figures.resize(std::min(figures.size(), most));
  std::vector<KnownShare> shares;
  // So many are judged together that one in twenty would be wrong otherwise.
  Judge judge(0.05 / static_cast<double>(figures.size()));
  for (const auto& [function, figure] : figures) {
    Change width = change_between(Figure{.freedom = figure.freedom, .runs = 1}, figure);
    judge.judge(width);
    shares.push_back({function, figure.mean, width.error});
  }
  return shares;
}

}  // namespace fathom::analysis
