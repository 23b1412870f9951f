// How rows are encoded relative to earlier rows: stores the difference from a guess that writer and reader
// compute in the same way, and most differences are 0.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <unordered_map>

#include "base/varint.h"
#include "model/store/payload.h"

namespace fathom::store {

// A sum is not negative, so its sign bit can mark whether it is stored as a whole number or as its bits.
inline std::uint64_t sum_code(double value) {
  constexpr double kExact = 9007199254740992;  // 2^53
  if (value <= kExact && value == std::trunc(value) && !std::signbit(value))
    return static_cast<std::uint64_t>(value) << 1;
  return std::bit_cast<std::uint64_t>(value) << 1 | 1;
}
inline double sum_value(std::uint64_t code) {
  return (code & 1) == 0 ? static_cast<double>(code >> 1) : std::bit_cast<double>(code >> 1);
}

// Writes each number as its difference from the previous one.
class Differences {
 public:
  std::uint64_t encode(std::uint64_t value) {
    const std::uint64_t code = zigzag(static_cast<std::int64_t>(value - previous_));
    previous_ = value;
    return code;
  }
  std::uint64_t decode(std::uint64_t code) { return previous_ += static_cast<std::uint64_t>(unzigzag(code)); }

 private:
  std::uint64_t previous_ = 0;
};

// 0 means "the one after the greatest so far": the first use of a new row.
class Newest {
 public:
  explicit Newest(std::uint32_t next) : next_(next) {}
  std::uint64_t encode(std::uint32_t value) {
    const std::uint64_t code = value == next_ ? 0 : std::uint64_t{value} + 1;
    if (value >= next_) next_ = value + 1;
    return code;
  }
  std::uint64_t decode(std::uint64_t code) {
    const std::uint64_t value = code == 0 ? next_ : code - 1;
    if (value >= next_ && value < kLostRow) next_ = static_cast<std::uint32_t>(value) + 1;
    return value;
  }

 private:
  std::uint32_t next_;
};

// A frame's lines come right after those of the previous frame.
class LineRanges {
 public:
  std::uint64_t encode(std::uint32_t first, std::uint32_t count) {
    const std::uint64_t code = zigzag(std::int64_t{first} - std::int64_t{next_});
    if (count != 0) next_ = first + count;
    return code;
  }
  std::uint32_t decode(std::uint64_t code, std::uint32_t count) {
    const auto first = static_cast<std::uint32_t>(next_ + static_cast<std::uint64_t>(unzigzag(code)));
    if (count != 0) next_ = first + count;
    return first;
  }

 private:
  std::uint32_t next_ = 0;
};

// Addresses of one module lie close to each other.
class Addresses {
 public:
  Differences& of(std::uint32_t module) { return by_module_[module]; }

 private:
  std::unordered_map<std::uint32_t, Differences> by_module_;
};

}  // namespace fathom::store
