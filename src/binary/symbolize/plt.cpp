#include "binary/symbolize/plt.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/arch/branches.h"
#include "base/arch/facts.h"
#include "base/arch/relocations.h"
#include "base/cursor.h"

namespace fathom::symbolize {
namespace {

constexpr std::size_t kMostEntries = 1 << 20;

struct Relocations {
  std::unordered_map<std::uint64_t, std::string> name_of_slot;  // by the address of the GOT slot
  std::vector<std::string> jumps;  // of .rela.plt, by number: what lazy entries push
};

Relocations read_relocations(const elf::ElfFile& file, const SymbolTable& symbols) {
  Relocations relocations;
  for (const char* section_name : {".rela.plt", ".rela.dyn"}) {
    const auto* section = file.section(section_name);
    if (section == nullptr) continue;
    const auto content = file.contents(*section);
    if (!content) continue;
    // Symbols by number, so they are read here: a list that has lost its bad entries has lost its numbers.
    const auto all = file.sections();
    elf::SectionData symbol_data, name_data;
    if (section->link != 0 && section->link < all.size()) {
      const auto& table = all[section->link];
      if (auto data = file.contents(table)) symbol_data = std::move(*data);
      if (table.link < all.size())
        if (auto data = file.contents(all[table.link])) name_data = std::move(*data);
    }
    const auto symbol_name = [&](std::uint64_t index) -> std::string {
      if (index == 0 || index >= symbol_data.bytes().size() / sizeof(Elf64_Sym)) return {};
      Cursor symbol(symbol_data.bytes().subspan(index * sizeof(Elf64_Sym)));
      Cursor names(name_data.bytes());
      names.skip(symbol.read<std::uint32_t>());
      return std::string(names.read_c_string());
    };
    Cursor in(content->bytes());
    while (in.remaining() >= sizeof(Elf64_Rela) && relocations.name_of_slot.size() < kMostEntries) {
      const auto slot = in.read<std::uint64_t>();
      const auto info = in.read<std::uint64_t>();
      const auto addend = in.read<std::uint64_t>();
      const auto kind = arch::relocation_kind(static_cast<std::uint32_t>(info));
      std::string name;
      if (kind == arch::RelocationKind::kSlot) {
        name = symbol_name(info >> 32);
      } else if (kind == arch::RelocationKind::kResolver) {
        if (const auto resolver = symbols.ifunc_at({addend})) name = *resolver;
      }
      if (const auto version = name.find('@'); version != std::string::npos && version != 0)
        name.resize(version);
      if (std::strcmp(section_name, ".rela.plt") == 0) relocations.jumps.push_back(name);
      if (!name.empty()) relocations.name_of_slot.emplace(slot, std::move(name));
    }
  }
  return relocations;
}

// What one entry jumps to, "" if nothing is known.
std::string name_of_entry(std::span<const std::byte> code, std::uint64_t address,
                          const Relocations& relocations) {
  const arch::LinkageEntry entry = arch::linkage_entry(code, address);
  if (entry.word) {
    const auto found = relocations.name_of_slot.find(*entry.word);
    return found == relocations.name_of_slot.end() ? std::string() : found->second;
  }
  if (entry.number)
    return *entry.number < relocations.jumps.size() ? relocations.jumps[*entry.number] : std::string();
  return entry.resolver ? "_dl_runtime_resolve" : "";
}

}  // namespace

std::vector<PltEntry> plt_entries(const elf::ElfFile& file, const SymbolTable& symbols) {
  std::vector<PltEntry> entries;
  if (file.machine() != arch::kElfMachine) return entries;
  const Relocations relocations = read_relocations(file, symbols);
  for (const char* name : {".plt", ".plt.sec", ".plt.got", ".iplt"}) {
    const auto* section = file.section(name);
    if (section == nullptr || section->type != SHT_PROGBITS) continue;
    const auto content = file.contents(*section);
    if (!content) continue;
    const auto bytes = content->bytes();
    // .plt.got without branch tracking has entries of 8 bytes; so says sh_entsize, which is 16 with it.
    const std::uint64_t step = section->entry_size == 8 ? 8 : 16;
    for (std::uint64_t offset = 0; offset < bytes.size() && entries.size() < kMostEntries; offset += step) {
      const auto code = bytes.subspan(offset, std::min<std::uint64_t>(step, bytes.size() - offset));
      const std::uint64_t address = section->address.value + offset;
      auto target = name_of_entry(code, address, relocations);
      if (!target.empty()) entries.push_back({{address}, code.size(), std::move(target)});
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const PltEntry& a, const PltEntry& b) { return a.start < b.start; });
  return entries;
}

}  // namespace fathom::symbolize
