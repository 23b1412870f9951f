// The records of .eh_frame and .debug_frame: common entries (CIE) and functions' entries (FDE). Source: DWARF
// 5 section 6.4.1, LSB .eh_frame. Knows no files: bytes and the address they are linked at. One pass, no
// index.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>

#include "base/address.h"
#include "base/cursor.h"
#include "binary/dwarf/pointer_encoding.h"

namespace fathom::dwarf {

enum class FrameKind : std::uint8_t { kEhFrame, kDebugFrame };

struct FrameSection {
  std::span<const std::byte> bytes;  // outlives everything made from the section
  ElfAddress address;                // of bytes[0]; 0 for .debug_frame, which is not loaded
  FrameKind kind = FrameKind::kEhFrame;
  ElfAddress data_base;  // for data-relative pointers
  // The end is where a record of length 0 stands, as the size is not known (no section headers). Otherwise
  // such a record is only skipped: linkers leave the terminators of crtend.o in the middle.
  bool ends_at_zero = false;
};

struct Cie {
  std::uint64_t code_alignment = 1;
  std::int64_t data_alignment = 1;
  std::uint64_t return_register = 0;
  std::uint8_t pointer_encoding = kPointerAbsolute;
  bool has_augmentation_data = false;  // 'z': FDEs have a length-prefixed part to skip
  bool signal_frame = false;           // 'S'
  bool usable = false;                 // false: a version, augmentation or address size we do not know
  std::span<const std::byte> program;  // the initial instructions
  std::uint64_t program_address = 0;   // ELF address of program[0], for pc-relative DW_CFA_set_loc
};

struct Fde {
  const Cie* cie;  // owned by the reader
  ElfAddress start;
  std::uint64_t size;  // bytes of code; never 0, and start + size does not wrap
  std::span<const std::byte> program;
  std::uint64_t program_address;
};

class FrameReader {
 public:
  explicit FrameReader(const FrameSection& section);

  // The next function, in the order of the section; nullopt at the end. Records that cannot be understood are
  // counted and skipped; a length that leads out of the section ends it.
  std::optional<Fde> next();

  std::uint64_t skipped() const { return skipped_; }  // FDEs that were there and could not be used
  bool cut_short() const { return cut_short_; }       // the section ended within a record

 private:
  struct Record {
    Cursor body{std::span<const std::byte>{}};  // after the CIE pointer
    std::uint64_t body_offset = 0;              // of body's first byte, in the section
    std::uint64_t offset = 0;                   // of the record, in the section
    std::uint64_t cie_offset = 0;               // for an FDE
    bool is_cie = false;
  };
  std::optional<Record> next_record();
  void read_cie(Record& record);
  bool read_augmentation(std::string_view letters, Cursor& in, std::uint64_t data_address, Cie& cie) const;
  std::optional<Fde> read_fde(Record& record);
  const Cie* find_cie(std::uint64_t offset);

  FrameSection section_;
  Cursor in_;
  // Only what the walk itself met as a CIE can be referred to. So each is parsed once, and a hostile section
  // cannot make every FDE parse a huge CIE of its own.
  std::unordered_map<std::uint64_t, Cie> cies_;
  std::uint64_t last_cie_offset_ = ~std::uint64_t{0};
  const Cie* last_cie_ = nullptr;
  std::uint64_t skipped_ = 0;
  bool cut_short_ = false;
};

}  // namespace fathom::dwarf
