#include "binary/probes/ends.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace fathom::probes {
namespace {

constexpr std::size_t kMostPieces = 16, kMostEnds = 256;

arch::FunctionEnds unknown(std::string why) {
  arch::FunctionEnds none;
  none.problem = std::move(why);
  return none;
}

}  // namespace

const unwind::Table& Ends::table() {
  if (table_ != nullptr) return *table_;
  if (!own_table_) {
    auto built = unwind::build_table(file_);
    own_table_ = built ? std::move(*built) : unwind::Table{};
  }
  return *own_table_;
}

// Whether the stack is there as it was when the function was entered: it has no frame.
bool Ends::begins_like(ElfAddress address, ElfAddress entry) {
  const auto there = unwind::find_rule(table(), address), at_entry = unwind::find_rule(table(), entry);
  if (!there || !at_entry) return true;    // unknown
  if (there->cfa == CFA_PLT) return true;  // the way into another library
  return there->cfa == at_entry->cfa && there->cfa_offset == at_entry->cfa_offset;
}

std::optional<Bounds> Ends::bounds_around(ElfAddress address) {
  if (bounds_.empty()) bounds_ = unwind::function_bounds(file_);
  auto after = std::ranges::upper_bound(bounds_, address, {}, &Bounds::first);
  if (after == bounds_.begin()) return std::nullopt;
  --after;
  if (address.value - after->first.value >= after->second) return std::nullopt;
  return *after;
}

bool Ends::add_nameless_pieces(const arch::FunctionEnds& found, std::vector<Bounds>& pieces) {
  const std::size_t before = pieces.size();
  for (const arch::FunctionEnd& end : found.ends) {
    const ElfAddress target{end.target};
    if (end.target == 0 || target == pieces[0].first || begins_like(target, pieces[0].first)) continue;
    const auto bounds = bounds_around(target);
    if (bounds && std::ranges::find(pieces, bounds->first, &Bounds::first) == pieces.end())
      pieces.push_back(*bounds);
  }
  return pieces.size() > before;
}

arch::FunctionEnds Ends::of(std::vector<Bounds> pieces) {
  if (pieces[0].second == 0) return unknown("its size is not known");
  arch::FunctionEnds found;
  do {
    if (pieces.size() > kMostPieces) return unknown("its code is in too many pieces");
    std::vector<arch::CodePart> parts;
    for (const auto& [start, size] : pieces) {
      const auto code = file_.bytes_at(start, size);
      if (!code) return unknown("its code is not in the file");
      parts.push_back({*code, start.value});
    }
    found = arch::function_ends(parts);
    if (!found.problem.empty()) return found;
  } while (add_nameless_pieces(found, pieces));
  for (const auto& jump : found.open_jumps) {
    if (!begins_like(ElfAddress{jump.address}, pieces[0].first)) continue;  // a table within its frame
    if (!jump.leaves)
      return unknown(
          fmt::format("the jump at 0x{:x} may lead out of it, or to a place within", jump.address));
    found.ends.push_back({.address = jump.address});
  }
  found.open_jumps.clear();
  if (found.ends.size() > kMostEnds)
    return unknown(fmt::format("it can be left at {} places", found.ends.size()));
  return found;
}

}  // namespace fathom::probes
