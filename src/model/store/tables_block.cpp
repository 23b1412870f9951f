// TABL: rows of the append-only tables. A row usually refers to rows near it or to the newest one of another
// table, because capture creates frames and stacks as it meets them; so most fields are differences, and most
// differences are 0.
#include <fmt/format.h>

#include <algorithm>

#include "model/store/column.h"
#include "model/store/differences.h"
#include "model/store/payload.h"
#include "model/store/row_coder.h"
#include "model/store/row_heads.h"

namespace fathom::store {
namespace {

using namespace model;

enum Section : unsigned {
  kStrings = 1,
  kFunctions = 2,
  kLines = 3,
  kFrames = 4,
  kStacks = 5,
  kLateNames = 6,
  kObjects = 7,
};

// Approximate memory of a row; for a string, including its slot in the hash table.
constexpr std::uint64_t kStringCost = 96;

// Collects the columns of one section.
template <std::size_t kColumns>
struct Columns {
  std::array<std::vector<std::uint64_t>, kColumns> values;
  void put(Bytes& out) const {
    for (const auto& column : values) put_column(out, column);
  }
};

Bytes begin_section(std::uint32_t first, std::uint32_t end) {
  Bytes body;
  put_row_range(body, first, end);
  return body;
}

// The header before a section's columns, checked against the existing rows and charged.
Result<RowRange> next_rows(Cursor& in, std::size_t there, std::uint64_t row_cost, Loading& loading) {
  const auto range = read_row_range(in, "rows");
  if (!range) return range;
  if (auto continues = check_continues(*range, there, "rows", loading); !continues)
    return tl::make_unexpected(continues.error());
  const std::uint64_t added = std::uint64_t{range->first} + range->count - there;
  if (auto charged = loading.charge(added * row_cost); !charged) return tl::make_unexpected(charged.error());
  if (auto enough = loading.work(added); !enough) return tl::make_unexpected(enough.error());
  return range;
}

tl::unexpected<Error> cut_short(std::string_view table) {
  return fail(ErrorKind::kMalformed, fmt::format("rows of {} are cut short", table));
}

// --- strings: lengths, then all bytes ---
Bytes encode_strings(const StringTable& strings, std::uint32_t first, std::uint32_t end) {
  Bytes body = begin_section(first, end);
  std::vector<std::uint64_t> lengths;
  for (std::uint32_t i = first; i < end; ++i) lengths.push_back(strings[{i}].size());
  put_column(body, lengths);
  for (std::uint32_t i = first; i < end; ++i) {
    const auto bytes = std::as_bytes(std::span(strings[{i}]));
    body.insert(body.end(), bytes.begin(), bytes.end());
  }
  return body;
}

Result<> decode_strings(Cursor& in, Loading& loading) {
  StringTable& strings = loading.profile.strings;
  auto rows = next_rows(in, strings.size(), kStringCost, loading);
  if (!rows) return tl::make_unexpected(rows.error());
  while (strings.size() < rows->first) {
    const std::size_t there = strings.size();
    strings.intern(fmt::format("[lost text {}]", there));
    if (strings.size() == there) return fail(ErrorKind::kMalformed, "a lost text exists");
  }
  ColumnReader lengths(in, rows->count);
  if (auto charged = loading.charge(in.remaining()); !charged) return charged;
  strings.reserve(rows->first + rows->count);
  for (std::uint32_t i = 0; i < rows->count; ++i) {
    const std::string_view text = in.read_chars(lengths.next());
    if (!in.ok() || !lengths.ok()) return cut_short("strings");
    if (strings.intern(text).value != rows->first + i)
      return fail(ErrorKind::kMalformed, fmt::format("string {} exists twice", rows->first + i));
  }
  return {};
}

// --- functions and objects: their columns are those of model/fields ---
template <class Row>
Bytes encode_rows(const std::vector<Row>& table, std::uint32_t first, std::uint32_t end) {
  Bytes body = begin_section(first, end);
  put_row_columns(body, std::span(table).subspan(first, end - first));
  return body;
}

template <class Row>
Result<> decode_rows(Cursor& in, std::string_view what, std::vector<Row>& table, const Row& lost,
                     Loading& loading) {
  const auto range = read_row_range(in, what);
  if (!range) return tl::make_unexpected(range.error());
  if (auto continues = check_continues(*range, table.size(), what, loading); !continues) return continues;
  const std::size_t missing = range->first - table.size();
  if (auto charged = loading.charge(missing * sizeof(Row)); !charged) return charged;
  if (auto enough = loading.work(missing); !enough) return enough;
  table.resize(range->first, lost);
  return read_row_columns<Row>(in, range->count, what, loading,
                               [&](const Row& row) { table.push_back(row); });
}

// --- lines ---
Bytes encode_lines(const Profile& profile, std::uint32_t first, std::uint32_t end,
                   std::uint32_t new_functions) {
  Columns<3> columns;
  Differences files;
  Newest functions(new_functions);
  Bytes body = begin_section(first, end);
  put_varint(body, new_functions);
  for (std::uint32_t i = first; i < end; ++i) {
    columns.values[0].push_back(functions.encode(profile.lines[i].function.value));
    columns.values[1].push_back(files.encode(profile.lines[i].file.value));
    columns.values[2].push_back(profile.lines[i].line);
  }
  columns.put(body);
  return body;
}

Result<> decode_lines(Cursor& in, Loading& loading) {
  auto& table = loading.profile.lines;
  auto rows = next_rows(in, table.size(), sizeof(Line), loading);
  if (!rows) return tl::make_unexpected(rows.error());
  table.resize(rows->first, Line{{kLostRow}, {kLostRow}, 0});
  Newest newest(row_id(in.read_uleb128()));
  ColumnReader functions(in, rows->count), files(in, rows->count), numbers(in, rows->count);
  Differences differences;
  for (std::uint32_t i = 0; i < rows->count; ++i)
    table.push_back({{row_id(newest.decode(functions.next()))},
                     {row_id(differences.decode(files.next()))},
                     static_cast<std::uint32_t>(numbers.next())});
  return functions.ok() && files.ok() && numbers.ok() ? Result<>() : cut_short("lines");
}

// --- frames ---
Bytes encode_frames(const Profile& profile, std::uint32_t first, std::uint32_t end) {
  Columns<4> columns;
  Addresses addresses;
  LineRanges ranges;
  for (std::uint32_t i = first; i < end; ++i) {
    const Frame& row = profile.frames[i];
    columns.values[0].push_back(row.module.value);
    columns.values[1].push_back(addresses.of(row.module.value).encode(row.address.value));
    columns.values[2].push_back(row.line_count);
    columns.values[3].push_back(ranges.encode(row.first_line, row.line_count));
  }
  Bytes body = begin_section(first, end);
  columns.put(body);
  return body;
}

Result<> decode_frames(Cursor& in, Loading& loading) {
  auto& table = loading.profile.frames;
  auto rows = next_rows(in, table.size(), sizeof(Frame), loading);
  if (!rows) return tl::make_unexpected(rows.error());
  table.resize(rows->first, Frame{{kLostRow}, {0}, 0, 0});
  ColumnReader modules(in, rows->count), addresses(in, rows->count), counts(in, rows->count),
      firsts(in, rows->count);
  Addresses differences;
  LineRanges ranges;
  for (std::uint32_t i = 0; i < rows->count; ++i) {
    Frame row;
    row.module = {row_id(modules.next())};
    row.address = {differences.of(row.module.value).decode(addresses.next())};
    row.line_count = row_id(counts.next());
    if (row.line_count > kMostLines) return fail(ErrorKind::kMalformed, "a frame of too many lines");
    if (auto enough = loading.work(row.line_count); !enough) return enough;
    row.first_line = ranges.decode(firsts.next(), row.line_count);
    table.push_back(row);
  }
  return modules.ok() && addresses.ok() && counts.ok() && firsts.ok() ? Result<>() : cut_short("frames");
}

// --- stacks: a row's parent is usually the previous row, its frame usually new ---
Bytes encode_stacks(const Profile& profile, std::uint32_t first, std::uint32_t end,
                    std::uint32_t new_frames) {
  Columns<2> columns;
  Newest frames(new_frames);
  for (std::uint32_t i = first; i < end; ++i) {
    columns.values[0].push_back(i - 1 - profile.stacks[i].parent.value);
    columns.values[1].push_back(frames.encode(profile.stacks[i].frame.value));
  }
  Bytes body = begin_section(first, end);
  put_varint(body, new_frames);
  columns.put(body);
  return body;
}

Result<> decode_stacks(Cursor& in, Loading& loading) {
  auto& table = loading.profile.stacks;
  auto rows = next_rows(in, table.size(), sizeof(Stack), loading);
  if (!rows) return tl::make_unexpected(rows.error());
  table.resize(rows->first, Stack{{0}, {kLostRow}});
  std::vector<std::uint16_t>& depths = loading.depths;
  depths.resize(rows->first);
  Newest newest(row_id(in.read_uleb128()));
  ColumnReader parents(in, rows->count), frames(in, rows->count);
  for (std::uint32_t i = 0; i < rows->count; ++i) {
    const std::uint64_t up = parents.next();
    const std::uint32_t row = rows->first + i;
    const std::uint32_t depth = up < row ? depths[row - 1 - up] + 1u : 1u;
    if (depth > kMostFrames) return fail(ErrorKind::kMalformed, "a stack of too many frames");
    depths.push_back(static_cast<std::uint16_t>(depth));
    table.push_back({{up < row ? static_cast<std::uint32_t>(row - 1 - up) : kLostRow},
                     {row_id(newest.decode(frames.next()))}});
  }
  return parents.ok() && frames.ok() ? Result<>() : cut_short("stacks");
}

// --- late names: lines of frames that were written without any ---
Bytes encode_late_names(const Profile& profile, std::span<const std::uint32_t> named) {
  Columns<3> columns;
  Differences ids;
  LineRanges ranges;
  for (const std::uint32_t id : named) {
    const Frame& frame = profile.frames[id];
    columns.values[0].push_back(ids.encode(id));
    columns.values[1].push_back(frame.line_count);
    columns.values[2].push_back(ranges.encode(frame.first_line, frame.line_count));
  }
  Bytes body;
  put_varint(body, named.size());
  columns.put(body);
  return body;
}

Result<> decode_late_names(Cursor& in, Loading& loading) {
  const std::uint64_t count = in.read_uleb128();
  if (!in.ok() || count > kMaxRows) return cut_short("late names");
  if (auto enough = loading.work(count); !enough) return enough;
  ColumnReader ids(in, count), counts(in, count), firsts(in, count);
  Differences differences;
  LineRanges ranges;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t id = differences.decode(ids.next());
    const std::uint32_t lines = row_id(counts.next());
    if (lines > kMostLines) return fail(ErrorKind::kMalformed, "a frame of too many lines");
    const std::uint32_t first = ranges.decode(firsts.next(), lines);
    if (!ids.ok() || !counts.ok() || !firsts.ok()) return cut_short("late names");
    if (id >= loading.profile.frames.size()) {
      if (loading.damaged) continue;
      return fail(ErrorKind::kMalformed, fmt::format("lines for frame {}, which is not there", id));
    }
    loading.profile.frames[id].first_line = first;
    loading.profile.frames[id].line_count = lines;
  }
  return {};
}

}  // namespace

TableSizes sizes_of(const Profile& profile) {
  return {static_cast<std::uint32_t>(profile.strings.size()),
          static_cast<std::uint32_t>(profile.functions.size()),
          static_cast<std::uint32_t>(profile.lines.size()),
          static_cast<std::uint32_t>(profile.frames.size()),
          static_cast<std::uint32_t>(profile.stacks.size()),
          static_cast<std::uint32_t>(profile.objects.size())};
}

Result<TableSizes> next_slice(const Profile& profile, const TableSizes& from, const TableSizes& end) {
  // A row of the other tables takes at most 4 varints, 30 bytes: kMaxRows of each table are less than 8 MiB.
  constexpr std::size_t kStringBytes = kMaxPayload / 2;
  TableSizes to = end;
  to.functions = std::min(end.functions, from.functions + kMaxRows);
  to.lines = std::min(end.lines, from.lines + kMaxRows);
  to.frames = std::min(end.frames, from.frames + kMaxRows);
  to.stacks = std::min(end.stacks, from.stacks + kMaxRows);
  to.objects = std::min(end.objects, from.objects + kMaxRows);
  std::size_t bytes = 0;
  for (to.strings = from.strings; to.strings < end.strings && to.strings - from.strings < kMaxRows;
       ++to.strings) {
    const std::size_t size = profile.strings[{to.strings}].size() + 5;
    if (size > kStringBytes)
      return fail(ErrorKind::kUnsupported,
                  fmt::format("string {} has {} bytes: too long for a recording", to.strings, size));
    if (bytes + size > kStringBytes) break;
    bytes += size;
  }
  return to;
}

Bytes encode_tables(const Profile& profile, const TableSizes& from, const TableSizes& to,
                    std::span<const std::uint32_t> named) {
  Bytes out;
  if (to.strings > from.strings)
    put_section(out, kStrings, encode_strings(profile.strings, from.strings, to.strings));
  if (to.functions > from.functions)
    put_section(out, kFunctions, encode_rows(profile.functions, from.functions, to.functions));
  if (to.lines > from.lines)
    put_section(out, kLines, encode_lines(profile, from.lines, to.lines, from.functions));
  if (to.frames > from.frames) put_section(out, kFrames, encode_frames(profile, from.frames, to.frames));
  if (to.stacks > from.stacks)
    put_section(out, kStacks, encode_stacks(profile, from.stacks, to.stacks, from.frames));
  if (to.objects > from.objects)
    put_section(out, kObjects, encode_rows(profile.objects, from.objects, to.objects));
  if (!named.empty()) put_section(out, kLateNames, encode_late_names(profile, named));
  return out;
}

Result<> decode_tables(Cursor in, Loading& loading) {
  while (!in.at_end()) {
    const std::uint64_t number = in.read_uleb128();
    Cursor body = in.sub(in.read_uleb128());
    if (!in.ok()) return fail(ErrorKind::kMalformed, "a section is cut short");
    Result<> decoded;
    switch (number) {
      case kStrings:
        decoded = decode_strings(body, loading);
        break;
      case kFunctions:
        decoded = decode_rows(body, "functions", loading.profile.functions, Function{{kLostRow}, {kLostRow}},
                              loading);
        break;
      case kLines:
        decoded = decode_lines(body, loading);
        break;
      case kFrames:
        decoded = decode_frames(body, loading);
        break;
      case kStacks:
        decoded = decode_stacks(body, loading);
        break;
      case kLateNames:
        decoded = decode_late_names(body, loading);
        break;
      case kObjects:
        decoded = decode_rows(body, "objects", loading.profile.objects, WaitObject{}, loading);
        break;
      default:
        break;  // from a newer minor version
    }
    if (!decoded) return decoded;
  }
  return in.ok() ? Result<>() : Result<>(fail(ErrorKind::kMalformed, "a section is cut short"));
}

}  // namespace fathom::store
