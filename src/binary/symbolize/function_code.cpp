#include "binary/symbolize/function_code.h"

#include <elf.h>
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

#include "base/arch/common/stable_code.h"
#include "base/arch/facts.h"
#include "binary/unwind/table.h"

namespace fathom::symbolize {

std::uint64_t code_of(const elf::ElfFile& file, std::pair<ElfAddress, std::uint64_t> bounds) {
  const auto code = file.bytes_at(bounds.first, bounds.second);
  if (!code || file.machine() != arch::kElfMachine) return 0;
  arch::ImageRange image{UINT64_MAX, 0};
  for (const elf::Segment& segment : file.segments()) {
    if (segment.type != PT_LOAD) continue;
    image.first = std::min(image.first, segment.address.value);
    image.end = std::max(image.end, segment.address.value + segment.memory_size);
  }
  const auto stable = arch::stable_code(*code, bounds.first, image);
  return stable ? XXH3_64bits(stable->data(), stable->size()) : 0;
}

CodeMatch match_code(const elf::ElfFile& file, const RecordedCode& functions) {
  CodeMatch match;
  const auto bounds = unwind::function_bounds(file);
  for (const auto& [start, code] : functions) {
    const auto here = std::ranges::lower_bound(bounds, start, {}, [](const auto& row) { return row.first; });
    if (here != bounds.end() && here->first == start && code_of(file, *here) == code) {
      ++match.same;
      continue;
    }
    if (match.other++ == 0) match.first_other = start;
  }
  return match;
}

std::string CodeMatch::reason() const {
  if (other != 0)
    return fmt::format("{} of {} recorded functions have other code in it, such as the one at 0x{:x}", other,
                       same + other, first_other.value);
  return fmt::format("only {} of its functions were recorded with their code, and {} are needed to decide",
                     same, kLeastSameFunctions);
}

}  // namespace fathom::symbolize
