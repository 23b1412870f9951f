#include "model/store/column.h"

#include <limits>

namespace fathom::store {
namespace {

enum Encoding : std::uint8_t { kPlain = 0, kRuns = 1 };

std::size_t varint_size(std::uint64_t value) {
  std::size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

// Calls visit(value, length) for each run.
template <class Visit>
void for_each_run(std::span<const std::uint64_t> values, const Visit& visit) {
  for (std::size_t i = 0; i < values.size();) {
    std::size_t end = i + 1;
    while (end < values.size() && values[end] == values[i]) ++end;
    visit(values[i], end - i);
    i = end;
  }
}

}  // namespace

void put_section(Bytes& out, unsigned number, const Bytes& body) {
  put_varint(out, number);
  put_varint(out, body.size());
  out.insert(out.end(), body.begin(), body.end());
}

void put_text(Bytes& out, std::string_view text) {
  put_varint(out, text.size());
  const auto bytes = std::as_bytes(std::span(text));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

std::string_view read_text(Cursor& in) {
  return in.read_chars(in.read_uleb128());
}

void put_column(Bytes& out, std::span<const std::uint64_t> values) {
  std::size_t plain = 0, runs = 0;
  for_each_run(values, [&](std::uint64_t value, std::size_t length) {
    plain += length * varint_size(value);
    runs += varint_size(value) + varint_size(length - 1);
  });
  if (runs < plain) {
    out.push_back(std::byte{kRuns});
    put_varint(out, runs);
    for_each_run(values, [&](std::uint64_t value, std::size_t length) {
      put_varint(out, value);
      put_varint(out, length - 1);
    });
  } else {
    out.push_back(std::byte{kPlain});
    put_varint(out, plain);
    for (std::uint64_t value : values) put_varint(out, value);
  }
}

ColumnReader::ColumnReader(Cursor& in, std::uint64_t rows) : values_({}) {
  const auto encoding = in.read<std::uint8_t>();
  runs_ = encoding == kRuns;
  values_ = in.sub(in.read_uleb128());
  if (encoding > kRuns || (!runs_ && values_.remaining() < rows)) values_.fail();
}

void ColumnReader::read_run() {
  value_ = values_.read_uleb128();
  const std::uint64_t more = values_.read_uleb128();
  if (more == std::numeric_limits<std::uint64_t>::max()) values_.fail();
  left_ = values_.ok() ? more + 1 : 1;
}

}  // namespace fathom::store
