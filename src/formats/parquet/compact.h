// Thrift's compact protocol, as much of it as the footers and page headers of Parquet need. Source: thrift-compact-protocol.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/cursor.h"

namespace fathom::parquet {

// One struct. Fields are added by rising ids.
class CompactWriter {
 public:
  CompactWriter& number32(std::int16_t id, std::int32_t value);
  CompactWriter& number64(std::int16_t id, std::int64_t value);
  CompactWriter& text(std::int16_t id, std::string_view value);
  CompactWriter& structure(std::int16_t id, const CompactWriter& value);
  CompactWriter& structures(std::int16_t id, const std::vector<CompactWriter>& values);
  CompactWriter& numbers32(std::int16_t id, const std::vector<std::int32_t>& values);
  CompactWriter& texts(std::int16_t id, const std::vector<std::string_view>& values);
  std::string finished() const { return bytes_ + '\0'; }

 private:
  void field(std::int16_t id, std::uint8_t type);
  void list(std::int16_t id, std::uint8_t type, std::size_t count);
  void varint(std::uint64_t value);
  std::string bytes_;
  std::int16_t last_ = 0;
};

// The fields of one struct, read in order. A field that is not asked for is skipped. Structs inside of it share the cursor: their
// own CompactFields is read to its end before the next field of this one.
class CompactFields {
 public:
  explicit CompactFields(Cursor& in) : in_(in) {}

  // The next field; false at the end of the struct, and when the bytes make no sense: then the cursor's ok() is false.
  bool next();
  std::int16_t id() const { return id_; }

  // The value of the field. One of another type makes the cursor not ok().
  std::int64_t number();
  std::string_view text();
  void enter();  // a struct: its CompactFields follows
  std::uint64_t
  structures();  // a list of structs: so many CompactFields follow, never more than there are bytes
  std::vector<std::int64_t> numbers();
  std::vector<std::string_view> texts();

 private:
  bool is(std::uint8_t type);
  std::uint64_t list(std::uint8_t& type);
  void skip(std::uint8_t type, int depth);
  std::int64_t zigzag_number();

  Cursor& in_;
  std::int16_t id_ = 0;
  std::uint8_t type_ = 0;
  bool taken_ = true;  // the value of the field has been read
};

}  // namespace fathom::parquet
