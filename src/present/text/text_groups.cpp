#include "present/text/text_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "analysis/core/prose_name.h"
#include "analysis/core/rounding.h"
#include "analysis/core/words.h"
#include "present/text/text_table.h"

namespace fathom::present {

std::string groups_text(const analysis::Report& report, const TextOptions& options) {
  const analysis::StackGroups& groups = *report.groups;
  const analysis::CallTree& tree = report.tree;
  const bool by_self = groups.sort == analysis::SortBy::kSelf;
  const bool of_lines = groups.by == analysis::GroupBy::kLine;
  const bool has_total = groups.by != analysis::GroupBy::kThread && groups.by != analysis::GroupBy::kProcess;
  const auto wide_enough = [&](const analysis::GroupRow& row) {
    return static_cast<double>(by_self ? row.self : row.total) >=
           options.least_share * static_cast<double>(tree.total);
  };
  auto rows = static_cast<std::size_t>(std::count_if(groups.rows.begin(), groups.rows.end(), wide_enough));
  if (options.top != 0) rows = std::min(rows, options.top);
  std::string cut;
  if (rows < groups.rows.size())
    cut =
        fmt::format(", {} of {}", rows, analysis::with_commas(static_cast<std::int64_t>(groups.rows.size())));
  constexpr std::array<std::string_view, 7> kTitles = {
      "Modules", "Crates and namespaces", "Threads", "Processes", "Files", "Lines", "Subsystems"};
  const std::string title = fmt::format(
      "{} by {}{} (% of {}, ± is the 95 % sampling error)", kTitles[static_cast<std::size_t>(groups.by)],
      by_self ? "self" : "total", cut, analysis::amount_of(tree, tree.total));
  std::string out = options.color ? "\n\x1b[1m" + title + "\x1b[0m\n" : "\n" + title + "\n";
  std::vector<TextTable::Column> columns{{"self %", Align::kRight}, {"±", Align::kRight}};
  if (has_total) columns.insert(columns.end(), {{"total %", Align::kRight}, {"±", Align::kRight}});
  if (of_lines) columns.push_back({"line"});
  columns.push_back({of_lines ? "function" : std::string(to_string(groups.by)), Align::kLeft, true});
  TextTable table(std::move(columns));
  const auto share = [&](std::vector<std::string>& cells, std::int64_t value) {
    const double error = analysis::share_interval(tree, value).half_width();
    cells.push_back(value == 0 ? "" : analysis::percent_with_error(analysis::share(tree, value), error));
    cells.push_back(value == 0 || tree.effective_samples >= analysis::kExact
                        ? ""
                        : "±" + analysis::percent_number(error));
  };
  for (std::size_t i = 0; i < rows; ++i) {
    const analysis::GroupRow& row = groups.rows[i];
    std::vector<std::string> cells;
    share(cells, row.self);
    if (has_total) share(cells, row.total);
    constexpr std::size_t kMostPlace = 40;
    const bool narrow = table_width(options) != 0;
    const std::string name = analysis::printable(row.name);
    if (of_lines) {
      cells.push_back(narrow ? keep_tail(name, kMostPlace) : name);
      cells.push_back(narrow ? analysis::prose_name(row.function) : analysis::printable(row.function));
    } else {
      cells.push_back(name);
    }
    table.add(std::move(cells), analysis::is_noise(tree, by_self ? row.self : row.total));
  }
  return out + table.text(table_width(options), options.color);
}

}  // namespace fathom::present
