#include "formats/parquet/reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/parquet/footer.h"
#include "formats/parquet/pages.h"

namespace fathom::parquet {
namespace {

// Of one column. A few packed bytes may become any number of them, and groups may share pages.
constexpr std::uint64_t kMostUnpacked = std::uint64_t{1} << 30;

bool fits(const Leaf& leaf, const ColumnInfo& wanted) {
  const KindFacts facts = facts_of(wanted.kind);
  // Any times but microseconds would be taken for others; what a number is otherwise called changes nothing.
  const bool unit = wanted.kind != ColumnKind::kTimestamp || leaf.converted == facts.converted;
  return leaf.type == facts.type && unit && leaf.most_repeated == (wanted.is_list ? 1U : 0U);
}

}  // namespace

Result<Table> read_parquet(std::string_view file, const std::string& name,
                           std::span<const ColumnInfo> wanted) {
  const auto footer = read_footer(file, name);
  if (!footer) return tl::unexpected<Error>(footer.error());
  Table table;
  for (const RowGroup& group : footer->groups) table.rows += std::min(group.rows, kMostValues + 1);
  for (const ColumnInfo& info : wanted) {
    const std::string where = fmt::format("{}: column {}", name, info.name);
    const auto leaf = std::ranges::find_if(
        footer->leaves, [&](const Leaf& one) { return !one.path.empty() && one.path[0] == info.name; });
    if (leaf == footer->leaves.end() && info.may_miss && table.rows <= kMostValues) {
      Column& column = table.columns.emplace_back();
      column.info = info;
      column.numbers.assign(table.rows, 0);
      if (info.kind == ColumnKind::kText) column.texts = {""};
      continue;
    }
    if (leaf == footer->leaves.end()) return fail(ErrorKind::kMalformed, where + " is missing");
    if (!fits(*leaf, info)) return fail(ErrorKind::kMalformed, where + " has another type");
    const auto at = static_cast<std::size_t>(leaf - footer->leaves.begin());
    std::uint64_t values = 0;
    for (const RowGroup& group : footer->groups) values += std::min(group.chunks[at].values, kMostValues + 1);
    if (values > kMostValues || table.rows > kMostValues)
      return fail(ErrorKind::kUnsupported, where + " has more than 16,777,216 values",
                  "several smaller files");
    Column& column = table.columns.emplace_back();
    column.info = info;
    std::uint64_t budget = kMostUnpacked;
    for (const RowGroup& group : footer->groups) {
      const ChunkPlace& place = group.chunks[at];
      if (auto read = read_pages(file.substr(place.first_byte, place.byte_count), place, *leaf, group.rows,
                                 where, budget, column);
          !read)
        return tl::unexpected<Error>(read.error());
    }
  }
  return table;
}

}  // namespace fathom::parquet
