#include "analysis/feedback/symbol_counts.h"

#include <elf.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "base/stable_sort.h"

namespace fathom::feedback {
namespace {

// The name that a link-time optimiser gives the file of its code; BOLT ignores it, because it is not always there.
constexpr std::string_view kTemporaryFile = "ld-temp.o";

struct NamedSymbol {
  ElfAddress start;
  std::uint64_t size = 0;
  bool global = false, function = false;
  std::string_view name, file;
  std::string shown;
};

bool is_in_memory(const elf::Symbol& symbol) {
  return symbol.section != SHN_UNDEF && symbol.type != STT_FILE && symbol.type != STT_TLS &&
         symbol.type != STT_SECTION && symbol.address.value != 0;
}

std::vector<NamedSymbol> named_symbols(const elf::ElfFile& file) {
  std::vector<NamedSymbol> rows;
  std::string_view source;
  for (const elf::Symbol& symbol : file.symbols(elf::SymbolTable::kSymtab)) {
    if (symbol.type == STT_FILE) {
      if (symbol.name != kTemporaryFile) source = symbol.name;
      continue;
    }
    if (!is_in_memory(symbol) || symbol.name.empty()) continue;
    NamedSymbol row;
    row.start = symbol.address;
    row.size = symbol.size;
    row.global = symbol.binding != STB_LOCAL;
    row.function = symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC;
    row.name = symbol.name;
    if (!row.global) row.file = source;
    rows.push_back(std::move(row));
  }
  stable_sort_rows(rows.begin(), rows.end(),
                   [](const NamedSymbol& a, const NamedSymbol& b) { return a.start < b.start; });
  std::map<std::string, int> numbers;
  for (NamedSymbol& row : rows) {
    if (row.global) {
      row.shown = row.name;
      continue;
    }
    // Both names are counted, also for symbols that are known by the longer one.
    const std::string name(row.name);
    row.shown = name + "/" + std::to_string(++numbers[name]);
    if (!row.function || row.file.empty()) continue;
    const std::string in_file = name + "/" + std::string(row.file);
    row.shown = in_file + "/" + std::to_string(++numbers[in_file]);
  }
  // No profile has a place for such a name.
  for (NamedSymbol& row : rows)
    if (row.shown.find('\n') != std::string::npos) row.shown.clear();
  // Of several names for one function the global one: its name needs no file.
  std::erase_if(rows, [](const NamedSymbol& row) { return !row.function || row.size == 0; });
  std::sort(rows.begin(), rows.end(), [](const NamedSymbol& a, const NamedSymbol& b) {
    return std::tuple(a.start, !a.global, b.size, a.shown) < std::tuple(b.start, !b.global, a.size, b.shown);
  });
  rows.erase(std::unique(rows.begin(), rows.end(),
                         [](const NamedSymbol& a, const NamedSymbol& b) { return a.start == b.start; }),
             rows.end());
  return rows;
}

}  // namespace

SymbolCounts symbol_counts(const elf::ElfFile& file, const std::vector<AddressCount>& samples) {
  const std::vector<NamedSymbol> symbols = named_symbols(file);
  SymbolCounts counts;
  std::size_t next = 0;
  for (const AddressCount& row : samples) {
    while (next < symbols.size() && symbols[next].start <= row.address) ++next;
    const NamedSymbol* symbol = next == 0 ? nullptr : &symbols[next - 1];
    const std::uint64_t offset = symbol == nullptr ? 0 : row.address.value - symbol->start.value;
    if (symbol == nullptr || offset >= symbol->size || symbol->shown.empty()) {
      counts.without_symbol += row.samples;
      continue;
    }
    counts.rows.push_back({symbol->shown, offset, row.samples});
    counts.samples += row.samples;
  }
  return counts;
}

}  // namespace fathom::feedback
