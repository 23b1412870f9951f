#include "present/text/text_heap_blocks.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/core/words.h"
#include "present/text/text_table.h"

namespace fathom::present {
namespace {

using analysis::HeapBlockRow;
using analysis::printable;

std::string table_text(const std::string& title, const std::vector<HeapBlockRow>& rows,
                       const TextOptions& options) {
  const bool freed = std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.freed_s; });
  const bool sampled =
      std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.stands_for > 1; });
  std::vector<TextTable::Column> columns{
      {"bytes", Align::kRight}, {"age", Align::kRight}, {"since", Align::kRight}};
  if (freed) columns.push_back({"until", Align::kRight});
  if (sampled) columns.push_back({"for", Align::kRight});
  columns.insert(columns.end(),
                 {{"address", Align::kRight}, {"thread"}, {"function", Align::kLeft, true}, {"module"}});
  TextTable table(std::move(columns));
  for (const HeapBlockRow& row : rows) {
    std::vector<std::string> cells{
        analysis::with_commas(static_cast<std::int64_t>(std::min<std::uint64_t>(row.size, INT64_MAX))),
        analysis::seconds(row.age_s), fmt::format("{:.3f}", row.allocated_s)};
    if (freed) cells.push_back(row.freed_s ? fmt::format("{:.3f}", *row.freed_s) : "");
    if (sampled) cells.push_back(fmt::format("{:.3g}", row.stands_for));
    cells.insert(cells.end(), {fmt::format("{:#x}", row.address), keep_tail(printable(row.thread), 15),
                               printable(row.function), keep_tail(printable(row.module), 28)});
    table.add(std::move(cells));
  }
  const std::string heading = options.color ? "\n\x1b[1m" + title + "\x1b[0m\n" : "\n" + title + "\n";
  return heading + table.text(table_width(options), options.color);
}

}  // namespace

std::string heap_blocks_text(const std::vector<HeapBlockRow>& rows, const TextOptions& options) {
  if (rows.empty()) return options.color ? "\n\x1b[1mLive blocks\x1b[0m: none\n" : "\nLive blocks: none\n";
  const std::size_t most = options.top == 0 ? rows.size() : options.top;
  std::vector<HeapBlockRow> largest(rows.begin(),
                                    rows.begin() + static_cast<std::ptrdiff_t>(std::min(most, rows.size())));
  return table_text("Live blocks, the largest first (times in seconds from the start)", largest, options) +
         table_text("Live blocks, the oldest first", analysis::oldest_first(rows, most), options);
}

}  // namespace fathom::present
