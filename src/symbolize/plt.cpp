#include "symbolize/plt.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

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
      const auto type = static_cast<std::uint32_t>(info);
      std::string name;
      if (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT) {
        name = symbol_name(info >> 32);
      } else if (type == R_X86_64_IRELATIVE) {
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
  const auto at = [&](std::size_t i) { return i < code.size() ? std::to_integer<unsigned>(code[i]) : 0u; };
  const auto read32 = [&](std::size_t i) {
    std::int32_t value = 0;
    if (i + 4 <= code.size()) std::memcpy(&value, code.data() + i, sizeof value);
    return value;
  };
  std::size_t i = 0;
  if (at(0) == 0xf3 && at(1) == 0x0f && at(2) == 0x1e && at(3) == 0xfa) i = 4;  // endbr64
  if (at(i) == 0xf2) ++i;                                                       // bnd
  if (at(i) == 0xff && at(i + 1) == 0x25) {                                     // jmp *displacement(%rip)
    const auto slot = address + i + 6 + static_cast<std::uint64_t>(static_cast<std::int64_t>(read32(i + 2)));
    const auto found = relocations.name_of_slot.find(slot);
    return found == relocations.name_of_slot.end() ? std::string() : found->second;
  }
  if (at(i) ==
      0x68) {  // push $number; jmp to the first entry: the lazy half when the other half is in .plt.sec
    const auto number = static_cast<std::uint32_t>(read32(i + 1));
    return number < relocations.jumps.size() ? relocations.jumps[number] : std::string();
  }
  return {};
}

}  // namespace

std::vector<PltEntry> plt_entries(const elf::ElfFile& file, const SymbolTable& symbols) {
  std::vector<PltEntry> entries;
  if (file.machine() != EM_X86_64) return entries;
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
      // The first entry of a lazy table pushes the link map (ff 35) and goes on to the dynamic linker.
      if (target.empty() && code.size() > 1 && code[0] == std::byte{0xff} && code[1] == std::byte{0x35})
        target = "_dl_runtime_resolve";
      if (!target.empty()) entries.push_back({{address}, code.size(), std::move(target)});
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const PltEntry& a, const PltEntry& b) { return a.start < b.start; });
  return entries;
}

}  // namespace fathom::symbolize
