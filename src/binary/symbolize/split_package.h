// A package of split DWARF (.dwp): which bytes of its sections are those of one unit. Sources: DWARF 5 section 7.3.5; for
// DWARF 4 https://gcc.gnu.org/wiki/DebugFissionDWP. libdw of elfutils 0.188 reads no packages. Pure; bytes are untrusted.
// Private to this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "binary/symbolize/debug_image.h"

namespace fathom::symbolize {

// The sections of a file, by the names of split DWARF: ".debug_info.dwo".
using SplitSections = std::vector<DebugSection>;

// The parts of the unit `id` in a package, by the same names; nullopt if the index does not know it, or points outside.
// Strings are not part of a unit: all of .debug_str.dwo is given.
std::optional<SplitSections> unit_in_package(const SplitSections& package, std::uint64_t id);

// The strings of a package are of all its units. These are one unit's alone: its offsets, which now point into `strings`.
struct UnitStrings {
  std::vector<std::byte> offsets;  // as of .debug_str_offsets.dwo
  std::vector<std::byte> strings;  // as of .debug_str.dwo
};
// `version` of the unit. Fails for 64-bit DWARF, and where the strings repeat themselves into more than 1 GiB.
Result<UnitStrings> strings_of_unit(std::span<const std::byte> offsets, std::span<const std::byte> strings,
                                    unsigned version);

std::span<const std::byte> section_of(const SplitSections& sections, std::string_view name);

}  // namespace fathom::symbolize
