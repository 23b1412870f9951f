#include "binary/unwind/table.h"

#include <algorithm>

namespace fathom::unwind {

std::optional<unwind_rule> find_rule(const Table& table, ElfAddress address) {
  const std::uint64_t page = (address.value >> UNWIND_PAGE_SHIFT) - table.page_base;
  if (page >= table.pages.size()) return std::nullopt;
  const auto first = table.rows.begin() + static_cast<std::uint32_t>(table.pages[page]);
  const auto last = table.rows.begin() + static_cast<std::uint32_t>(table.pages[page] >> 32);
  const auto after =
      std::upper_bound(first, last, static_cast<std::uint32_t>(address.value & 0xffff),
                       [](std::uint32_t low, unwind_row row) { return low < UNWIND_ROW_ADDRESS(row); });
  // Rows of the page before reach into this one; rows[0] is at the start of the first page, so there is
  // always one.
  const unwind_rule& rule = table.rules[UNWIND_ROW_RULE(*std::prev(after))];
  return rule.cfa == CFA_NONE ? std::nullopt : std::optional(rule);
}

}  // namespace fathom::unwind
