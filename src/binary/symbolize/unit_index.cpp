#include "binary/symbolize/unit_index.h"

#include <dwarf.h>

#include <algorithm>

namespace fathom::symbolize {
namespace {

// What compilers write stays far below; what is beyond costs names, not memory or time.
constexpr std::size_t kMostRangesOfUnit = 1 << 20;
constexpr std::size_t kMostUnits = 1 << 20;
constexpr int kMostOverlappingUnits = 16;

}  // namespace

// .debug_aranges: cheap, but clang leaves it out, and linkers mix objects with and without.
UnitIndex::UnitIndex(Dwarf* dwarf) : dwarf_(dwarf) {
  Dwarf_Aranges* aranges = nullptr;
  std::size_t count = 0;
  if (dwarf_getaranges(dwarf_, &aranges, &count) != 0) return;
  ranges_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    Dwarf_Addr start = 0;
    Dwarf_Word length = 0;
    Dwarf_Off offset = 0;
    if (dwarf_getarangeinfo(dwarf_onearange(aranges, i), &start, &length, &offset) != 0) continue;
    if (start != 0 && length != 0 && start + length > start)
      ranges_.push_back({{start, start + length}, offset});
  }
  std::sort(ranges_.begin(), ranges_.end(),
            [](const UnitRange& a, const UnitRange& b) { return a.range.start < b.range.start; });
}

bool UnitIndex::read_ranges_of_units() {
  if (is_complete_) return false;
  is_complete_ = true;
  ranges_.clear();
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  for (std::size_t i = 0; i < kMostUnits; ++i) {
    Dwarf_CU* next = nullptr;
    Dwarf_Half version = 0;
    std::uint8_t type = 0;
    if (dwarf_get_units(dwarf_, unit, &next, &version, &type, &die, nullptr) != 0) break;
    unit = next;
    if (type != DW_UT_compile && type != DW_UT_skeleton) continue;
    for (const auto& range : ranges_of(die, kMostRangesOfUnit))
      ranges_.push_back({range, dwarf_dieoffset(&die)});
    if (ranges_.size() > 16 * kMostRangesOfUnit) break;
  }
  std::sort(ranges_.begin(), ranges_.end(),
            [](const UnitRange& a, const UnitRange& b) { return a.range.start < b.range.start; });
  return true;
}

std::optional<Dwarf_Off> UnitIndex::find(std::uint64_t address) const {
  auto next =
      std::upper_bound(ranges_.begin(), ranges_.end(), address,
                       [](std::uint64_t value, const UnitRange& row) { return value < row.range.start; });
  for (int i = 0; i < kMostOverlappingUnits && next != ranges_.begin(); ++i)
    if ((--next)->range.contains(address)) return next->unit;
  return std::nullopt;
}

}  // namespace fathom::symbolize
