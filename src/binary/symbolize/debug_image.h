// Debug sections as an ELF file in memory, for libdw, which reads nothing but ELF files: what was stored compressed, and one
// unit of split DWARF with what belongs to it. Pure. Private to this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fathom::symbolize {

struct DebugSection {
  std::string name;
  std::span<const std::byte> bytes;
};

struct DebugImage {
  std::vector<std::byte> bytes;        // an ELF file
  std::vector<DebugSection> sections;  // where they lie in it
};

// Sections of one name become one, in their order. 64-bit, little-endian.
DebugImage make_debug_image(std::uint16_t machine, std::vector<DebugSection> sections);

}  // namespace fathom::symbolize
