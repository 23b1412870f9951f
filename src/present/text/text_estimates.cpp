#include "present/text/text_estimates.h"

#include <algorithm>
#include <cmath>

#include "analysis/core/rounding.h"
#include "analysis/core/words.h"

namespace fathom::present {
namespace {

using analysis::HeapAmount;

std::string whole_count(double value) {
  return analysis::with_commas(std::llround(std::clamp(value, -9e15, 9e15)));
}
std::string signed_bytes(double value, double error = 0) {
  return (value < 0 ? "-" : "") + analysis::bytes_with_error(std::fabs(value), error);
}
// The interval reaches zero: what is known is how much it may be at most.
bool is_bound(const HeapAmount& amount) {
  return amount.variance > 0 && amount.value > 0 && amount.error() >= amount.value;
}

}  // namespace

std::string count_cell(const HeapAmount& amount) {
  return count_cells(amount).value;
}

EstimateCells count_cells(const HeapAmount& amount) {
  if (amount.variance <= 0) return {whole_count(amount.value), ""};
  const double digit = analysis::last_known_digit(amount.error());
  if (is_bound(amount))
    return {"≤ " + whole_count(std::ceil((amount.value + amount.error()) / digit) * digit), ""};
  return {analysis::count_with_error(amount.value, amount.error()),
          "±" + whole_count(std::ceil(amount.error() / digit) * digit)};
}

EstimateCells bytes_cells(const HeapAmount& amount) {
  if (amount.variance <= 0) return {signed_bytes(amount.value), ""};
  if (is_bound(amount)) return {"≤ " + analysis::bytes(amount.value + amount.error()), ""};
  return {signed_bytes(amount.value, amount.error()), "±" + analysis::bytes(amount.error())};
}

}  // namespace fathom::present
