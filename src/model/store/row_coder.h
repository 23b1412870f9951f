// Rows as columns, by the fields of model/fields.h: one place for what every block of plain rows does. Blocks whose columns depend on
// other rows (samples, waits, lives, lines, frames, stacks) have coders of their own.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "model/fields.h"
#include "model/store/column.h"
#include "model/store/differences.h"
#include "model/store/payload.h"
#include "model/store/row_heads.h"

namespace fathom::store {

// --- one field ---
template <class Tag>
std::uint64_t code_of(model::Id<Tag> id) {
  return id.value;
}
template <class T>
std::uint64_t code_of(const model::Optional<T>& id) {
  return id.value == id.none ? 0 : code_of(id.value) + 1;
}
inline std::uint64_t code_of(double sum) {
  return sum_code(sum);
}
template <class T>
requires(std::is_integral_v<T> || std::is_enum_v<T>) std::uint64_t code_of(T value) {
  if constexpr (std::is_enum_v<T>)
    return static_cast<std::uint64_t>(value);
  else
    return static_cast<std::make_unsigned_t<T>>(value);
}

// A number that is too large for its field becomes the largest one, which check() knows to be wrong: it never becomes another row.
template <class Tag>
void decode_field(std::uint64_t code, model::Id<Tag>& id) {
  id = {row_id(code)};
}
template <class T>
void decode_field(std::uint64_t code, const model::Optional<T>& id) {
  if (code == 0)
    id.value = id.none;
  else
    id.value = {std::min(row_id(code - 1), kLostRow - 1)};
}
inline void decode_field(std::uint64_t code, double& sum) {
  sum = sum_value(code);
}
template <class T>
requires(std::is_integral_v<T> || std::is_enum_v<T>) void decode_field(std::uint64_t code, T& value) {
  if constexpr (std::is_enum_v<T>)
    value = static_cast<T>(std::min<std::uint64_t>(code, 255));
  else
    value =
        static_cast<T>(std::min<std::uint64_t>(code, std::numeric_limits<std::make_unsigned_t<T>>::max()));
}

// --- the number of one column. `start`: the last difference of the row, as lengths are from it ---
inline std::uint64_t encode_code(model::Stored stored, Differences& differences, std::uint64_t code,
                                 std::uint64_t& start) {
  switch (stored) {
    case model::Stored::kDifference:
      start = code;
      return differences.encode(code);
    case model::Stored::kLength:
      return code - start;
    case model::Stored::kAround:
      return zigzag(static_cast<std::int64_t>(code - start));
    default:
      return code;
  }
}
inline std::uint64_t decode_code(model::Stored stored, Differences& differences, std::uint64_t code,
                                 std::uint64_t& start) {
  switch (stored) {
    case model::Stored::kDifference:
      return start = differences.decode(code);
    case model::Stored::kLength:
      return start + code;
    case model::Stored::kAround:
      return start + static_cast<std::uint64_t>(unzigzag(code));
    default:
      return code;
  }
}

// --- one row ---
struct ColumnCount {
  unsigned all = 0, required = 0;  // later versions have added the others
};
template <class Row>
constexpr ColumnCount columns_of() {
  ColumnCount count;
  const Row row{};
  fields_of(
      [&](const model::Field& field, const auto&) {
        const model::Storage& storage = field.storage;
        if (storage.stored == model::Stored::kNever || storage.shares_next) return;
        ++count.all;
        if (storage.since == 0) ++count.required;
      },
      row);
  return count;
}

// Rows of one section, from the first to the last, in one direction.
template <class Row>
class RowCoder {
 public:
  static constexpr ColumnCount kCount = columns_of<Row>();
  using Codes = std::array<std::uint64_t, kCount.all>;

  Codes encode(const Row& row) {
    Codes codes{};
    unsigned column = 0;
    std::uint64_t code = 0, start = 0;
    fields_of(
        [&](const model::Field& field, const auto& value) {
          const model::Storage& storage = field.storage;
          if (storage.stored == model::Stored::kNever) return;
          if constexpr (std::is_same_v<decltype(value), const bool&>)
            code |= value != storage.inverted ? storage.bit : 0;
          else
            code |= code_of(value);
          if (storage.shares_next) return;
          codes[column] = encode_code(storage.stored, differences_[column], code, start);
          ++column;
          code = 0;
        },
        row);
    return codes;
  }

  // `columns`: as many as the file has; fields of the others keep the value of a new row.
  Row decode(const Codes& codes, unsigned columns = kCount.all) {
    Row row{};
    unsigned column = 0;
    bool shared = false;
    std::uint64_t code = 0, start = 0;
    fields_of(
        [&](const model::Field& field, auto&& value) {
          const model::Storage& storage = field.storage;
          if (storage.stored == model::Stored::kNever || column >= columns) return;
          if (!shared) code = decode_code(storage.stored, differences_[column], codes[column], start);
          if constexpr (std::is_same_v<decltype(value), bool&>)
            value = ((code & storage.bit) != 0) != storage.inverted;
          else if constexpr (std::is_same_v<decltype(value), std::uint8_t&>)
            decode_field(shared ? code & 0xff : code, value);  // the bits above are of other fields
          else
            decode_field(code, value);
          shared = storage.shares_next;
          if (!shared) ++column;
        },
        row);
    return row;
  }

 private:
  std::array<Differences, kCount.all> differences_;
};

// --- all columns of a block or section ---
// Columns of later versions that say nothing are left out at the end, so that what an older version could have written
// is written as it would have been.
template <class Row>
void put_row_columns(Bytes& out, std::span<const Row> rows) {
  std::array<std::vector<std::uint64_t>, RowCoder<Row>::kCount.all> columns;
  for (auto& column : columns) column.reserve(rows.size());
  RowCoder<Row> coder;
  for (const Row& row : rows) {
    const auto codes = coder.encode(row);
    for (std::size_t column = 0; column < codes.size(); ++column) columns[column].push_back(codes[column]);
  }
  const auto says_nothing = [](const std::vector<std::uint64_t>& column) {
    return std::ranges::all_of(column, [](std::uint64_t code) { return code == 0; });
  };
  const auto unset = RowCoder<Row>().encode(Row{});
  std::size_t count = columns.size();
  while (count > RowCoder<Row>::kCount.required && unset[count - 1] == 0 && says_nothing(columns[count - 1]))
    --count;
  for (std::size_t column = 0; column < count; ++column) put_column(out, columns[column]);
}

// Takes the columns of `count` rows off `in` and calls take(row) for each. `what`: "faults", for messages; must outlive the call.
// After an error some rows were taken.
template <class Row, class Take>
Result<> read_row_columns(Cursor& in, std::uint64_t count, std::string_view what, Loading& loading,
                          const Take& take) {
  constexpr ColumnCount kCount = RowCoder<Row>::kCount;
  RowColumns columns(in, count, kCount.required, what);
  unsigned there = kCount.required;
  for (; there < kCount.all && !in.at_end(); ++there) columns.add(in);
  if (auto admitted = columns.admit(sizeof(Row), loading); !admitted) return admitted;
  RowCoder<Row> coder;
  typename RowCoder<Row>::Codes codes{};
  for (std::uint64_t i = 0; i < count; ++i) {
    for (unsigned column = 0; column < there; ++column) codes[column] = columns.next(column);
    take(coder.decode(codes, there));
  }
  return columns.whole();
}

}  // namespace fathom::store
