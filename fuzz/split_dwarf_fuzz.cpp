// A hostile package of split DWARF: its index, the strings and sections of its units, and the image of each
// for libdw; and any bytes as a list of ranges. libdw is not built with sanitizers, so only its crashes and
// hangs are noticed.
#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "base/cursor.h"
#include "binary/elf/elf_file.h"
#include "binary/symbolize/dwarf_file.h"
#include "binary/symbolize/range_lists.h"
#include "binary/symbolize/split_package.h"

namespace {

using namespace fathom;
using namespace fathom::symbolize;

void ask_ranges(std::span<const std::byte> bytes) {
  constexpr std::size_t kMost = 1000;
  for (const unsigned version : {4u, 5u}) {
    const RangeTables tables{version, bytes, bytes.first(bytes.size() / 2), 0x1000};
    for (std::uint64_t number = 0; number < 3; ++number) {
      const auto offset = range_list_offset(tables, number);
      for (const AddressRange& range : range_list(tables, offset.value_or(number), kMost))
        if (range.start >= range.end) std::abort();
    }
  }
}

void ask_unit(SplitSections parts) {
  for (const unsigned version : {4u, 5u}) {
    const auto strings = strings_of_unit(section_of(parts, ".debug_str_offsets.dwo"),
                                         section_of(parts, ".debug_str.dwo"), version);
    if (strings && strings->offsets.size() > section_of(parts, ".debug_str_offsets.dwo").size()) std::abort();
  }
  for (DebugSection& part : parts) part.name.resize(part.name.size() - 4);
  const auto file = DwarfFile::of_image(make_debug_image(62, std::move(parts)), "fuzz");
  if (!file) return;
  Dwarf_CU* unit = nullptr;
  for (int i = 0; i < 10; ++i) {
    Dwarf_Die die;
    if (dwarf_get_units((*file)->dwarf(), unit, &unit, nullptr, nullptr, &die, nullptr) != 0) break;
    (void)dwarf_diename(&die);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  ask_ranges(bytes);
  const auto elf = elf::ElfFile::parse(bytes, "fuzz");
  if (!elf) return 0;
  SplitSections package;
  for (const elf::Section& section : elf->sections())
    if ((section.name.ends_with(".dwo") || section.name == ".debug_cu_index") && !elf->is_compressed(section))
      if (auto content = elf->contents(section))
        package.push_back({std::string(section.name), content->bytes()});
  Cursor index(section_of(package, ".debug_cu_index"));
  index.skip(16);
  for (int i = 0; i < 8 && index.ok(); ++i)
    if (auto parts = unit_in_package(package, index.read<std::uint64_t>())) ask_unit(std::move(*parts));
  return 0;
}
