#include "attach/allocators/symbols.h"

#include <elf.h>
#include <fmt/format.h>

#include "attach/allocators/families.h"
#include "base/stable_sort.h"

namespace fathom::allocators {

bool in_code(const elf::ElfFile& file, ElfAddress address) {
  for (const elf::Segment& segment : file.segments())
    if (segment.type == PT_LOAD && (segment.flags & PF_X) != 0 && address.value >= segment.address.value &&
        address.value - segment.address.value < segment.file_size)
      return !file.bytes_from(address).empty();
  return false;
}

bool same_build(const elf::ElfFile& file, const elf::ElfFile& twin) {
  const std::string id = file.build_id(), twin_id = twin.build_id();
  if (!id.empty() && !twin_id.empty()) return id == twin_id;
  // A debug file keeps the segments' addresses and sizes in memory, though not what they hold.
  const auto layout = [](const elf::ElfFile& each) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
    for (const elf::Segment& segment : each.segments())
      if (segment.type == PT_LOAD) all.emplace_back(segment.address.value, segment.memory_size);
    return all;
  };
  return file.machine() == twin.machine() && layout(file) == layout(twin);
}

bool Symbols::is_function(const elf::Symbol& symbol) {
  // Hand-written code may be without a type.
  return symbol.section != SHN_UNDEF && symbol.address.value != 0 && !symbol.name.empty() &&
         (symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC || symbol.type == STT_NOTYPE);
}

Symbols::Symbols(const elf::ElfFile& file, const elf::ElfFile* twin, std::vector<std::string>& notes) {
  symtab_ = file.symbols(elf::SymbolTable::kSymtab);
  if (symtab_.empty() && twin != nullptr) {
    if (same_build(file, *twin))
      symtab_ = twin->symbols(elf::SymbolTable::kSymtab);
    else
      notes.push_back(fmt::format("{} is not of the same build and was not used", twin->name()));
  }
  dynsym_ = file.symbols(elf::SymbolTable::kDynsym);
  collect(file, symtab_);
  names_inner_ = any_function_;
  collect(file, dynsym_);
}

void Symbols::collect(const elf::ElfFile& file, const std::vector<elf::Symbol>& table) {
  for (const elf::Symbol& symbol : table) {
    if (!is_function(symbol)) continue;
    any_function_ = any_function_ || symbol.type != STT_NOTYPE;
    const std::string_view name = symbol.name.substr(0, symbol.name.find('@'));
    if (!is_interesting(name) || !in_code(file, symbol.address)) continue;
    const NamedFunction found{name, symbol.address, symbol.size, symbol.binding == STB_LOCAL,
                              symbol.type == STT_GNU_IFUNC};
    const auto [at, is_new] = by_name_.try_emplace(name, found);
    if (is_new) continue;
    NamedFunction& known = at->second;
    if (known.local && !found.local)
      known = found;
    else if (known.local && found.local && known.address != found.address)
      known.address.value = 0;
  }
}

const NamedFunction* Symbols::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() || found->second.address.value == 0 ? nullptr : &found->second;
}

std::uint64_t Symbols::distance_to_next(ElfAddress address) const {
  std::uint64_t nearest = 0;
  for_each_function([&](const elf::Symbol& symbol) {
    if (symbol.address <= address) return;
    const std::uint64_t distance = symbol.address.value - address.value;
    if (nearest == 0 || distance < nearest) nearest = distance;
  });
  return nearest;
}

std::vector<elf::Symbol> Symbols::functions_between(ElfAddress start, ElfAddress end) const {
  std::vector<elf::Symbol> inside;
  for_each_function([&](const elf::Symbol& symbol) {
    if (symbol.type != STT_NOTYPE && symbol.address >= start && symbol.address < end)
      inside.push_back(symbol);
  });
  stable_sort_rows(inside.begin(), inside.end(),
                   [](const elf::Symbol& a, const elf::Symbol& b) { return a.address < b.address; });
  return inside;
}

}  // namespace fathom::allocators
