#include "analysis/core/rounding.h"

#include <algorithm>
#include <cmath>

#include "analysis/core/words.h"

namespace fathom::analysis {

double last_known_digit(double error) {
  return error < 1 ? 1 : std::pow(10, std::floor(std::log10(error)));
}

std::string count_with_error(double count, double error) {
  const double digit = last_known_digit(error);
  return with_commas(std::llround(std::clamp(std::round(count / digit) * digit, -9e15, 9e15)));
}

std::string bytes_with_error(double value, double error) {
  // As bytes() chooses it; rounding may lead to the next unit, so it comes first.
  double unit = 1;
  while (std::fabs(value) >= 1024 * unit && unit < 1024.0 * 1024 * 1024 * 1024) unit *= 1024;
  if (error < unit) return bytes(value);
  const double digit = last_known_digit(error / unit) * unit;
  const std::string text = bytes(std::round(value / digit) * digit);
  const std::size_t point = text.rfind(".0 ");
  return point == text.npos ? text : text.substr(0, point) + text.substr(point + 2);
}

std::string amount_of(const CallTree& tree, std::int64_t value) {
  const auto number = static_cast<double>(value);
  const bool estimated =
      model::is_heap(tree.metric) && tree.effective_samples > 0 && tree.effective_samples < kExact;
  if (!estimated || value == 0) return amount(number, tree.unit);
  // A part of the samples has the error of as many.
  const double samples = tree.effective_samples * std::fabs(number) / static_cast<double>(tree.total);
  const double error = 1.959964 * std::fabs(number) / std::sqrt(std::max(1.0, samples));
  if (tree.unit == "bytes") return bytes_with_error(number, error);
  return count_with_error(number, error) + " " + tree.unit;
}

}  // namespace fathom::analysis
