#include <algorithm>

#include "binary/unwind/frame_sections.h"
#include "binary/unwind/table.h"

namespace fathom::unwind {

std::vector<std::pair<ElfAddress, std::uint64_t>> function_bounds(const elf::ElfFile& file) {
  const auto ranges = code_ranges(file);
  const FrameSections sections = find_frame_sections(file);
  std::vector<std::pair<ElfAddress, std::uint64_t>> bounds;
  for (const auto* section : {&sections.eh_frame, &sections.debug_frame}) {
    if (!*section) continue;
    dwarf::FrameReader reader(**section);
    while (const auto fde = reader.next())
      if (const auto size = size_within(ranges, fde->start.value, fde->size); size != 0)
        bounds.emplace_back(fde->start, size);
  }
  // Stable, so that .eh_frame goes before .debug_frame where both know a function.
  const auto by_start = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::stable_sort(bounds.begin(), bounds.end(), by_start);
  const auto same_start = [](const auto& a, const auto& b) { return a.first == b.first; };
  bounds.erase(std::unique(bounds.begin(), bounds.end(), same_start), bounds.end());
  return bounds;
}

}  // namespace fathom::unwind
