#include "record/session/memory/huge_rounding.h"

#include <algorithm>

namespace fathom::session {
namespace {

using allocators::HeldKind;
using allocators::HeldRange;

constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;

bool is_free(HeldKind kind) {
  return kind == HeldKind::kDirty || kind == HeldKind::kMuzzy || kind == HeldKind::kRetained ||
         kind == HeldKind::kBins || kind == HeldKind::kTop;
}

// Huge pages with live memory, as far as `ranges` show; ascending.
std::vector<allocators::AddressRange> pages_in_use(std::span<const HeldRange> ranges,
                                                   const allocators::AddressRanges& huge) {
  std::vector<allocators::AddressRange> pages;
  for (const HeldRange& range : ranges) {
    if (is_free(range.kind)) continue;
    for (const allocators::AddressRange& part : huge.within(range.start, range.end)) {
      const std::uint64_t first = part.start / kHugePage * kHugePage,
                          end = (part.end + kHugePage - 1) / kHugePage * kHugePage;
      if (!pages.empty() && pages.back().end >= first)
        pages.back().end = std::max(pages.back().end, end);
      else
        pages.push_back({first, end});
    }
  }
  return pages;
}

}  // namespace

std::vector<HeldPart> split_by_huge_pages(std::span<const HeldRange> ranges,
                                          const allocators::AddressRanges& huge) {
  std::vector<HeldPart> parts;
  parts.reserve(ranges.size());
  const allocators::AddressRanges in_use(pages_in_use(ranges, huge));
  for (const HeldRange& range : ranges) {
    std::uint64_t at = range.start;
    if (is_free(range.kind))
      for (const allocators::AddressRange& used : in_use.within(range.start, range.end))
        for (const allocators::AddressRange& part : huge.within(used.start, used.end)) {
          if (part.start > at) parts.push_back({{at, part.start, range.kind}, false});
          parts.push_back({{part.start, part.end, range.kind}, true});
          at = part.end;
        }
    if (at < range.end) parts.push_back({{at, range.end, range.kind}, false});
  }
  return parts;
}

}  // namespace fathom::session
