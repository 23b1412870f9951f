#include "binary/symbolize/range_lists.h"

#include <dwarf.h>

#include "base/cursor.h"

namespace fathom::symbolize {
namespace {

constexpr std::size_t kHeader = 12;  // length, version, sizes of address and segment, count; 32-bit DWARF

class List {
 public:
  List(const RangeTables& tables, std::size_t limit) : tables_(tables), base_(tables.base), limit_(limit) {}

  std::vector<AddressRange> read(std::uint64_t offset) {
    Cursor in(tables_.lists);
    in.skip(offset);
    for (std::size_t seen = 0; seen < limit_ && in.ok(); ++seen)
      if (!(tables_.version >= 5 ? step_5(in) : step_4(in))) break;
    return std::move(ranges_);
  }

 private:
  void add(std::uint64_t start, std::uint64_t end) {
    if (start != 0 && start < end) ranges_.push_back({start, end});
  }

  bool step_4(Cursor& in) {
    const auto first = in.read<std::uint64_t>(), second = in.read<std::uint64_t>();
    if (!in.ok() || (first == 0 && second == 0)) return false;
    if (first == ~std::uint64_t{0})
      base_ = second;
    else
      add(base_ + first, base_ + second);
    return true;
  }

  std::uint64_t address(Cursor& in) {
    const std::uint64_t number = in.read_uleb128();
    Cursor table(tables_.addresses);
    if (number > tables_.addresses.size() / 8) table.fail();
    table.skip(number * 8);
    const auto value = table.read<std::uint64_t>();
    if (!table.ok()) in.fail();
    return value;
  }

  bool step_5(Cursor& in) {
    std::uint64_t start = 0, end = 0;
    switch (in.read<std::uint8_t>()) {
      case DW_RLE_base_addressx:
        base_ = address(in);
        return in.ok();
      case DW_RLE_base_address:
        base_ = in.read<std::uint64_t>();
        return in.ok();
      case DW_RLE_startx_endx:
        start = address(in);
        end = address(in);
        break;
      case DW_RLE_startx_length:
        start = address(in);
        end = start + in.read_uleb128();
        break;
      case DW_RLE_offset_pair:
        start = base_ + in.read_uleb128();
        end = base_ + in.read_uleb128();
        break;
      case DW_RLE_start_end:
        start = in.read<std::uint64_t>();
        end = in.read<std::uint64_t>();
        break;
      case DW_RLE_start_length:
        start = in.read<std::uint64_t>();
        end = start + in.read_uleb128();
        break;
      default:  // DW_RLE_end_of_list, and what is not known
        return false;
    }
    if (in.ok()) add(start, end);
    return in.ok();
  }

  const RangeTables& tables_;
  std::uint64_t base_;
  std::size_t limit_;
  std::vector<AddressRange> ranges_;
};

}  // namespace

std::vector<AddressRange> range_list(const RangeTables& tables, std::uint64_t offset, std::size_t limit) {
  return List(tables, limit).read(offset);
}

std::optional<std::uint64_t> range_list_offset(const RangeTables& tables, std::uint64_t number) {
  Cursor in(tables.lists);
  if (in.read<std::uint32_t>() == 0xffffffff) return std::nullopt;  // 64-bit DWARF
  in.skip(4);
  const auto count = in.read<std::uint32_t>();
  if (!in.ok() || number >= count) return std::nullopt;
  in.skip(number * 4);
  const auto offset = in.read<std::uint32_t>();
  return in.ok() ? std::optional<std::uint64_t>(kHeader + offset) : std::nullopt;
}

}  // namespace fathom::symbolize
