// A block: the least value of each lane (a row), how many bytes each lane takes of a row, and then the lanes, one after the other.
#include "model/packed_rows.h"

#include <algorithm>
#include <cstring>

namespace fathom::model {
namespace {

constexpr std::size_t kLane = 4;
// A number is read as four bytes, wherever it ends.
constexpr std::size_t kBehind = kLane - 1;

std::uint32_t load(const std::byte* from) {
  std::uint32_t value = 0;
  std::memcpy(&value, from, kLane);
  return value;
}
void store(std::byte* to, std::uint32_t value) {
  std::memcpy(to, &value, kLane);
}

constexpr std::size_t width_of(std::uint32_t most) {
  return most == 0 ? 0 : most < 1u << 8 ? 1 : most < 1u << 16 ? 2 : most < 1u << 24 ? 3 : 4;
}
constexpr std::uint32_t mask_of(std::size_t width) {
  return width == 0 ? 0 : UINT32_MAX >> (8 * (kLane - width));
}

template <std::size_t kWidth>
void unpack_lane(const std::byte* from, std::uint32_t least, std::byte* to, std::size_t row_size) {
  for (std::size_t i = 0; i < kRowsOfBlock; ++i)
    store(to + i * row_size, least + (load(from + i * kWidth) & mask_of(kWidth)));
}

}  // namespace

PackedBytes::PackedBytes(const PackedBytes& other) : row_size_(other.row_size_) {
  *this = other;
}

PackedBytes& PackedBytes::operator=(const PackedBytes& other) {
  if (this == &other) return *this;
  row_size_ = other.row_size_;
  blocks_.clear();
  for (const Block& block : other.blocks_) {
    blocks_.push_back({block.size, std::make_unique_for_overwrite<std::byte[]>(block.size)});
    std::memcpy(blocks_.back().bytes.get(), block.bytes.get(), block.size);
  }
  return *this;
}

std::size_t PackedBytes::bytes() const {
  std::size_t sum = blocks_.capacity() * sizeof(Block);
  for (const Block& block : blocks_) sum += block.size;
  return sum;
}

PackedBytes::Block PackedBytes::packed(const std::byte* rows) const {
  const std::size_t lanes = row_size_ / kLane;
  std::vector<std::uint32_t> least(lanes);
  std::vector<std::size_t> widths(lanes);
  std::size_t size = row_size_ + lanes + kBehind;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    std::uint32_t low = UINT32_MAX, high = 0;
    for (std::size_t i = 0; i < kRowsOfBlock; ++i) {
      const std::uint32_t value = load(rows + i * row_size_ + lane * kLane);
      low = std::min(low, value);
      high = std::max(high, value);
    }
    least[lane] = low;
    widths[lane] = width_of(high - low);
    size += widths[lane] * kRowsOfBlock;
  }
  Block block{size, std::make_unique_for_overwrite<std::byte[]>(size)};
  std::byte* to = block.bytes.get();
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    store(to + lane * kLane, least[lane]);
    to[row_size_ + lane] = static_cast<std::byte>(widths[lane]);
  }
  to += row_size_ + lanes;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    if (widths[lane] == 0) continue;
    for (std::size_t i = 0; i < kRowsOfBlock; ++i, to += widths[lane]) {
      const std::uint32_t above = load(rows + i * row_size_ + lane * kLane) - least[lane];
      std::memcpy(to, &above, widths[lane]);  // little-endian, as every processor that fathom runs on
    }
  }
  std::memset(to, 0, kBehind);
  return block;
}

void PackedBytes::append(const std::byte* rows) {
  blocks_.push_back(packed(rows));
}

void PackedBytes::replace(std::size_t block, const std::byte* rows) {
  blocks_[block] = packed(rows);
}

void PackedBytes::unpack(std::size_t block, std::byte* rows) const {
  const std::byte* from = blocks_[block].bytes.get();
  const std::size_t lanes = row_size_ / kLane;
  const std::byte* values = from + row_size_ + lanes;
  for (std::size_t i = 0; i < kRowsOfBlock; ++i) std::memcpy(rows + i * row_size_, from, row_size_);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const std::size_t width = std::to_integer<std::size_t>(from[row_size_ + lane]);
    const std::uint32_t least = load(from + lane * kLane);
    std::byte* to = rows + lane * kLane;
    if (width == 1) unpack_lane<1>(values, least, to, row_size_);
    if (width == 2) unpack_lane<2>(values, least, to, row_size_);
    if (width == 3) unpack_lane<3>(values, least, to, row_size_);
    if (width == 4) unpack_lane<4>(values, least, to, row_size_);
    values += width * kRowsOfBlock;
  }
}

void PackedBytes::unpack_row(std::size_t row, std::byte* out) const {
  const std::byte* from = blocks_[row / kRowsOfBlock].bytes.get();
  const std::size_t lanes = row_size_ / kLane, at = row % kRowsOfBlock;
  const std::byte* values = from + row_size_ + lanes;
  std::memcpy(out, from, row_size_);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const std::size_t width = std::to_integer<std::size_t>(from[row_size_ + lane]);
    if (width == 0) continue;
    store(out + lane * kLane, load(from + lane * kLane) + (load(values + at * width) & mask_of(width)));
    values += width * kRowsOfBlock;
  }
}

}  // namespace fathom::model
