// The rows of STAT: modules, processes, threads and the heads of series, whose fields are varints in the order of model/fields. The
// number of fields of a row cannot change within a major version, because rows do not contain their length: fields of later versions
// (threads' times) are in a section of their own.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "base/cursor.h"
#include "base/varint.h"
#include "model/fields.h"
#include "model/store/payload.h"
#include "model/store/row_coder.h"

namespace fathom::store {

inline constexpr unsigned kThreadTimesSince = 1;

// Whether the rows of a section hold a field. `since`: 0, or that of the fields in the section.
inline bool is_in_row(const model::Field& field, unsigned since) {
  return field.storage.stored != model::Stored::kNever && field.storage.since == since;
}

template <class T>
void put_state_field(Bytes& out, const T& value) {
  if constexpr (std::is_same_v<T, std::int32_t>)
    put_signed_varint(out, value);
  else
    put_varint(out, code_of(value));
}
template <class T>
void read_state_field(Cursor& in, T& value) {
  if constexpr (std::is_same_v<T, std::int32_t>)
    value = static_cast<std::int32_t>(unzigzag(in.read_uleb128()));
  else
    decode_field(in.read_uleb128(), value);
}
// A block of their own has them.
inline void put_state_field(Bytes&, const std::vector<model::Point>&) {}
inline void read_state_field(Cursor&, std::vector<model::Point>&) {}

template <class Row>
void put_row(Bytes& out, const Row& row, unsigned since = 0) {
  model::fields_of(
      [&](const model::Field& field, const auto& value) {
        if (is_in_row(field, since)) put_state_field(out, value);
      },
      row);
}
template <class Row>
void read_row(Cursor& in, Row& row, unsigned since = 0) {
  model::fields_of(
      [&](const model::Field& field, auto& value) {
        if (is_in_row(field, since)) read_state_field(in, value);
      },
      row);
}
template <class Row>
bool same_row(const Row& a, const Row& b, unsigned since = 0) {
  bool same = true;
  model::fields_of(
      [&](const model::Field& field, const auto& x, const auto& y) {
        if (is_in_row(field, since)) same = same && x == y;
      },
      a, b);
  return same;
}
template <class Row>
void copy_row(const Row& from, Row& to, unsigned since = 0) {
  model::fields_of(
      [&](const model::Field& field, const auto& x, auto& y) {
        if (is_in_row(field, since)) y = x;
      },
      from, to);
}

inline StateCopy::SeriesHead head_of(const model::Series& series) {
  return {series.name, series.unit, series.pid};
}

}  // namespace fathom::store
