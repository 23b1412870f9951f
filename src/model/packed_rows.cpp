// A block: the least value of each lane (a row), how each lane is stored, and then the lanes, one after the other. A lane has so many
// bytes for each row, or the values that it has, and for each row a byte that says which: many fields have few values, of which
// one says "none" and is far from all others.
#include "model/packed_rows.h"

#include <algorithm>
#include <array>
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

// In the place of a width: the number of values less one (a byte), the values, and a byte for each row.
constexpr std::size_t kFewValues = 5;
// More do not pay in a lane of two bytes.
constexpr std::size_t kMostValues = 120;
constexpr std::size_t bytes_of_few(std::size_t values) {
  return 1 + values * kLane + kRowsOfBlock;
}

// The values of one lane, each once, in the order in which they came.
class FewValues {
 public:
  // false: there are too many.
  bool take(const std::byte* rows, std::size_t row_size) {
    count_ = 0;
    slots_.fill(0);
    for (std::size_t i = 0; i < kRowsOfBlock; ++i) {
      const std::uint32_t value = load(rows + i * row_size);
      std::size_t slot = (value * 0x9e3779b1u) >> (32 - kSlotBits);
      while (slots_[slot] != 0 && values_[slots_[slot] - 1u] != value) slot = (slot + 1) % slots_.size();
      if (slots_[slot] == 0) {
        if (count_ == kMostValues) return false;
        values_[count_++] = value;
        slots_[slot] = static_cast<std::uint8_t>(count_);
      }
      numbers_[i] = static_cast<std::uint8_t>(slots_[slot] - 1);
    }
    return true;
  }
  std::size_t bytes() const { return bytes_of_few(count_); }
  std::byte* write(std::byte* to) const {
    *to++ = static_cast<std::byte>(count_ - 1);
    std::memcpy(to, values_.data(), count_ * kLane);
    to += count_ * kLane;
    std::memcpy(to, numbers_.data(), kRowsOfBlock);
    return to + kRowsOfBlock;
  }

 private:
  static constexpr unsigned kSlotBits = 8;
  std::array<std::uint8_t, 1u << kSlotBits> slots_{};  // 1 + number of the value; 0: free
  std::array<std::uint32_t, kMostValues> values_{};
  std::array<std::uint8_t, kRowsOfBlock> numbers_{};  // of the row's value
  std::size_t count_ = 0;
};

std::size_t count_of_few(const std::byte* lane) {
  return std::to_integer<std::size_t>(*lane) + 1;
}

// The bytes of a lane that is stored so.
std::size_t bytes_of_lane(std::size_t width, const std::byte* lane) {
  return width == kFewValues ? bytes_of_few(count_of_few(lane)) : width * kRowsOfBlock;
}

void unpack_few(const std::byte* lane, std::byte* to, std::size_t row_size) {
  const std::byte* const values = lane + 1;
  const std::byte* const numbers = values + count_of_few(lane) * kLane;
  for (std::size_t i = 0; i < kRowsOfBlock; ++i)
    store(to + i * row_size, load(values + std::to_integer<std::size_t>(numbers[i]) * kLane));
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
  std::vector<FewValues> few;
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
    std::size_t bytes = widths[lane] * kRowsOfBlock;
    if (widths[lane] > 1) {
      FewValues& values = few.emplace_back();
      if (values.take(rows + lane * kLane, row_size_) && values.bytes() < bytes) {
        widths[lane] = kFewValues;
        bytes = values.bytes();
      } else {
        few.pop_back();
      }
    }
    size += bytes;
  }
  Block block{size, std::make_unique_for_overwrite<std::byte[]>(size)};
  std::byte* to = block.bytes.get();
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    store(to + lane * kLane, least[lane]);
    to[row_size_ + lane] = static_cast<std::byte>(widths[lane]);
  }
  to += row_size_ + lanes;
  auto next_few = few.begin();
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    if (widths[lane] == kFewValues) to = (next_few++)->write(to);
    if (widths[lane] == 0 || widths[lane] == kFewValues) continue;
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
    if (width == kFewValues) unpack_few(values, to, row_size_);
    values += bytes_of_lane(width, values);
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
    if (width == kFewValues) {
      const std::byte* const number = values + 1 + count_of_few(values) * kLane + at;
      store(out + lane * kLane, load(values + 1 + std::to_integer<std::size_t>(*number) * kLane));
    } else {
      store(out + lane * kLane, load(from + lane * kLane) + (load(values + at * width) & mask_of(width)));
    }
    values += bytes_of_lane(width, values);
  }
}

}  // namespace fathom::model
