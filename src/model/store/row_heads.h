// What stands in front of rows in a payload, written and checked in one place. How many rows there are is the file's
// claim: nothing is allocated and nothing is decoded before it is checked and charged.
//
// There are two kinds. A block that is one table (samples, waits, page faults, memory, lives of blocks) begins with the
// number of its rows, which the block's header says too, and goes on with a column per field. A section of a table that
// grows says which rows it has.
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
// The number of its rows; `rows` is what the block's header says. `what`: "samples", for messages.
Result<std::uint64_t> read_row_count(Cursor& in, std::uint32_t rows, std::string_view what);

class RowColumns {
 public:
  // Takes the columns off `in`. `what` must outlive this object.
  RowColumns(Cursor& in, std::uint64_t rows, unsigned columns, std::string_view what);
  // One more, as newer minor versions have it.
  void add(Cursor& in) { columns_.emplace_back(in, rows_); }

  // Before the first next(): the columns are there, and the file may ask for so many rows of `row_bytes` in memory.
  Result<> admit(std::uint64_t row_bytes, Loading& loading) const;
  std::uint64_t next(unsigned column) { return columns_[column].next(); }
  // After the last next(): an error if there were fewer values than rows.
  Result<> whole() const;

 private:
  std::uint64_t rows_;
  std::string_view what_;
  std::vector<ColumnReader> columns_;
};

// --- a section of a table that grows ---
struct RowRange {
  std::uint32_t first = 0, count = 0;
};
void put_row_range(Bytes& out, std::size_t first, std::size_t end);
Result<RowRange> read_row_range(Cursor& in, std::string_view what);
// The rows go on where the table ends, with `there` rows so far. Where blocks were lost, rows before them may be missing.
Result<> check_continues(const RowRange& range, std::size_t there, std::string_view what,
                         const Loading& loading);

}  // namespace fathom::store
