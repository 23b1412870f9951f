#include "bench/support/statistics.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace fathom::bench {

double median(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::string number(double value, int digits) {
  return std::isnan(value) ? "-" : fmt::format("{:.{}f}", value, digits);
}

std::string median_and_range(const std::vector<double>& values, int digits) {
  if (values.size() < 2) return number(median(values), digits);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return fmt::format("{} [{}-{}]", number(median(values), digits), number(*low, digits),
                     number(*high, digits));
}

void print_table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows) {
  const auto print_row = [](const std::vector<std::string>& cells) {
    for (const std::string& cell : cells) fmt::print("| {} ", cell);
    fmt::print("|\n");
  };
  print_row(header);
  print_row(std::vector<std::string>(header.size(), "---"));
  for (const auto& row : rows) print_row(row);
  fmt::print("\n");
}

int rounds() {
  const char* text = std::getenv("ROUNDS");
  return std::max(1, text == nullptr ? 5 : std::atoi(text));
}

double seconds_per_run() {
  const char* text = std::getenv("SECONDS_PER_RUN");
  return std::max(0.5, text == nullptr ? 3 : std::atof(text));
}

double seconds_to_settle() {
  const char* text = std::getenv("SETTLE");
  return text == nullptr ? 0 : std::max(0.0, std::atof(text));
}

}  // namespace fathom::bench
