// Symbol tables. By section header if there are any, else (stripped headers, vdso images) the dynamic symbols
// by the dynamic section, whose count only the hash tables know.
#include <elf.h>

#include <algorithm>
#include <cstring>

#include "base/cursor.h"
#include "binary/elf/elf_file.h"

namespace fathom::elf {
namespace {

constexpr std::size_t kSymbolEntry = sizeof(Elf64_Sym);

// DT_HASH: bucket count, chain count; there is one chain entry per symbol.
std::uint64_t count_by_hash(std::span<const std::byte> table) {
  Cursor in(table);
  in.skip(4);
  return in.read<std::uint32_t>();
}

// DT_GNU_HASH has no count: it is one more than the last symbol of the chain that starts last.
std::uint64_t count_by_gnu_hash(std::span<const std::byte> table) {
  Cursor in(table);
  const auto bucket_count = in.read<std::uint32_t>();
  const auto first_symbol = in.read<std::uint32_t>();
  const auto bloom_words = in.read<std::uint32_t>();
  in.skip(4);
  in.skip(std::uint64_t{bloom_words} * 8);
  if (!in.ok() || bucket_count > in.remaining() / 4) return 0;
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < bucket_count; ++i) last = std::max(last, in.read<std::uint32_t>());
  if (last < first_symbol) return first_symbol;  // no exported symbol: only imports, which are not hashed
  in.skip(std::uint64_t{last - first_symbol} * 4);
  std::uint64_t count = last;
  while (in.ok()) {
    const auto hash = in.read<std::uint32_t>();
    ++count;
    if ((hash & 1) != 0) return count;  // the end of a chain
  }
  return 0;
}

}  // namespace

std::vector<Symbol> ElfFile::read_symbols(std::span<const std::byte> entries,
                                          std::span<const std::byte> names) const {
  std::vector<Symbol> symbols;
  symbols.reserve(entries.size() / kSymbolEntry);
  Cursor in(entries);
  in.skip(kSymbolEntry);  // the first entry is reserved
  while (in.remaining() >= kSymbolEntry) {
    const auto name = in.read<std::uint32_t>();
    const auto info = in.read<std::uint8_t>();
    in.skip(1);  // visibility
    Symbol symbol{};
    symbol.type = info & 0xf;
    symbol.binding = info >> 4;
    symbol.section = in.read<std::uint16_t>();
    symbol.address.value = in.read<std::uint64_t>();
    symbol.size = in.read<std::uint64_t>();
    Cursor text(names);
    text.skip(name);
    symbol.name = text.read_c_string();
    if (text.ok()) symbols.push_back(symbol);
  }
  return symbols;
}

std::vector<Symbol> ElfFile::dynamic_symbols_by_segment() const {
  if (dynamic_.symbols == 0 || dynamic_.names == 0) return {};
  std::uint64_t count = 0;
  if (dynamic_.hash != 0) count = count_by_hash(bytes_from({dynamic_.hash}));
  if (count == 0 && dynamic_.gnu_hash != 0) count = count_by_gnu_hash(bytes_from({dynamic_.gnu_hash}));
  const auto entries = bytes_from({dynamic_.symbols});
  count = std::min<std::uint64_t>(count, entries.size() / kSymbolEntry);
  const auto names = bytes_at({dynamic_.names}, dynamic_.names_size);
  if (!names) return {};
  return read_symbols(entries.first(static_cast<std::size_t>(count) * kSymbolEntry), *names);
}

std::vector<Symbol> ElfFile::symbols(SymbolTable table) const {
  const std::uint32_t type = table == SymbolTable::kSymtab ? SHT_SYMTAB : SHT_DYNSYM;
  const auto found =
      std::find_if(sections_.begin(), sections_.end(), [&](const Section& s) { return s.type == type; });
  if (found != sections_.end()) {
    if (found->link >= sections_.size()) return {};
    const Section& names = sections_[found->link];
    return read_symbols(stored(found->offset, found->size), stored(names.offset, names.size));
  }
  return table == SymbolTable::kDynsym ? dynamic_symbols_by_segment() : std::vector<Symbol>{};
}

}  // namespace fathom::elf
