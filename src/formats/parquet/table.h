// A table of Parquet in memory, column by column. Values of a column stand one after another; a list says how many are its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::parquet {

enum class ColumnKind : std::uint8_t {
  kUnsigned,   // 64 bits
  kSigned,     // 64 bits
  kTimestamp,  // microseconds since 1970, UTC
  kByte,       // 0 to 255
  kText,
};

struct ColumnInfo {
  std::string_view name;  // outlives the column
  ColumnKind kind = ColumnKind::kUnsigned;
  bool is_list = false;
  bool may_miss = false;  // a file without it has zeros, and empty texts; no list
  bool operator==(const ColumnInfo&) const = default;
};

struct Column {
  ColumnInfo info;
  std::vector<std::uint64_t>
      numbers;                     // of kText: rows of `texts`; of kSigned and kTimestamp: two's complement
  std::vector<std::string> texts;  // each once, as far as one writer is concerned
  std::vector<std::uint32_t> lengths;  // of lists: how many values each row has
  bool operator==(const Column&) const = default;
};

struct Table {
  std::uint64_t rows = 0;
  std::vector<Column> columns;
};

// What both sides know about a kind. Source of the numbers: parquet.thrift, Type and ConvertedType.
struct KindFacts {
  std::int32_t type, converted;  // -1: none
};
inline constexpr std::int32_t kTypeInt32 = 1, kTypeInt64 = 2, kTypeBytes = 6;
constexpr KindFacts facts_of(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::kUnsigned:
      return {kTypeInt64, 14};
    case ColumnKind::kSigned:
      return {kTypeInt64, -1};
    case ColumnKind::kTimestamp:
      return {kTypeInt64, 10};
    case ColumnKind::kByte:
      return {kTypeInt32, 11};
    case ColumnKind::kText:
      break;
  }
  return {kTypeBytes, 0};
}

// parquet.thrift, Encoding, CompressionCodec, PageType and FieldRepetitionType.
inline constexpr std::int32_t kPlain = 0, kPlainDictionary = 2, kRle = 3, kRleDictionary = 8;
inline constexpr std::int32_t kNoCodec = 0, kSnappyCodec = 1, kGzipCodec = 2, kZstdCodec = 6;
inline constexpr std::int32_t kDataPage = 0, kDictionaryPage = 2;
inline constexpr std::int32_t kRequired = 0, kOptional = 1, kRepeated = 2;
inline constexpr std::int32_t kConvertedList = 3;
inline constexpr std::string_view kMagic = "PAR1";

}  // namespace fathom::parquet
