#include "binary/symbolize/symbol_table.h"

#include <elf.h>

#include <algorithm>
#include <limits>
#include <tuple>

namespace fathom::symbolize {
namespace {

// Hostile tables may nest symbols without end; real ones nest two or three deep (labels of assembly in a
// function).
constexpr int kLongestSearch = 32;

// The longest function without a size among exported ones. The entries of x264's assembly have none, and the last of them stood for
// all 225 KiB of the local functions after it (Debian 12).
constexpr std::uint64_t kLongestGuess = 4096;
constexpr std::size_t kLongestName = 1 << 20;

// "$x", "$d.12": what assemblers of other machines mark code and data with; ".L12", ".annobin_...": local
// labels.
bool is_mark(std::string_view name) {
  if (name.starts_with('.')) return true;
  return name.size() >= 2 && name[0] == '$' && (name.size() == 2 || name[2] == '.');
}

std::string_view without_version(std::string_view name) {
  const auto at = name.find('@');
  return at == std::string_view::npos || at == 0 ? name : name.substr(0, at);
}

// A mangled name starts with an underscore too, but not because it is private.
std::size_t underscores_of_plain_name(std::string_view name) {
  if (name.starts_with("_Z") || name.starts_with("_R")) return 0;
  return std::min(name.find_first_not_of('_'), name.size());
}

}  // namespace

void SymbolTable::add(const elf::ElfFile& file, elf::SymbolTable table) {
  for (const auto& section : file.sections())
    if ((section.flags & SHF_EXECINSTR) != 0 && section.size != 0)
      code_.push_back({section.address.value, section.address.value + section.size});
  if (file.sections().empty())
    for (const auto& segment : file.segments())
      if (segment.type == PT_LOAD && (segment.flags & PF_X) != 0)
        code_.push_back({segment.address.value, segment.address.value + segment.memory_size});
  std::sort(code_.begin(), code_.end(),
            [](Range a, Range b) { return std::tie(a.start, a.end) < std::tie(b.start, b.end); });
  code_.erase(std::unique(code_.begin(), code_.end(),
                          [](Range a, Range b) { return a.start == b.start && a.end == b.end; }),
              code_.end());

  for (const auto& symbol : file.symbols(table)) {
    exported_only_ = exported_only_ && table == elf::SymbolTable::kDynsym;
    if (symbol.section == SHN_UNDEF || symbol.name.empty() || is_mark(symbol.name)) continue;
    if (symbol.type != STT_FUNC && symbol.type != STT_NOTYPE && symbol.type != STT_GNU_IFUNC) continue;
    // Also keeps out "_end", "__bss_start" and whatever else an assembler leaves without a type.
    if (code_range(symbol.address.value) == nullptr) continue;
    const auto name = without_version(symbol.name.substr(0, kLongestName));
    const Entry entry{symbol.address.value, name.data(), static_cast<std::uint32_t>(name.size()),
                      static_cast<std::uint32_t>(
                          std::min<std::uint64_t>(symbol.size, std::numeric_limits<std::uint32_t>::max()))};
    if (symbol.type == STT_GNU_IFUNC)
      ifuncs_.push_back(entry);
    else
      candidates_.push_back({entry, symbol.binding != STB_LOCAL, symbol.type == STT_FUNC});
  }
}

bool SymbolTable::better(const Candidate& a, const Candidate& b) {
  const auto rank = [](const Candidate& c) {
    return std::tuple(c.entry.size == 0, !c.global, !c.function, underscores_of_plain_name(c.entry.text()),
                      c.entry.name_length, c.entry.text());
  };
  return rank(a) < rank(b);
}

void SymbolTable::finish() {
  std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
    return a.entry.address != b.entry.address ? a.entry.address < b.entry.address : better(a, b);
  });
  entries_.reserve(candidates_.size());
  for (const auto& candidate : candidates_)
    if (entries_.empty() || entries_.back().address != candidate.entry.address)
      entries_.push_back(candidate.entry);
  entries_.shrink_to_fit();
  candidates_ = {};
  std::sort(ifuncs_.begin(), ifuncs_.end(), [](const Entry& a, const Entry& b) {
    return std::tuple(a.address, underscores_of_plain_name(a.text()), a.name_length, a.text()) <
           std::tuple(b.address, underscores_of_plain_name(b.text()), b.name_length, b.text());
  });
}

const SymbolTable::Range* SymbolTable::code_range(std::uint64_t address) const {
  auto next = std::upper_bound(code_.begin(), code_.end(), address,
                               [](std::uint64_t value, const Range& range) { return value < range.start; });
  if (next == code_.begin()) return nullptr;
  --next;
  return address < next->end ? &*next : nullptr;
}

std::optional<FoundSymbol> SymbolTable::find(ElfAddress address) const {
  auto next = std::upper_bound(entries_.begin(), entries_.end(), address.value,
                               [](std::uint64_t value, const Entry& entry) { return value < entry.address; });
  const auto nearest = next;
  for (int i = 0; i < kLongestSearch && next != entries_.begin(); ++i) {
    --next;
    if (next->contains(address.value)) return FoundSymbol{next->text(), {next->address}, true};
  }
  if (nearest == entries_.begin()) return std::nullopt;
  const Entry& before = *(nearest - 1);
  const Range* code = code_range(address.value);
  if (before.size != 0 || code == nullptr || before.address < code->start) return std::nullopt;
  if (exported_only_ && address.value - before.address >= kLongestGuess) return std::nullopt;
  return FoundSymbol{before.text(), {before.address}, false};
}

std::optional<std::string_view> SymbolTable::ifunc_at(ElfAddress resolver) const {
  const auto found =
      std::lower_bound(ifuncs_.begin(), ifuncs_.end(), resolver.value,
                       [](const Entry& entry, std::uint64_t value) { return entry.address < value; });
  if (found == ifuncs_.end() || found->address != resolver.value) return std::nullopt;
  return found->text();
}

}  // namespace fathom::symbolize
