#include "binary/dwarf/pointer_encoding.h"

namespace fathom::dwarf {
namespace {

std::uint64_t read_value(Cursor& in, std::uint8_t format) {
  const auto widened = [](auto value) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  };
  switch (format) {
    case kPointerSdata4:  // by far the most frequent
      return widened(in.read<std::int32_t>());
    case kPointerAbsolute:
    case kPointerUdata8:
    case kPointerSdata8:
      return in.read<std::uint64_t>();
    case kPointerUdata4:
      return in.read<std::uint32_t>();
    case kPointerUdata2:
      return in.read<std::uint16_t>();
    case kPointerSdata2:
      return widened(in.read<std::int16_t>());
    case kPointerUleb128:
      return in.read_uleb128();
    case kPointerSleb128:
      return widened(in.read_sleb128());
    default:
      in.fail();
      return 0;
  }
}

}  // namespace

std::optional<std::uint64_t> read_pointer(Cursor& in, std::uint8_t encoding, const PointerBases& bases) {
  if (encoding == kPointerOmit) return std::nullopt;
  const std::uint64_t here = bases.section + in.offset();
  if (encoding == kPointerAligned) {  // an absolute pointer at the next multiple of 8
    in.skip((8 - here % 8) % 8);
    const auto value = in.read<std::uint64_t>();
    return in.ok() ? std::optional(value) : std::nullopt;
  }
  const std::uint64_t value = read_value(in, encoding & 0x0f);
  if (!in.ok() || (encoding & kPointerIndirect) != 0) return std::nullopt;
  switch (encoding & 0x70) {
    case 0:
      return value;
    case kPointerPcRelative:
      return here + value;
    case kPointerDataRelative:
      return bases.data + value;
    case kPointerFunctionRelative:
      return bases.function + value;
    default:
      return std::nullopt;
  }
}

}  // namespace fathom::dwarf
