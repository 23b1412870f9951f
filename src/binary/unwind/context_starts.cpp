#include "binary/unwind/context_starts.h"

#include "base/arch/common/context_starts.h"

namespace fathom::unwind {
namespace {

constexpr std::size_t kMostStarts = 64;  // a program links one or two such libraries; more are something else

}  // namespace

std::size_t end_at_context_starts(const elf::ElfFile& file, const std::vector<CodeRange>& ranges,
                                  dwarf::RuleSet& rules, dwarf::CfiFunctions& cfi,
                                  std::vector<Piece>& pieces) {
  std::vector<Piece> found;
  for (const CodeRange& range : ranges) {
    const auto code = file.bytes_at({range.start}, range.end - range.start);
    if (!code) continue;
    for (const arch::ContextStart& each : arch::context_starts(*code))
      if (each.start != 0) found.push_back({range.start + each.start, range.start + each.end, 0});
  }
  if (found.empty() || found.size() > kMostStarts) return 0;
  unwind_rule end{};
  end.cfa = CFA_END;
  const std::uint16_t rule = rules.insert(end);
  const auto add = [&](std::uint64_t start, std::uint64_t end_address) {
    pieces.push_back({start, end_address, static_cast<std::uint32_t>(cfi.functions.size())});
    cfi.functions.push_back({{start},
                             static_cast<std::uint32_t>(end_address - start),
                             static_cast<std::uint32_t>(cfi.rows.size()),
                             1});
    cfi.rows.push_back({0, rule});
  };
  for (const Piece& each : found) {
    // Apart, as of two pieces that overlap the one that starts later holds, and the code has unwind information of its own.
    add(each.start - 1, each.start);
    add(each.start, each.end);
  }
  return found.size();
}

}  // namespace fathom::unwind
