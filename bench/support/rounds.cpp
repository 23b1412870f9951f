#include "bench/support/rounds.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>

namespace fathom::bench {

void run_rounds(int rounds, std::size_t contenders, const std::function<void(int, std::size_t)>& run) {
  const char* text = std::getenv("SEED");
  const auto seed =
      text == nullptr ? std::random_device()() : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
  std::fprintf(stderr, "order of the rounds: SEED=%u\n", seed);
  std::mt19937 random(seed);
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::size_t> order(contenders + 1);
    std::iota(order.begin() + 1, order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t contender : order) run(round, contender);
  }
}

void Figure::add(int round, std::size_t contender, double value) {
  auto& row = rows_.at(contender);
  row.resize(std::max(row.size(), static_cast<std::size_t>(round) + 1));
  row[static_cast<std::size_t>(round)].push_back(value);
}

const std::vector<double>* Figure::bare(std::size_t round) const {
  return round < rows_[0].size() && rows_[0][round].size() == 2 ? &rows_[0][round] : nullptr;
}

std::vector<double> Figure::values(std::size_t contender) const {
  std::vector<double> all;
  for (const auto& round : rows_.at(contender)) all.insert(all.end(), round.begin(), round.end());
  return all;
}

std::vector<double> Figure::ratios(std::size_t contender) const {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < rows_.at(contender).size(); ++round) {
    const auto* nothing = bare(round);
    if (nothing == nullptr) continue;
    if (contender == 0) {
      ratios.push_back((*nothing)[0] / (*nothing)[1]);
      continue;
    }
    for (const double value : rows_[contender][round])
      ratios.push_back(2 * value / ((*nothing)[0] + (*nothing)[1]));
  }
  return ratios;
}

std::vector<double> Figure::differences(std::size_t contender) const {
  std::vector<double> differences;
  for (std::size_t round = 0; contender != 0 && round < rows_.at(contender).size(); ++round) {
    const auto* nothing = bare(round);
    for (const double value : rows_[contender][round])
      if (nothing != nullptr) differences.push_back(value - ((*nothing)[0] + (*nothing)[1]) / 2);
  }
  return differences;
}

}  // namespace fathom::bench
