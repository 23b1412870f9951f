#include "formats/parquet/pages.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <span>

#include "base/cursor.h"
#include "base/packed/unpacker.h"
#include "formats/parquet/compact.h"
#include "formats/parquet/hybrid.h"
#include "formats/parquet/snappy.h"

namespace fathom::parquet {
namespace {

// Of values, before the first of them is there: what a damaged file claims costs no more than this.
constexpr std::uint64_t kMostReservedValues = 1'000'000;

struct PageHeader {
  std::int32_t type = -1, encoding = -1, defined_encoding = kRle, repeated_encoding = kRle;
  std::uint64_t unpacked = 0, packed = 0, values = 0;
};

PageHeader read_header(Cursor& in) {
  PageHeader header;
  CompactFields fields(in);
  while (fields.next()) switch (fields.id()) {
      case 1:
        header.type = static_cast<std::int32_t>(fields.number());
        break;
      case 2:
        header.unpacked = static_cast<std::uint64_t>(fields.number());
        break;
      case 3:
        header.packed = static_cast<std::uint64_t>(fields.number());
        break;
      case 5:
      case 7: {
        fields.enter();
        CompactFields inner(in);
        while (inner.next()) switch (inner.id()) {
            case 1:
              header.values = static_cast<std::uint64_t>(inner.number());
              break;
            case 2:
              header.encoding = static_cast<std::int32_t>(inner.number());
              break;
            case 3:
              if (header.type == kDataPage)
                header.defined_encoding = static_cast<std::int32_t>(inner.number());
              break;
            case 4:
              header.repeated_encoding = static_cast<std::int32_t>(inner.number());
              break;
          }
        break;
      }
    }
  return header;
}

class PageReader {
 public:
  PageReader(const ChunkPlace& place, const Leaf& leaf, const std::string& where, std::uint64_t& budget,
             Column& into)
      : place_(place), leaf_(leaf), where_(where), budget_(budget), into_(into) {}

  Result<> read(std::string_view bytes, std::uint64_t rows) {
    Cursor in(std::as_bytes(std::span(bytes)));
    const std::size_t values_before = into_.numbers.size(), lengths_before = into_.lengths.size();
    if (values_before == 0) into_.numbers.reserve(std::min(place_.values, kMostReservedValues));
    std::uint64_t entries = 0;
    while (entries < place_.values) {
      const PageHeader header = read_header(in);
      const std::string_view packed = in.read_chars(header.packed);
      if (!in.ok()) return damaged("a page is cut short");
      if (header.type != kDictionaryPage && header.type != kDataPage)
        return unsupported(fmt::format("a page of type {}", header.type));
      if (header.unpacked > budget_) return unsupported("more than 1 GiB in one column");
      budget_ -= header.unpacked;
      const auto content = content_of(packed, header.unpacked);
      if (!content) return tl::unexpected<Error>(content.error());
      if (header.type == kDictionaryPage) {
        if (auto read = read_dictionary(*content, header); !read) return read;
        continue;
      }
      if (header.values == 0 || header.values > place_.values - entries)
        return damaged("a page has another number of values than its column");
      if (auto read = read_data(*content, header); !read) return read;
      entries += header.values;
    }
    const std::size_t read =
        into_.info.is_list ? into_.lengths.size() - lengths_before : into_.numbers.size() - values_before;
    if (read != rows) return damaged("a column has another number of rows than its group");
    return {};
  }

 private:
  tl::unexpected<Error> damaged(std::string_view what) const {
    return fail(ErrorKind::kMalformed, fmt::format("{}: {}", where_, what));
  }
  tl::unexpected<Error> unsupported(std::string_view what) const {
    return fail(
        ErrorKind::kUnsupported, fmt::format("{}: {} is not supported", where_, what),
        "files with data pages of version 1, plain or with dictionaries, packed with zstd, gzip or Snappy, or not at all");
  }

  Result<std::string> content_of(std::string_view packed, std::uint64_t size) const {
    if (place_.codec != kNoCodec && place_.codec != kSnappyCodec && place_.codec != kZstdCodec &&
        place_.codec != kGzipCodec)
      return unsupported(fmt::format("packing {}", place_.codec));
    if (place_.codec == kNoCodec || size == 0) {
      if (place_.codec == kNoCodec && packed.size() != size) return damaged("a page has another size");
      return std::string(packed.substr(0, size));
    }
    if (place_.codec == kSnappyCodec) {
      auto content = unpack_snappy(packed, size);
      if (!content) return damaged("a page is damaged");
      return std::move(*content);
    }
    if (place_.codec == kZstdCodec) {
      std::string content(size, '\0');
      if (ZSTD_decompress(content.data(), size, packed.data(), packed.size()) != size)
        return damaged("a page is damaged");
      return content;
    }
    if (!packed::is_packed(packed)) return damaged("a page is damaged");
    auto content = packed::unpacked(packed, where_, size);
    if (content && content->size() != size) return damaged("a page has another size");
    return content;
  }

  static Cursor cursor_of(std::string_view text) { return Cursor(std::as_bytes(std::span(text))); }

  // A number of the column's type, or a text, which becomes a row of its texts.
  std::uint64_t read_value(Cursor& in) {
    if (leaf_.type == kTypeInt32) return static_cast<std::uint64_t>(std::int64_t{in.read<std::int32_t>()});
    if (leaf_.type == kTypeInt64) return in.read<std::uint64_t>();
    const std::string_view text = in.read_chars(in.read<std::uint32_t>());
    if (in.ok()) into_.texts.emplace_back(text);
    return into_.texts.size() - 1;
  }

  Result<> read_dictionary(std::string_view content, const PageHeader& header) {
    if (header.encoding != kPlain && header.encoding != kPlainDictionary)
      return unsupported(fmt::format("a dictionary with encoding {}", header.encoding));
    if (!dictionary_.empty()) return damaged("a column has two dictionaries");
    Cursor in = cursor_of(content);
    if (header.values > content.size() / 4) return damaged("a dictionary is cut short");
    for (std::uint64_t i = 0; i < header.values && in.ok(); ++i) dictionary_.push_back(read_value(in));
    return in.ok() ? Result<>() : damaged("a dictionary is cut short");
  }

  // Levels have their length before them; a level that can only be 0 is left out.
  bool read_levels(Cursor& in, unsigned most, std::uint64_t count, std::vector<std::uint32_t>& levels) {
    levels.clear();
    if (most == 0) return true;
    Cursor part = in.sub(in.read<std::uint32_t>());
    hybrid_decode(part, bits_for(most), count, levels);
    return in.ok() && part.ok() && levels.size() == count;
  }

  Result<> read_data(std::string_view content, const PageHeader& header) {
    if (header.defined_encoding != kRle || header.repeated_encoding != kRle)
      return unsupported("levels of an old encoding");
    Cursor in = cursor_of(content);
    if (!read_levels(in, leaf_.most_repeated, header.values, repeated_) ||
        !read_levels(in, leaf_.most_defined, header.values, defined_))
      return damaged("the levels of a page are damaged");
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i < header.values; ++i) {
      const bool there = leaf_.most_defined == 0 || defined_[i] >= leaf_.most_defined;
      if (!there && !into_.info.is_list) return damaged("a row has no value");
      count += there ? 1 : 0;
      if (!into_.info.is_list) continue;
      if (repeated_[i] == 0) into_.lengths.push_back(0);
      if (into_.lengths.empty() || (repeated_[i] != 0 && !there))
        return damaged("a list has an element without a value");
      into_.lengths.back() += there ? 1 : 0;
    }
    return header.encoding == kPlain ? read_plain(in, count) : read_rows_of_dictionary(in, header, count);
  }

  Result<> read_plain(Cursor& in, std::uint64_t count) {
    if (count > in.remaining()) return damaged("a page is cut short");
    for (std::uint64_t i = 0; i < count && in.ok(); ++i) into_.numbers.push_back(read_value(in));
    return in.ok() ? Result<>() : damaged("a page is cut short");
  }

  Result<> read_rows_of_dictionary(Cursor& in, const PageHeader& header, std::uint64_t count) {
    if (header.encoding != kRleDictionary && header.encoding != kPlainDictionary)
      return unsupported(fmt::format("encoding {}", header.encoding));
    if (count == 0) return {};
    rows_.clear();
    hybrid_decode(in, in.read<std::uint8_t>(), count, rows_);
    if (!in.ok()) return damaged("a page is cut short");
    for (const std::uint32_t row : rows_) {
      if (row >= dictionary_.size()) return damaged("a value is not in its dictionary");
      into_.numbers.push_back(dictionary_[row]);
    }
    return {};
  }

  const ChunkPlace& place_;
  const Leaf& leaf_;
  const std::string& where_;
  std::uint64_t& budget_;
  Column& into_;
  std::vector<std::uint64_t> dictionary_;
  std::vector<std::uint32_t> repeated_, defined_, rows_;
};

}  // namespace

Result<> read_pages(std::string_view bytes, const ChunkPlace& place, const Leaf& leaf, std::uint64_t rows,
                    const std::string& where, std::uint64_t& budget, Column& into) {
  return PageReader(place, leaf, where, budget, into).read(bytes, rows);
}

}  // namespace fathom::parquet
