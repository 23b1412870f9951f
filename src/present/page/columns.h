// Columns of numbers as bytes, one behind the other, with a table that names them: what the page decodes into typed arrays.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fathom::page {

enum class ColumnKind : char {
  kUnsigned = 'u',     // varints
  kDifferences = 'd',  // varints of the zigzag differences between neighbours, the first from 0
  kReal = 'f',         // eight bytes each, little-endian
  // The slices of the entries of cells, in order of time within each: varints of twice the slices that lie between an entry and
  // the one before of its cell, or the start, and 1 more where its value is another than 1.
  kSteps = 'e',
};

struct ColumnPlace {
  std::string name;
  ColumnKind kind = ColumnKind::kUnsigned;
  std::uint64_t offset = 0, bytes = 0, count = 0;
};

class Columns {
 public:
  void add_unsigned(const std::string& name, std::span<const std::uint64_t> values);
  void add_differences(const std::string& name, std::span<const std::int64_t> values);
  void add_differences(const std::string& name, std::span<const std::uint32_t> values);
  // Whole numbers below 2^53 become kUnsigned: most sums of what was counted are, and these take two bytes and not eight.
  void add_reals(const std::string& name, std::span<const double> values);
  // NAME.slice, kSteps, and NAME.value, differences of those values that are not 1. Entries of cell i stand from first[i] to
  // first[i + 1], which is the next cell's; of each the slices rise.
  void add_entries(const std::string& name, std::span<const std::uint32_t> first,
                   std::span<const std::uint32_t> slices, std::span<const std::int64_t> values);

  const std::vector<ColumnPlace>& places() const { return places_; }
  const std::string& bytes() const { return bytes_; }

 private:
  template <class Number>
  void put_differences(const std::string& name, std::span<const Number> values);
  void close(const std::string& name, ColumnKind kind, std::uint64_t offset, std::uint64_t count);
  std::vector<ColumnPlace> places_;
  std::string bytes_;
};

// The parts, one behind the other, as gzip has them (RFC 1952): what every browser can unpack by itself.
Result<std::string> compress(std::span<const std::string_view> parts);
std::string base64(std::string_view bytes);

}  // namespace fathom::page
