#include "model/store/row_heads.h"

#include <fmt/format.h>

#include <algorithm>

namespace fathom::store {

Result<std::uint64_t> read_row_count(Cursor& in, std::uint32_t rows, std::string_view what) {
  const std::uint64_t count = in.read_uleb128();
  if (!in.ok() || count != rows || count > kMaxRows)
    return fail(ErrorKind::kMalformed, fmt::format("{} {}, or {}", count, what, rows));
  return count;
}

RowColumns::RowColumns(Cursor& in, std::uint64_t rows, unsigned columns, std::string_view what)
    : rows_(rows), what_(what) {
  columns_.reserve(columns + std::size_t{1});
  for (unsigned i = 0; i < columns; ++i) add(in);
}

Result<> RowColumns::admit(std::uint64_t row_bytes, Loading& loading) const {
  if (auto there = whole(); !there) return there;
  if (auto charged = loading.charge(rows_ * row_bytes); !charged) return charged;
  return loading.work(rows_);
}

Result<> RowColumns::whole() const {
  if (std::ranges::all_of(columns_, &ColumnReader::ok)) return {};
  return fail(ErrorKind::kMalformed, fmt::format("{} are cut short", what_));
}

void put_row_range(Bytes& out, std::size_t first, std::size_t end) {
  put_varint(out, first);
  put_varint(out, end - first);
}

Result<RowRange> read_row_range(Cursor& in, std::string_view what) {
  const std::uint64_t first = in.read_uleb128();
  const std::uint64_t count = in.read_uleb128();
  if (!in.ok() || count > kMaxRows || first >= kLostRow - kMaxRows)
    return fail(ErrorKind::kMalformed, fmt::format("{} {} from {} on", count, what, first));
  return RowRange{static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(count)};
}

Result<> check_continues(const RowRange& range, std::size_t there, std::string_view what,
                         const Loading& loading) {
  if (range.first == there || (range.first > there && loading.damaged)) return {};
  return fail(ErrorKind::kMalformed,
              fmt::format("{} from {} on, where {} is next", what, range.first, there));
}

}  // namespace fathom::store
