// How the fields of rows are listed: fields_of(visitor, row...) calls visitor(about, row.field...) for each field of a row, in the
// order in which a recording stores them. Everything that handles rows field by field goes over these lists: the blocks of the
// file, check(), merge(), repair(), JSON, SQL and docs/recording-fields.md. So a new field is one line.
//
// Several rows of one kind are visited together: visitor(about, a.cpu_ns, b.cpu_ns). The alternative, pointers to members, cannot
// name the parts of a sum (HeapRow::allocated.bytes).
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace fathom::model {

// How a column of the file holds a field (docs/format.md).
enum class Stored : std::uint8_t {
  kPlain,       // as it is; a double as a sum
  kDifference,  // from the row before, in the same section
  kLength,      // from the start_ns of the row, which stands before it
  kAround,      // the same, before or after it
  kNever,       // exists only in memory
};

// What merge() does with a field of a row that both recordings have.
enum class Joined : std::uint8_t { kKept, kSum, kGreatest };

struct Storage {
  Stored stored = Stored::kPlain;
  Joined joined = Joined::kKept;
  // The fields of one column: each bool has its bit, and a number that is not a bool comes last.
  std::uint64_t bit = 1;
  bool shares_next = false;  // the next field is in the same column
  bool inverted = false;     // the bit stands for false
  unsigned since = 0;        // minor version of the format in which it was added; not before rows of its kind
  unsigned number = 0;       // of a counter of Quality
};

struct Field {
  std::string_view name;  // in JSON and SQL
  std::string_view what;  // for docs/recording-fields.md; empty: the name says it
  Storage storage = {};
};

inline constexpr Storage kDifference{.stored = Stored::kDifference};

// A field that has no value where it is `none`.
template <class T>
struct Optional {
  T& value;
  std::remove_const_t<T> none;
};
template <class T>
constexpr Optional<T> or_none(T& value, std::remove_const_t<T> none) {
  return {value, none};
}

template <class T, class Row>
concept RowOf = std::same_as<std::remove_const_t<T>, Row>;

}  // namespace fathom::model
