#include "binary/dwarf/frame_section.h"

#include <limits>

namespace fathom::dwarf {
namespace {

constexpr std::uint32_t kLength64 = 0xffffffff;  // a 64-bit length follows
constexpr std::uint32_t kLengthReserved = 0xfffffff0;

}  // namespace

FrameReader::FrameReader(const FrameSection& section) : section_(section), in_(section.bytes) {
  if (section.kind != FrameKind::kDebugFrame) return;
  // In .debug_frame a CIE may stand after the FDEs that name it. In .eh_frame it cannot: the pointer only
  // goes back.
  while (auto record = next_record())
    if (record->is_cie) read_cie(*record);
  in_ = Cursor(section.bytes);
}

std::optional<FrameReader::Record> FrameReader::next_record() {
  const bool eh_frame = section_.kind == FrameKind::kEhFrame;
  while (in_.remaining() >= 4) {
    Record record;
    record.offset = in_.offset();
    std::uint64_t length = in_.read<std::uint32_t>();
    const bool dwarf64 = length == kLength64;
    if (dwarf64) length = in_.read<std::uint64_t>();
    if (length == 0) {
      if (section_.ends_at_zero) return std::nullopt;
      continue;
    }
    if ((!dwarf64 && length >= kLengthReserved) || length > in_.remaining()) {
      cut_short_ = true;
      in_.fail();
      return std::nullopt;
    }
    const std::uint64_t id_offset = in_.offset();
    record.body = in_.sub(length);
    // LSB: the identifier of .eh_frame has 4 bytes, whatever the length has.
    const bool wide = dwarf64 && !eh_frame;
    const std::uint64_t id = wide ? record.body.read<std::uint64_t>() : record.body.read<std::uint32_t>();
    record.body_offset = id_offset;
    if (!record.body.ok()) {
      ++skipped_;
      continue;
    }
    if (eh_frame) {
      record.is_cie = id == 0;
      record.cie_offset = id_offset - id;  // wraps for a hostile id, and then names no CIE
    } else {
      record.is_cie = id == (wide ? std::numeric_limits<std::uint64_t>::max() : 0xffffffff);
      record.cie_offset = id;
    }
    return record;
  }
  if (in_.remaining() > 0) cut_short_ = true;
  return std::nullopt;
}

// The letters after 'z' say what its data holds, in their order.
bool FrameReader::read_augmentation(std::string_view letters, Cursor& in, std::uint64_t data_address,
                                    Cie& cie) const {
  if (letters.empty()) return true;
  if (letters.front() != 'z') return false;  // "eh" of gcc 2, and whatever has no length to skip by
  cie.has_augmentation_data = true;
  const auto size = in.read_uleb128();
  const std::uint64_t start = data_address + in.offset();
  Cursor data = in.sub(size);
  for (const char letter : letters.substr(1)) {
    if (letter == 'S') {
      cie.signal_frame = true;
    } else if (letter == 'R') {
      cie.pointer_encoding = data.read<std::uint8_t>();
    } else if (letter == 'L') {
      data.skip(1);
    } else if (letter == 'P') {
      const auto encoding = data.read<std::uint8_t>();
      // Only its bytes matter; an indirect pointer is ordinary here.
      (void)read_pointer(data, encoding, {.section = start});
    } else {
      break;  // unknown: nothing after it can be placed, but the length leads past it
    }
  }
  return in.ok() && data.ok();
}

void FrameReader::read_cie(Record& record) {
  Cie& cie = cies_[record.offset];
  if (cie.usable) return;  // .debug_frame: read by the first pass
  Cursor& in = record.body;
  const std::uint64_t address = section_.address.value + record.body_offset;
  const bool eh_frame = section_.kind == FrameKind::kEhFrame;
  const auto version = in.read<std::uint8_t>();
  if (version != 1 && version != 3 && (eh_frame || version != 4)) return;
  const auto augmentation = in.read_c_string();
  if (version == 4) {
    const auto address_size = in.read<std::uint8_t>();
    const auto segment_size = in.read<std::uint8_t>();
    if (address_size != 8 || segment_size != 0) return;
  }
  cie.code_alignment = in.read_uleb128();
  cie.data_alignment = in.read_sleb128();
  cie.return_register = version == 1 ? in.read<std::uint8_t>() : in.read_uleb128();
  if (!read_augmentation(augmentation, in, address, cie)) return;
  cie.program = in.rest();
  cie.program_address = address + in.offset();
  cie.usable = in.ok();
}

const Cie* FrameReader::find_cie(std::uint64_t offset) {
  if (offset == last_cie_offset_) return last_cie_;
  const auto found = cies_.find(offset);
  if (found == cies_.end()) return nullptr;
  last_cie_offset_ = offset;
  last_cie_ = &found->second;  // references into an unordered_map stay valid
  return last_cie_;
}

std::optional<Fde> FrameReader::read_fde(Record& record) {
  const Cie* cie = find_cie(record.cie_offset);
  if (cie == nullptr || !cie->usable) return std::nullopt;
  Cursor& in = record.body;
  const std::uint64_t address = section_.address.value + record.body_offset;
  const PointerBases bases{.section = address, .data = section_.data_base.value};
  const auto start = read_pointer(in, cie->pointer_encoding, bases);
  // The size is written like the start, but is a number and no address.
  const auto size = read_pointer(in, cie->pointer_encoding & 0x0f, bases);
  if (!start || !size || *size == 0 || *start + *size < *start) return std::nullopt;
  if (cie->has_augmentation_data) in.skip(in.read_uleb128());
  if (!in.ok()) return std::nullopt;
  // A function that the linker has thrown away keeps its .debug_frame entry, at address 0.
  if (section_.kind == FrameKind::kDebugFrame && *start == 0) return std::nullopt;
  return Fde{cie, {*start}, *size, in.rest(), address + in.offset()};
}

std::optional<Fde> FrameReader::next() {
  while (auto record = next_record()) {
    if (record->is_cie) {
      if (section_.kind == FrameKind::kEhFrame) read_cie(*record);
      continue;
    }
    if (auto fde = read_fde(*record)) return fde;
    ++skipped_;
  }
  return std::nullopt;
}

}  // namespace fathom::dwarf
