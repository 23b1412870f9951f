// The header before the rows of a payload, written and checked in one place. The number of rows is the file's
// claim: it is checked and charged before anything is allocated or decoded.
//
// There are two kinds. A block that is one table (samples, waits, page faults, memory, lifetimes of blocks)
// begins with the number of its rows, which is also in the block's header, followed by one column per field.
// A section of a growing table says which rows it has.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/cursor.h"
#include "base/result.h"
#include "base/varint.h"
#include "model/store/column.h"
#include "model/store/payload.h"

namespace fathom::store {

// --- a block that is one table ---
// The number of its rows; `rows` is the number in the block's header. `what`: "samples", for messages.
Result<std::uint64_t> read_row_count(Cursor& in, std::uint32_t rows, std::string_view what);

class RowColumns {
 public:
  // Takes the columns off `in`. `what` must outlive this object.
  RowColumns(Cursor& in, std::uint64_t rows, unsigned columns, std::string_view what);
  // One more column, for newer minor versions.
  void add(Cursor& in) { columns_.emplace_back(in, rows_); }

  // Call before the first next(): checks that the columns are there and charges the rows, `row_bytes` of
  // memory each.
  Result<> admit(std::uint64_t row_bytes, Loading& loading) const;
  std::uint64_t next(unsigned column) { return columns_[column].next(); }
  // Call after the last next(): an error if there were fewer values than rows.
  Result<> whole() const;

 private:
  std::uint64_t rows_;
  std::string_view what_;
  std::vector<ColumnReader> columns_;
};

// --- a section of a growing table ---
struct RowRange {
  std::uint32_t first = 0, count = 0;
};
void put_row_range(Bytes& out, std::size_t first, std::size_t end);
Result<RowRange> read_row_range(Cursor& in, std::string_view what);
// The rows must continue the table, which has `there` rows so far. If blocks were lost, earlier rows may be
// missing.
Result<> check_continues(const RowRange& range, std::size_t there, std::string_view what,
                         const Loading& loading);

}  // namespace fathom::store
