#include "present/text/text_call_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/core/words.h"
#include "base/stable_sort.h"
#include "present/text/heading.h"
#include "present/text/path_text.h"
#include "present/text/rows_shown.h"
#include "present/text/text_table.h"

namespace fathom::present {
namespace {

using analysis::CallsFromCaller;
using analysis::CallsOfFunction;
using analysis::CallSums;
using analysis::CallTable;

std::string number(std::uint64_t value) {
  return analysis::with_commas(static_cast<std::int64_t>(std::min<std::uint64_t>(value, INT64_MAX)));
}
std::string time(std::uint64_t ns) {
  return analysis::seconds(static_cast<double>(ns) * 1e-9);
}

bool has_sizes(const CallTable& table) {
  return std::ranges::any_of(table.functions, [](const auto& function) { return function.sums.sized != 0; });
}

std::vector<TextTable::Column> columns(std::string name, bool sizes) {
  std::vector<TextTable::Column> all;
  for (const char* head : {"calls", "total", "mean", "longest"}) all.push_back({head, Align::kRight});
  if (sizes)
    for (const char* head : {"bytes", "each"}) all.push_back({head, Align::kRight});
  all.push_back({std::move(name), Align::kLeft, true});
  return all;
}

std::vector<std::string> cells(const CallSums& sums, std::string name, bool sizes) {
  const bool timed = sums.returned != 0;
  std::vector<std::string> row = {number(sums.calls), timed ? time(sums.total_ns) : "-",
                                  timed ? time(sums.total_ns / sums.returned) : "-",
                                  timed ? time(sums.longest_ns) : "-"};
  if (sizes) {
    const bool sized = sums.sized != 0;
    row.push_back(sized ? analysis::bytes(static_cast<double>(sums.bytes)) : "-");
    row.push_back(sized ? analysis::bytes(static_cast<double>(sums.bytes) / static_cast<double>(sums.sized))
                        : "-");
  }
  row.push_back(std::move(name));
  return row;
}

// A row for each path: a caller alone does not show what the calls were for.
std::string callers_text(const CallsOfFunction& function, bool sizes, const TextOptions& options) {
  struct Row {
    const CallSums* sums;
    const std::vector<std::string>* path;
  };
  std::vector<Row> rows;
  for (const CallsFromCaller& caller : function.callers)
    for (const auto& path : caller.paths) rows.push_back({&path.sums, &path.path});
  stable_sort_rows(rows, [](const Row& a, const Row& b) {
    return std::pair(a.sums->total_ns, a.sums->calls) > std::pair(b.sums->total_ns, b.sums->calls);
  });
  const std::size_t shown = rows_shown(rows.size(), options);
  TextTable table(columns("called by", sizes));
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [sums, path] = rows[i];
    std::string name = path_text(*path);
    if (path->empty())
      name = sums->counted_only == sums->calls ? "(not walked: beyond --probe-limit)" : "(not known)";
    table.add(cells(*sums, std::move(name), sizes));
  }
  if (rows.empty()) return "";
  return heading("Calls of " + analysis::printable(function.name), options) +
         table.text(options.cut_names ? options.width : 0, options.color) +
         more_rows(rows.size(), shown, "paths");
}

std::string remarks(const CallTable& table, const TextOptions& options) {
  std::string text;
  const auto say = [&](const std::string& sentence) {
    text += fill("", analysis::printable(sentence), options.width, 2);
  };
  for (const CallsOfFunction& function : table.functions) {
    if (function.sums.counted_only != 0)
      say(fmt::format("{}: {} of {} calls were only counted, because they came faster than --probe-limit.",
                      function.name, number(function.sums.counted_only), number(function.sums.calls)));
    if (const auto left = function.not_returned(); left && *left != 0)
      say(fmt::format(
          "{}: the return of {} was not reported: they were still running at the end, or ended by an exception, by longjmp or with their thread.",
          function.name, *left == 1 ? "1 call" : number(*left) + " calls"));
  }
  for (const std::string& note : table.notes) say("Note: " + note + ".");
  if (table.breakpoints && *table.breakpoints != 0 && table.own_ns)
    say(fmt::format(
        "Cost: the program stopped at {} breakpoints. Reading them took {}, which is not part of the times above; the kernel's own time per breakpoint is.",
        number(*table.breakpoints), time(*table.own_ns)));
  return text.empty() ? text : "\n" + text;
}

}  // namespace

std::string call_table_text(const CallTable& table, const TextOptions& options) {
  if (table.functions.empty()) return "The probed functions were not called.\n" + remarks(table, options);
  const bool sizes = has_sizes(table);
  TextTable functions(columns("function", sizes));
  for (const CallsOfFunction& function : table.functions)
    functions.add(cells(function.sums, analysis::printable(function.name), sizes));
  std::string text = options.color ? "\x1b[1mCalls\x1b[0m\n" : "Calls\n";
  text += functions.text(options.cut_names ? options.width : 0, options.color);
  for (const CallsOfFunction& function : table.functions) text += callers_text(function, sizes, options);
  return text + remarks(table, options);
}

}  // namespace fathom::present
