// One ELF file: segments, sections, symbols, build id. Source: System V gABI chapters 4 and 5, LSB
// (.gnu_debuglink, PT_GNU_EH_FRAME). Bytes are untrusted: the file may be cut short, hostile, or an image
// read from a process (vdso).
//
// Program headers are the truth, as the kernel and the loader go by them alone; section headers are a bonus
// that strippers and packers take away, so whatever can be found through segments is found through segments.
//
// 64-bit little-endian only; anything else is kUnsupported. Immutable after parse(), so many threads may read
// one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "binary/elf/section_data.h"

namespace fathom::elf {

struct Segment {
  std::uint32_t type, flags;  // PT_*, PF_*
  FileOffset offset;
  ElfAddress address;
  std::uint64_t file_size, memory_size;  // bytes
  std::uint64_t alignment;
};

struct Section {
  std::string_view name;  // "" if the name table is missing
  std::uint32_t type;     // SHT_*
  std::uint64_t flags;    // SHF_*
  ElfAddress address;
  FileOffset offset;
  std::uint64_t size, entry_size;  // bytes, as stored: a compressed section is larger once inflated
  std::uint32_t link, info;
  std::uint64_t alignment;
};

// Undefined symbols (section 0) are listed too: they are what the file imports.
struct Symbol {
  std::string_view name;
  ElfAddress address;
  std::uint64_t size;
  std::uint8_t type, binding;  // STT_*, STB_*
  std::uint16_t section;       // SHN_UNDEF, SHN_ABS, or an index
};

enum class SymbolTable : std::uint8_t { kSymtab, kDynsym };

struct DebugLink {
  std::string file;   // name only; looked up next to the binary and in the debug folders
  std::uint32_t crc;  // CRC-32 of the whole debug file
};

// A view: `bytes` outlives it, and every string_view and span handed out points into them.
class ElfFile {
 public:
  // `name` is for messages. Fails if the header or the program headers cannot be read; broken section headers
  // only make sections() empty.
  static Result<ElfFile> parse(std::span<const std::byte> bytes, std::string name);

  std::uint16_t machine() const { return machine_; }  // EM_*
  std::uint16_t type() const { return type_; }        // ET_*
  ElfAddress entry() const { return entry_; }
  const std::string& name() const { return name_; }
  std::span<const std::byte> bytes() const { return bytes_; }

  std::span<const Segment> segments() const { return segments_; }
  std::span<const Section> sections() const { return sections_; }
  const Segment* segment(std::uint32_t type) const;     // the first of that type, or null
  const Section* section(std::string_view name) const;  // the first of that name, or null
  // For ".debug_info" also ".zdebug_info", as GNU tools called it compressed before 2015. Null: neither.
  const Section* debug_section(std::string_view name) const;
  Result<SectionData> contents(
      const Section& part) const;  // inflated if stored compressed; empty for SHT_NOBITS
  bool is_compressed(const Section& part) const;
  // Size of contents() according to the headers.
  std::uint64_t claimed_size(const Section& part) const;

  // Lower-case hex; "" if there is none. Through PT_NOTE first, so also without section headers.
  std::string build_id() const;
  // What a module is known by: the build id, else "x-" and 32 hex digits of a hash over program headers,
  // .eh_frame_hdr and file size, as reproducible builds often have no build id.
  std::string identity() const;

  // In file order. Entries whose name is out of bounds are skipped. kDynsym is found without section headers
  // too. Empty if the file has no such table.
  std::vector<Symbol> symbols(SymbolTable table) const;
  std::optional<DebugLink> debug_link() const;

  // Through PT_LOAD. nullopt: not in any segment, or in the part that is not stored (.bss).
  std::optional<ElfAddress> address_of(FileOffset offset) const;
  std::optional<FileOffset> offset_of(ElfAddress address) const;
  std::optional<std::span<const std::byte>> bytes_at(ElfAddress address, std::uint64_t size) const;
  // From `address` to the end of what its segment stores: for tables that carry their own end. May be empty.
  std::span<const std::byte> bytes_from(ElfAddress address) const;

  std::span<const std::string> needed() const { return needed_; }  // DT_NEEDED, in order
  const std::string& interpreter() const {
    return interpreter_;
  }  // PT_INTERP; "" for static and shared objects

 private:
  ElfFile() = default;
  Result<> read_segments(std::uint64_t offset, std::uint64_t count, std::uint64_t entry_size);
  void read_sections(std::uint64_t offset, std::uint64_t count, std::uint64_t entry_size,
                     std::uint32_t names);
  void read_dynamic();
  // The stored bytes of a range, cut to the file.
  std::span<const std::byte> stored(FileOffset offset, std::uint64_t size) const;
  std::vector<Symbol> read_symbols(std::span<const std::byte> entries,
                                   std::span<const std::byte> names) const;
  std::vector<Symbol> dynamic_symbols_by_segment() const;

  // Where the dynamic section says the dynamic symbols are; 0 = not said.
  struct DynamicTables {
    std::uint64_t symbols = 0, names = 0, names_size = 0, hash = 0, gnu_hash = 0;
  };

  std::string name_;
  std::span<const std::byte> bytes_;
  std::uint16_t machine_ = 0, type_ = 0;
  ElfAddress entry_;
  std::vector<Segment> segments_;
  std::vector<Section> sections_;
  std::vector<std::string> needed_;
  std::string interpreter_;
  DynamicTables dynamic_;
};

}  // namespace fathom::elf
