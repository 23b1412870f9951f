#include "binary/unwind/exception_exits.h"

#include "base/arch/common/exception_exits.h"

namespace fathom::unwind {
namespace {

constexpr std::size_t kMostExits = 64;  // libgcc has four; more are something else, and are not looked for

// [from, end) of the function gets the rule; what holds at the end goes on there.
void replace_rows(dwarf::CfiFunction& function, std::uint32_t from, std::uint32_t end, std::uint16_t rule,
                  dwarf::CfiFunctions& cfi) {
  const auto first = static_cast<std::uint32_t>(cfi.rows.size());
  std::uint16_t at_end = rule;
  for (std::uint32_t i = 0; i < function.row_count; ++i) {
    const dwarf::CfiRow row = cfi.rows[function.first_row + i];
    if (row.offset <= end) at_end = row.rule;
    if (row.offset < from) cfi.rows.push_back(row);
  }
  cfi.rows.push_back({from, rule});
  if (end < function.size && at_end != rule) cfi.rows.push_back({end, at_end});
  for (std::uint32_t i = 0; i < function.row_count; ++i) {
    const dwarf::CfiRow row = cfi.rows[function.first_row + i];
    if (row.offset > end && row.rule != cfi.rows.back().rule) cfi.rows.push_back(row);
  }
  function.first_row = first;
  function.row_count = static_cast<std::uint32_t>(cfi.rows.size()) - first;
}

}  // namespace

std::uint64_t end_at_exception_exits(const elf::ElfFile& file, const std::vector<CodeRange>& ranges,
                                     dwarf::RuleSet& rules, dwarf::CfiFunctions& cfi) {
  std::vector<std::uint64_t> exits;
  for (const CodeRange& range : ranges) {
    const auto code = file.bytes_at({range.start}, range.end - range.start);
    if (!code) continue;
    for (const std::size_t offset : arch::exception_exits(*code)) exits.push_back(range.start + offset);
  }
  if (exits.empty() || exits.size() > kMostExits) return 0;
  unwind_rule rule{};
  rule.cfa = CFA_EXCEPTION;
  std::uint64_t changed = 0;
  for (dwarf::CfiFunction& function : cfi.functions) {
    for (const std::uint64_t exit : exits) {
      if (exit <= function.start.value || exit - function.start.value > function.size) continue;
      const std::uint64_t size = exit - function.start.value;
      const auto code = file.bytes_at(function.start, size);
      const auto from = code ? arch::first_overwrite(*code) : std::nullopt;
      // Not at the first byte: a function that is nothing but this is none of libgcc's.
      if (!from || *from == 0) continue;
      replace_rows(function, static_cast<std::uint32_t>(*from), static_cast<std::uint32_t>(size),
                   rules.insert(rule), cfi);
      ++changed;
    }
  }
  return changed;
}

}  // namespace fathom::unwind
