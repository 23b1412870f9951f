#include "binary/symbolize/split_package.h"

#include <unordered_map>

#include "base/cursor.h"

namespace fathom::symbolize {
namespace {

constexpr std::uint32_t kMostColumns = 16;
constexpr std::size_t kMostStrings = std::size_t{1} << 30;  // bytes

// DW_SECT_* of both versions. Sections that are not needed here (types, locations, macros) are left out.
const char* section_name(std::uint32_t number, unsigned version) {
  switch (number) {
    case 1:
      return ".debug_info.dwo";
    case 3:
      return ".debug_abbrev.dwo";
    case 4:
      return ".debug_line.dwo";
    case 6:
      return ".debug_str_offsets.dwo";
    case 8:
      return version == 5 ? ".debug_rnglists.dwo" : nullptr;
    default:
      return nullptr;
  }
}

// The row of the unit, starting at 1; 0: there is none. The table is a hash table with double hashing.
std::uint32_t row_of(std::span<const std::byte> hashes, std::span<const std::byte> rows, std::uint32_t slots,
                     std::uint64_t id) {
  const auto at = [](std::span<const std::byte> table, std::size_t offset) {
    return Cursor(table.subspan(offset));
  };
  const std::uint64_t mask = slots - 1;
  std::uint64_t slot = id & mask;
  const std::uint64_t step = ((id >> 32) & mask) | 1;
  for (std::uint32_t tried = 0; tried < slots; ++tried, slot = (slot + step) & mask) {
    const auto row = at(rows, slot * 4).read<std::uint32_t>();
    if (row == 0) return 0;
    if (at(hashes, slot * 8).read<std::uint64_t>() == id) return row;
  }
  return 0;
}

}  // namespace

std::span<const std::byte> section_of(const SplitSections& sections, std::string_view name) {
  for (const DebugSection& section : sections)
    if (section.name == name) return section.bytes;
  return {};
}

std::optional<SplitSections> unit_in_package(const SplitSections& package, std::uint64_t id) {
  Cursor in(section_of(package, ".debug_cu_index"));
  // Version 5 is a number of two bytes and two of padding; the one before, 2, has four.
  const auto version = in.read<std::uint32_t>();
  const auto columns = in.read<std::uint32_t>(), units = in.read<std::uint32_t>(),
             slots = in.read<std::uint32_t>();
  if (!in.ok() || (version != 2 && version != 5)) return std::nullopt;
  if (columns == 0 || columns > kMostColumns || slots == 0 || (slots & (slots - 1)) != 0) return std::nullopt;
  const auto hashes = in.read_bytes(std::uint64_t{slots} * 8), rows = in.read_bytes(std::uint64_t{slots} * 4);
  const auto numbers = in.read_bytes(std::uint64_t{columns} * 4);
  const std::uint64_t table_size = std::uint64_t{units} * columns * 4;
  const auto offsets = in.read_bytes(table_size), sizes = in.read_bytes(table_size);
  if (!in.ok()) return std::nullopt;
  const std::uint32_t row = row_of(hashes, rows, slots, id);
  if (row == 0 || row > units) return std::nullopt;
  Cursor number(numbers), offset(offsets), size(sizes);
  offset.skip(std::uint64_t{row - 1} * columns * 4);
  size.skip(std::uint64_t{row - 1} * columns * 4);
  SplitSections found;
  for (std::uint32_t column = 0; column < columns; ++column) {
    const char* name = section_name(number.read<std::uint32_t>(), version);
    const auto start = offset.read<std::uint32_t>(), length = size.read<std::uint32_t>();
    if (name == nullptr) continue;
    Cursor part(section_of(package, name));
    part.skip(start);
    const auto bytes = part.read_bytes(length);
    if (!part.ok()) return std::nullopt;
    found.push_back({name, bytes});
  }
  found.push_back({".debug_str.dwo", section_of(package, ".debug_str.dwo")});
  return found;
}

Result<UnitStrings> strings_of_unit(std::span<const std::byte> offsets, std::span<const std::byte> strings,
                                    unsigned version) {
  UnitStrings unit;
  Cursor in(offsets);
  if (version >= 5) {  // length, version, padding
    if (in.read<std::uint32_t>() == 0xffffffff)
      return fail(ErrorKind::kUnsupported, "64-bit DWARF in a package");
    in.skip(4);
    if (!in.ok()) return unit;
    unit.offsets.assign(offsets.begin(), offsets.begin() + 8);
  }
  std::unordered_map<std::uint32_t, std::uint32_t> known;
  while (in.remaining() >= 4) {
    const auto offset = in.read<std::uint32_t>();
    const auto [place, is_new] = known.try_emplace(offset, static_cast<std::uint32_t>(unit.strings.size()));
    if (is_new) {
      Cursor text(strings);
      text.skip(offset);
      const auto string = text.read_c_string();
      if (unit.strings.size() + string.size() >= kMostStrings)
        return fail(ErrorKind::kMalformed, "strings of one unit beyond 1 GiB");
      const auto bytes = std::as_bytes(std::span(string.data(), string.size()));
      unit.strings.insert(unit.strings.end(), bytes.begin(), bytes.end());
      unit.strings.push_back({});
    }
    for (unsigned shift = 0; shift < 32; shift += 8)
      unit.offsets.push_back(static_cast<std::byte>(place->second >> shift));
  }
  return unit;
}

}  // namespace fathom::symbolize
