#include "formats/parquet/compact.h"

#include "base/varint.h"

namespace fathom::parquet {
namespace {

// Types of fields, and of elements in lists.
constexpr std::uint8_t kTrue = 1, kFalse = 2, kByteType = 3, kI16 = 4, kI32 = 5, kI64 = 6, kDouble = 7,
                       kBinary = 8, kList = 9, kSet = 10, kMap = 11, kStruct = 12, kUuid = 13;
constexpr int kMostDepth = 16;

}  // namespace

void CompactWriter::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
  bytes_ += static_cast<char>(value);
}

// Ids that follow each other closely share a byte with the type.
void CompactWriter::field(std::int16_t id, std::uint8_t type) {
  const int step = id - last_;
  if (step >= 1 && step <= 15) {
    bytes_ += static_cast<char>(step << 4 | type);
  } else {
    bytes_ += static_cast<char>(type);
    varint(zigzag(id));
  }
  last_ = id;
}

void CompactWriter::list(std::int16_t id, std::uint8_t type, std::size_t count) {
  field(id, kList);
  if (count < 15) {
    bytes_ += static_cast<char>(count << 4 | type);
    return;
  }
  bytes_ += static_cast<char>(0xf0 | type);
  varint(count);
}

CompactWriter& CompactWriter::number32(std::int16_t id, std::int32_t value) {
  field(id, kI32);
  varint(zigzag(value));
  return *this;
}

CompactWriter& CompactWriter::number64(std::int16_t id, std::int64_t value) {
  field(id, kI64);
  varint(zigzag(value));
  return *this;
}

CompactWriter& CompactWriter::text(std::int16_t id, std::string_view value) {
  field(id, kBinary);
  varint(value.size());
  bytes_ += value;
  return *this;
}

CompactWriter& CompactWriter::structure(std::int16_t id, const CompactWriter& value) {
  field(id, kStruct);
  bytes_ += value.finished();
  return *this;
}

CompactWriter& CompactWriter::structures(std::int16_t id, const std::vector<CompactWriter>& values) {
  list(id, kStruct, values.size());
  for (const CompactWriter& value : values) bytes_ += value.finished();
  return *this;
}

CompactWriter& CompactWriter::numbers32(std::int16_t id, const std::vector<std::int32_t>& values) {
  list(id, kI32, values.size());
  for (const std::int32_t value : values) varint(zigzag(value));
  return *this;
}

CompactWriter& CompactWriter::texts(std::int16_t id, const std::vector<std::string_view>& values) {
  list(id, kBinary, values.size());
  for (const std::string_view value : values) {
    varint(value.size());
    bytes_ += value;
  }
  return *this;
}

std::int64_t CompactFields::zigzag_number() {
  return unzigzag(in_.read_uleb128());
}

bool CompactFields::next() {
  if (!taken_) skip(type_, 0);
  taken_ = true;
  const auto head = in_.read<std::uint8_t>();
  type_ = head & 0x0f;
  if (!in_.ok() || type_ == 0) return false;
  const int step = head >> 4;
  id_ = static_cast<std::int16_t>(step != 0 ? id_ + step : zigzag_number());
  taken_ = false;
  return in_.ok();
}

bool CompactFields::is(std::uint8_t type) {
  taken_ = true;
  if (type_ != type) in_.fail();
  return in_.ok();
}

std::int64_t CompactFields::number() {
  taken_ = true;
  if (type_ == kByteType) return in_.read<std::int8_t>();
  if (type_ < kI16 || type_ > kI64) in_.fail();
  return zigzag_number();
}

std::string_view CompactFields::text() {
  return is(kBinary) ? in_.read_chars(in_.read_uleb128()) : std::string_view();
}

void CompactFields::enter() {
  (void)is(kStruct);
}

// The count is the file's claim; each element of any type that is read here takes a byte at least.
std::uint64_t CompactFields::list(std::uint8_t& type) {
  const auto head = in_.read<std::uint8_t>();
  type = head & 0x0f;
  const std::uint64_t count = head >> 4 == 15 ? in_.read_uleb128() : head >> 4;
  if (count > in_.remaining()) in_.fail();
  return in_.ok() ? count : 0;
}

std::uint64_t CompactFields::structures() {
  std::uint8_t type = 0;
  const std::uint64_t count = is(kList) ? list(type) : 0;
  if (count != 0 && type != kStruct) in_.fail();
  return in_.ok() ? count : 0;
}

std::vector<std::int64_t> CompactFields::numbers() {
  std::uint8_t type = 0;
  const std::uint64_t count = is(kList) ? list(type) : 0;
  if (count != 0 && (type < kI16 || type > kI64)) in_.fail();
  std::vector<std::int64_t> values;
  for (std::uint64_t i = 0; i < count && in_.ok(); ++i) values.push_back(zigzag_number());
  return values;
}

std::vector<std::string_view> CompactFields::texts() {
  std::uint8_t type = 0;
  const std::uint64_t count = is(kList) ? list(type) : 0;
  if (count != 0 && type != kBinary) in_.fail();
  std::vector<std::string_view> values;
  for (std::uint64_t i = 0; i < count && in_.ok(); ++i) values.push_back(in_.read_chars(in_.read_uleb128()));
  return values;
}

void CompactFields::skip(std::uint8_t type, int depth) {
  if (depth > kMostDepth) in_.fail();
  if (!in_.ok()) return;
  // In lists a truth value takes a byte; as a field it is in the type.
  if (type == kTrue || type == kFalse) {
    if (depth > 0) in_.skip(1);
  } else if (type == kByteType) {
    in_.skip(1);
  } else if (type >= kI16 && type <= kI64) {
    (void)in_.read_uleb128();
  } else if (type == kDouble) {
    in_.skip(8);
  } else if (type == kUuid) {
    in_.skip(16);
  } else if (type == kBinary) {
    in_.skip(in_.read_uleb128());
  } else if (type == kList || type == kSet) {
    std::uint8_t element = 0;
    for (std::uint64_t count = list(element); count != 0 && in_.ok(); --count) skip(element, depth + 1);
  } else if (type == kMap) {
    const std::uint64_t count = in_.read_uleb128();
    if (count > in_.remaining()) in_.fail();
    const std::uint8_t types = count != 0 && in_.ok() ? in_.read<std::uint8_t>() : 0;
    for (std::uint64_t i = 0; i < count && in_.ok(); ++i) {
      skip(types >> 4, depth + 1);
      skip(types & 0x0f, depth + 1);
    }
  } else if (type == kStruct) {
    for (;;) {
      const auto head = in_.read<std::uint8_t>();
      if (!in_.ok() || (head & 0x0f) == 0) return;
      if (head >> 4 == 0) (void)in_.read_uleb128();
      // A truth value of a field has no byte of its own.
      const std::uint8_t field = head & 0x0f;
      if (field != kTrue && field != kFalse) skip(field, depth + 1);
    }
  } else {
    in_.fail();
  }
}

}  // namespace fathom::parquet
