#include "binary/unwind/synthesize.h"

#include <elf.h>

#include <algorithm>

#include "base/arch/common/prologue.h"
#include "base/cursor.h"

namespace fathom::unwind {
namespace {

// Function symbols as pieces; `function` is the offset of the name. Read here and not through
// ElfFile::symbols(), as a table of 100,000 functions that all have call frame information should not cost
// the reading of 100,000 names.
struct FunctionSymbols {
  std::vector<Piece> pieces;
  std::span<const std::byte> names;
};

FunctionSymbols function_symbols(const elf::ElfFile& file, const std::vector<CodeRange>& ranges) {
  FunctionSymbols found;
  const auto of_type = [&](std::uint32_t type) {
    const auto sections = file.sections();
    const auto at =
        std::find_if(sections.begin(), sections.end(), [&](const auto& s) { return s.type == type; });
    return at == sections.end() ? nullptr : &*at;
  };
  const elf::Section* table = of_type(SHT_SYMTAB);
  if (table == nullptr) table = of_type(SHT_DYNSYM);
  if (table == nullptr || table->link >= file.sections().size()) return found;
  const auto entries = file.contents(*table);
  const auto names = file.contents(file.sections()[table->link]);
  if (!entries || !names || entries->owned() || names->owned()) return found;
  found.names = names->bytes();

  Cursor in(entries->bytes());
  while (in.remaining() >= sizeof(Elf64_Sym)) {
    const auto name = in.read<std::uint32_t>();
    const auto info = in.read<std::uint8_t>();
    in.skip(1);
    const auto section = in.read<std::uint16_t>();
    const auto address = in.read<std::uint64_t>();
    const auto size = in.read<std::uint64_t>();
    const auto type = info & 0xf;
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || section == SHN_UNDEF || size == 0) continue;
    if (size_within(ranges, address, size) == size) found.pieces.push_back({address, address + size, name});
  }
  return found;
}

// .init and .fini are a function each, put together from the pieces of crti.o and crtn.o (System V gABI,
// "Initialization and Termination Functions"). Their symbols, where there are any, have no size.
void add_init_and_fini(const elf::ElfFile& file, const std::vector<CodeRange>& ranges,
                       std::vector<Piece>& pieces) {
  for (const elf::Section& section : file.sections())
    if ((section.name == ".init" || section.name == ".fini") && section.size != 0 &&
        size_within(ranges, section.address.value, section.size) == section.size)
      pieces.push_back({section.address.value, section.address.value + section.size, 0});
}

// A part that the compiler moved away from its function is entered by a jump, with the function's frame in
// place.
bool is_cold_part(std::span<const std::byte> names, std::uint32_t offset) {
  Cursor in(names);
  in.skip(offset);
  return in.read_c_string().find(".cold") != std::string_view::npos;
}

}  // namespace

std::vector<Piece> synthesize(const elf::ElfFile& file, const std::vector<CodeRange>& ranges,
                              const std::vector<Piece>& covered, dwarf::RuleSet& rules,
                              dwarf::CfiFunctions& cfi) {
  std::vector<Piece> added;
  auto [symbols, names] = function_symbols(file, ranges);
  add_init_and_fini(file, ranges, symbols);
  sort_by_start(symbols);
  auto next_covered = covered.begin();
  std::uint64_t end_of_last = 0;
  for (const Piece& symbol : symbols) {
    while (next_covered != covered.end() && next_covered->end <= symbol.start) ++next_covered;
    if (next_covered != covered.end() && next_covered->start < symbol.end) continue;
    if (symbol.start < end_of_last) continue;  // an alias, or a label in the function before
    if (is_cold_part(names, symbol.function)) continue;
    const auto code = file.bytes_at({symbol.start}, symbol.end - symbol.start);
    if (!code) continue;
    end_of_last = symbol.end;
    const auto rows = arch::rows_from_code(*code);
    if (!rows) continue;
    const auto first = static_cast<std::uint32_t>(cfi.rows.size());
    for (const arch::PrologueRow& row : *rows) cfi.rows.push_back({row.offset, rules.insert(row.rule)});
    added.push_back({symbol.start, symbol.end, static_cast<std::uint32_t>(cfi.functions.size())});
    cfi.functions.push_back({{symbol.start},
                             static_cast<std::uint32_t>(symbol.end - symbol.start),
                             first,
                             static_cast<std::uint32_t>(rows->size())});
  }
  return added;
}

}  // namespace fathom::unwind
