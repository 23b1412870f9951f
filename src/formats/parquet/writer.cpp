#include "formats/parquet/writer.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/packed/packer.h"
#include "formats/parquet/compact.h"
#include "formats/parquet/hybrid.h"

namespace fathom::parquet {
namespace {

void put_little_endian(std::string& out, std::uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

struct Chunk {
  std::string bytes;  // pages with their headers
  std::int64_t dictionary_at = -1, data_at = 0, unpacked = 0, values = 0;
};

Result<> add_page(std::int32_t type, const CompactWriter& inner, const std::string& content, Chunk& chunk) {
  packed::Packer packer(packed::Packing::kZstd);
  packer.add(content);
  const auto packed = packer.finish();
  if (!packed) return tl::unexpected<Error>(packed.error());
  constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();
  if (content.size() > kMost || packed->size() > kMost)
    return fail(ErrorKind::kUnsupported, "a column has more than 2 GiB", "shorter recordings");
  CompactWriter header;
  header.number32(1, type)
      .number32(2, static_cast<std::int32_t>(content.size()))
      .number32(3, static_cast<std::int32_t>(packed->size()))
      .structure(static_cast<std::int16_t>(type == kDictionaryPage ? 7 : 5), inner);
  const std::string head = header.finished();
  chunk.bytes += head;
  chunk.bytes += *packed;
  chunk.unpacked += static_cast<std::int64_t>(head.size() + content.size());
  return {};
}

// A list of n values is n entries of which the first begins a row; an empty one is an entry without a value.
void put_levels(const Column& column, std::string& out, std::int64_t& entries) {
  std::vector<std::uint8_t> repeated, defined;
  for (const std::uint32_t length : column.lengths)
    for (std::uint32_t i = 0; i < std::max(1U, length); ++i) {
      repeated.push_back(i != 0);
      defined.push_back(length != 0);
    }
  entries = static_cast<std::int64_t>(repeated.size());
  for (const auto* levels : {&repeated, &defined}) {
    const std::string encoded = hybrid_encode(*levels, 1);
    put_little_endian(out, encoded.size(), 4);
    out += encoded;
  }
}

Result<Chunk> chunk_of(const Column& column) {
  Chunk chunk;
  const bool is_text = column.info.kind == ColumnKind::kText;
  if (is_text) {
    std::string dictionary;
    for (const std::string& text : column.texts) {
      put_little_endian(dictionary, text.size(), 4);
      dictionary += text;
    }
    CompactWriter inner;
    inner.number32(1, static_cast<std::int32_t>(column.texts.size())).number32(2, kPlain);
    chunk.dictionary_at = 0;
    if (auto added = add_page(kDictionaryPage, inner, dictionary, chunk); !added)
      return tl::unexpected<Error>(added.error());
    chunk.data_at = static_cast<std::int64_t>(chunk.bytes.size());
  }
  std::string content;
  chunk.values = static_cast<std::int64_t>(column.numbers.size());
  if (column.info.is_list) put_levels(column, content, chunk.values);
  if (is_text) {
    // A width of 0 is allowed and rare; one of 1 is read by everybody.
    const unsigned bits = std::max(1U, bits_for(column.texts.empty() ? 0 : column.texts.size() - 1));
    content += static_cast<char>(bits);
    content += hybrid_encode(column.numbers, bits);
  } else {
    const unsigned bytes = facts_of(column.info.kind).type == kTypeInt32 ? 4 : 8;
    for (const std::uint64_t number : column.numbers) put_little_endian(content, number, bytes);
  }
  CompactWriter inner;
  inner.number32(1, static_cast<std::int32_t>(chunk.values))
      .number32(2, is_text ? kRleDictionary : kPlain)
      .number32(3, kRle)
      .number32(4, kRle);
  if (auto added = add_page(kDataPage, inner, content, chunk); !added)
    return tl::unexpected<Error>(added.error());
  return chunk;
}

void add_schema(const Column& column, std::vector<CompactWriter>& schema) {
  const KindFacts facts = facts_of(column.info.kind);
  const auto leaf = [&](std::string_view name) {
    CompactWriter element;
    element.number32(1, facts.type).number32(3, kRequired).text(4, name);
    if (facts.converted >= 0) element.number32(6, facts.converted);
    schema.push_back(std::move(element));
  };
  if (!column.info.is_list) return leaf(column.info.name);
  CompactWriter outer, list;
  outer.number32(3, kRequired).text(4, column.info.name).number32(5, 1).number32(6, kConvertedList);
  list.number32(3, kRepeated).text(4, "list").number32(5, 1);
  schema.push_back(std::move(outer));
  schema.push_back(std::move(list));
  leaf("element");
}

// The smallest and the greatest value let engines skip files without looking into them.
CompactWriter statistics_of(const Column& column) {
  CompactWriter statistics;
  const auto [least, most] = std::ranges::minmax_element(column.numbers);
  std::string low, high;
  put_little_endian(low, *least, 8);
  put_little_endian(high, *most, 8);
  statistics.number64(3, 0).text(5, high).text(6, low);
  return statistics;
}

CompactWriter column_chunk(const Column& column, const Chunk& chunk, std::int64_t offset) {
  std::vector<std::string_view> path{column.info.name};
  if (column.info.is_list) path.insert(path.end(), {"list", "element"});
  CompactWriter data;
  data.number32(1, facts_of(column.info.kind).type)
      .numbers32(2, {kPlain, kRle, kRleDictionary})
      .texts(3, path)
      .number32(4, kZstdCodec)
      .number64(5, chunk.values)
      .number64(6, chunk.unpacked)
      .number64(7, static_cast<std::int64_t>(chunk.bytes.size()))
      .number64(9, offset + chunk.data_at);
  if (chunk.dictionary_at >= 0) data.number64(11, offset + chunk.dictionary_at);
  // Their order is that of two's complement as long as none is negative.
  if (column.info.kind == ColumnKind::kTimestamp && !column.numbers.empty())
    data.structure(12, statistics_of(column));
  CompactWriter whole;
  whole.number64(2, 0).structure(3, data);
  return whole;
}

}  // namespace

Result<std::string> write_parquet(const Table& table, const Metadata& metadata) {
  std::string file(kMagic);
  std::vector<CompactWriter> schema(1), columns;
  schema[0].text(4, "schema").number32(5, static_cast<std::int32_t>(table.columns.size()));
  std::int64_t unpacked = 0;
  for (const Column& column : table.columns) {
    const auto chunk = chunk_of(column);
    if (!chunk) return within(column.info.name, chunk.error());
    add_schema(column, schema);
    columns.push_back(column_chunk(column, *chunk, static_cast<std::int64_t>(file.size())));
    file += chunk->bytes;
    unpacked += chunk->unpacked;
  }
  const auto rows = static_cast<std::int64_t>(table.rows);
  CompactWriter group;
  group.structures(1, columns).number64(2, unpacked).number64(3, rows);
  std::vector<CompactWriter> pairs;
  for (const auto& [key, value] : metadata) pairs.emplace_back().text(1, key).text(2, value);
  CompactWriter footer;
  footer.number32(1, 1).structures(2, schema).number64(3, rows).structures(4, {group});
  // One order for each column; statistics are taken for nothing without it.
  CompactWriter order;
  order.structure(1, {});
  footer.structures(5, pairs).text(6, "fathom").structures(7, std::vector(columns.size(), order));
  const std::string bytes = footer.finished();
  file += bytes;
  put_little_endian(file, bytes.size(), 4);
  file += kMagic;
  return file;
}

}  // namespace fathom::parquet
