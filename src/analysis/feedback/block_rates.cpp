#include "analysis/feedback/block_rates.h"

#include <algorithm>
#include <string_view>

namespace fathom::feedback {
namespace {

// It may go on elsewhere. A call comes back, so it ends no block.
bool ends_block(const arch::DecodedInstruction& row) {
  const std::string_view text = row.text;
  return text.starts_with("j") || text.starts_with("ret") || text.starts_with("loop") ||
         text.starts_with("ud2") || text.starts_with("hlt");
}
bool is_jump(const arch::DecodedInstruction& row) {
  const std::string_view text = row.text;
  return row.target && (text.starts_with("j") || text.starts_with("loop"));
}

}  // namespace

std::vector<double> block_rates(const std::vector<arch::DecodedInstruction>& code,
                                const std::vector<AddressCount>& samples) {
  const auto row_of = [&](ElfAddress address) {
    const auto next = std::upper_bound(
        code.begin(), code.end(), address,
        [](ElfAddress value, const arch::DecodedInstruction& row) { return value < row.address; });
    return static_cast<std::size_t>(next - code.begin());  // behind it
  };
  std::vector<char> begins(code.size() + 1, 0);
  begins.front() = 1;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (ends_block(code[i])) begins[i + 1] = 1;
    if (!is_jump(code[i])) continue;
    const std::size_t behind = row_of(*code[i].target);
    if (behind != 0 && code[behind - 1].address == *code[i].target) begins[behind - 1] = 1;
  }
  std::vector<double> sums(code.size(), 0);
  for (const AddressCount& row : samples)
    if (const std::size_t behind = row_of(row.address); behind != 0)
      sums[behind - 1] += static_cast<double>(row.samples);
  std::vector<double> rates(code.size(), 0);
  for (std::size_t from = 0; from < code.size();) {
    std::size_t end = from + 1;
    while (end < code.size() && begins[end] == 0) ++end;
    double sum = 0;
    for (std::size_t i = from; i < end; ++i) sum += sums[i];
    for (std::size_t i = from; i < end; ++i) rates[i] = sum / static_cast<double>(end - from);
    from = end;
  }
  return rates;
}

}  // namespace fathom::feedback
