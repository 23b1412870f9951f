#include "binary/unwind/lazy_binding.h"

#include <limits>
#include <vector>

#include "base/arch/common/lazy_binding.h"

namespace fathom::unwind {
namespace {

// The rows of the function once more, where those that stand on the finished frame know its size.
std::vector<dwarf::CfiRow> sized_rows(const dwarf::CfiFunction& function, const arch::BindingFrame& frame,
                                      dwarf::RuleSet& rules, const dwarf::CfiFunctions& cfi) {
  std::vector<dwarf::CfiRow> rows;
  for (std::uint32_t i = 0; i < function.row_count; ++i) {
    const dwarf::CfiRow row = cfi.rows[function.first_row + i];
    const std::uint32_t end =
        i + 1 < function.row_count ? cfi.rows[function.first_row + i + 1].offset : function.size;
    unwind_rule rule = rules.rules()[row.rule];
    if (end <= frame.from || !arch::finds_binding_frame(rule)) {
      rows.push_back(row);
      continue;
    }
    if (row.offset < frame.from) rows.push_back(row);
    rule.cfa = CFA_BINDING;
    rule.fp_offset = static_cast<std::int32_t>(frame.size_at.value);
    rows.push_back({std::max(row.offset, static_cast<std::uint32_t>(frame.from)), rules.insert(rule)});
  }
  return rows;
}

}  // namespace

std::uint64_t size_binding_frames(const elf::ElfFile& file, dwarf::RuleSet& rules, dwarf::CfiFunctions& cfi) {
  std::uint64_t changed = 0;
  for (dwarf::CfiFunction& function : cfi.functions) {
    bool by_register = false;
    for (std::uint32_t i = 0; i < function.row_count; ++i)
      by_register |= arch::finds_binding_frame(rules.rules()[cfi.rows[function.first_row + i].rule]);
    if (!by_register) continue;
    const auto code = file.bytes_at(function.start, function.size);
    const auto frame = code ? arch::binding_frame(*code, function.start) : std::nullopt;
    if (!frame || frame->size_at.value > std::numeric_limits<std::int32_t>::max()) continue;
    const auto rows = sized_rows(function, *frame, rules, cfi);
    function.first_row = static_cast<std::uint32_t>(cfi.rows.size());
    function.row_count = static_cast<std::uint32_t>(rows.size());
    cfi.rows.insert(cfi.rows.end(), rows.begin(), rows.end());
    ++changed;
  }
  return changed;
}

}  // namespace fathom::unwind
