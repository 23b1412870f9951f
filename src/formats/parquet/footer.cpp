#include "formats/parquet/footer.h"

#include <algorithm>
#include <span>

#include "formats/parquet/compact.h"
#include "formats/parquet/table.h"

namespace fathom::parquet {
namespace {

constexpr std::size_t kTail = 8;  // length of the footer, and the magic
constexpr unsigned kMostLevels = 8;

struct SchemaElement {
  std::string_view name;
  std::int32_t type = -1, converted = -1, repetition = kRequired;
  std::int64_t children = 0;
};

SchemaElement read_element(Cursor& in) {
  SchemaElement element;
  CompactFields fields(in);
  while (fields.next()) switch (fields.id()) {
      case 1:
        element.type = static_cast<std::int32_t>(fields.number());
        break;
      case 3:
        element.repetition = static_cast<std::int32_t>(fields.number());
        break;
      case 4:
        element.name = fields.text();
        break;
      case 5:
        element.children = fields.number();
        break;
      case 6:
        element.converted = static_cast<std::int32_t>(fields.number());
        break;
    }
  return element;
}

// The tree stands depth first. False: it does not end where its numbers say.
bool add_leaves(const std::vector<SchemaElement>& elements, std::size_t& at, Leaf above,
                std::vector<Leaf>& leaves) {
  if (at >= elements.size() || above.path.size() > kMostLevels) return false;
  const SchemaElement& element = elements[at++];
  above.path.push_back(element.name);
  if (element.repetition != kRequired) ++above.most_defined;
  if (element.repetition == kRepeated) ++above.most_repeated;
  if (element.children <= 0) {
    above.type = element.type;
    above.converted = element.converted;
    leaves.push_back(std::move(above));
    return true;
  }
  for (std::int64_t i = 0; i < element.children; ++i)
    if (!add_leaves(elements, at, above, leaves)) return false;
  return true;
}

ChunkPlace read_metadata(Cursor& in) {
  ChunkPlace place;
  std::uint64_t data = 0, dictionary = 0;
  CompactFields fields(in);
  while (fields.next()) switch (fields.id()) {
      case 4:
        place.codec = static_cast<std::int32_t>(fields.number());
        break;
      case 5:
        place.values = static_cast<std::uint64_t>(fields.number());
        break;
      case 7:
        place.byte_count = static_cast<std::uint64_t>(fields.number());
        break;
      case 9:
        data = static_cast<std::uint64_t>(fields.number());
        break;
      case 11:
        dictionary = static_cast<std::uint64_t>(fields.number());
        break;
    }
  // Some writers give 0 for a dictionary that is not there.
  place.first_byte = dictionary != 0 ? std::min(dictionary, data) : data;
  return place;
}

ChunkPlace read_chunk(Cursor& in) {
  ChunkPlace place;
  CompactFields fields(in);
  while (fields.next())
    if (fields.id() == 3) {
      fields.enter();
      place = read_metadata(in);
    }
  return place;
}

RowGroup read_group(Cursor& in) {
  RowGroup group;
  CompactFields fields(in);
  while (fields.next())
    if (fields.id() == 1) {
      for (std::uint64_t count = fields.structures(); count != 0 && in.ok(); --count)
        group.chunks.push_back(read_chunk(in));
    } else if (fields.id() == 3) {
      group.rows = static_cast<std::uint64_t>(fields.number());
    }
  return group;
}

}  // namespace

Result<Footer> read_footer(std::string_view file, const std::string& name) {
  const auto damaged = [&name](std::string_view what) {
    return fail(ErrorKind::kMalformed, name + ": " + std::string(what));
  };
  if (file.size() < kMagic.size() + kTail || !file.starts_with(kMagic) || !file.ends_with(kMagic))
    return damaged("not a Parquet file, or cut short");
  Cursor tail(std::as_bytes(std::span(file.substr(file.size() - kTail))));
  const auto length = tail.read<std::uint32_t>();
  if (length > file.size() - kTail - kMagic.size()) return damaged("the footer is longer than the file");
  Cursor in(std::as_bytes(std::span(file.substr(file.size() - kTail - length, length))));
  Footer footer;
  std::vector<SchemaElement> elements;
  CompactFields fields(in);
  while (fields.next())
    if (fields.id() == 2) {
      for (std::uint64_t count = fields.structures(); count != 0 && in.ok(); --count)
        elements.push_back(read_element(in));
    } else if (fields.id() == 4) {
      for (std::uint64_t count = fields.structures(); count != 0 && in.ok(); --count)
        footer.groups.push_back(read_group(in));
    }
  if (!in.ok() || elements.empty()) return damaged("the footer is damaged");
  // The first element is the table itself.
  std::size_t at = 1;
  for (std::int64_t i = 0; i < elements[0].children; ++i)
    if (!add_leaves(elements, at, {}, footer.leaves)) return damaged("the list of columns is damaged");
  for (const RowGroup& group : footer.groups) {
    if (group.chunks.size() != footer.leaves.size()) return damaged("a row group lacks columns");
    for (const ChunkPlace& place : group.chunks)
      if (place.first_byte > file.size() || place.byte_count > file.size() - place.first_byte)
        return damaged("a column lies outside of the file");
  }
  return footer;
}

}  // namespace fathom::parquet
