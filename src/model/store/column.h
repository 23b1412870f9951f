// Columns and sections are the parts of a payload. A column is one field of many rows as varints, or as runs
// if that is smaller; similar values are next to each other, which suits zstd. A section is a number, a
// length and a body, so that a reader can skip one that it does not know.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/cursor.h"
#include "base/varint.h"

namespace fathom::store {

void put_section(Bytes& out, unsigned number, const Bytes& body);
void put_text(Bytes& out, std::string_view text);  // length, then bytes
std::string_view read_text(Cursor& in);

void put_column(Bytes& out, std::span<const std::uint64_t> values);

// Returns the values of one column, one by one. Reading more values than were stored gives 0 and makes ok()
// false.
class ColumnReader {
 public:
  // Takes the column off `in`. `rows` is the file's claim: for a plain column it is only believed if there
  // are as many bytes (a run may stand for any number of rows, so callers limit them by kMaxRows and their
  // budget).
  ColumnReader(Cursor& in, std::uint64_t rows);

  std::uint64_t next() {
    if (!runs_) return read_value();
    if (left_ == 0) read_run();
    --left_;
    return value_;
  }
  // The next values, as many as `out` has room for: several times as fast as next() for each.
  void fill(std::span<std::uint64_t> out);
  bool ok() const { return ok_; }

 private:
  void fill_plain(std::span<std::uint64_t> out);
  // As Cursor::read_uleb128. Recordings have up to a billion values, most of which are one byte.
  std::uint64_t read_value() {
    if (at_ != end_ && *at_ < 0x80) return *at_++;
    return read_long_value();
  }
  std::uint64_t read_long_value();
  void read_run();
  void fail() {
    ok_ = false;
    at_ = end_;
  }

  bool runs_ = false, ok_ = true;
  const std::uint8_t *at_ = nullptr, *end_ = nullptr;
  std::uint64_t value_ = 0, left_ = 0;
};

}  // namespace fathom::store
