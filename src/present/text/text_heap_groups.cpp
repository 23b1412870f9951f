#include "present/text/text_heap_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "analysis/core/rounding.h"
#include "analysis/core/words.h"
#include "present/text/rows_shown.h"
#include "present/text/text_estimates.h"
#include "present/text/text_table.h"

namespace fathom::present {
namespace {

using analysis::HeapGroupRow;
using analysis::HeapGroups;
using analysis::percent_number;
using analysis::printable;

constexpr std::size_t kFrameWidth = 40;  // of a function in a stack
constexpr std::size_t kNumbers = 56;     // columns before it, and " < 10 more" behind
constexpr std::size_t kRoomy = 132;      // columns of a terminal

std::string whole_text(const HeapGroups& groups) {
  const double error = groups.sampled ? groups.total.error() : 0;
  return groups.blocks ? analysis::count_with_error(groups.whole, error)
                       : analysis::bytes_with_error(groups.whole, error);
}

std::string heading_of(const HeapGroups& groups, const TextOptions& options, std::size_t shown) {
  std::string cut;
  if (shown < groups.rows.size()) cut = fmt::format(", {} of {}", shown, groups.rows.size());
  const std::string text = fmt::format("{} ({}) by {}{} (% of {}{}{})", model::info_of(groups.metric).title,
                                       model::to_string(groups.metric), to_string(groups.by), cut,
                                       whole_text(groups), groups.blocks ? " blocks" : "",
                                       groups.metric == model::Metric::kHeapGrowth ? " that grew" : "");
  return options.color ? "\n\x1b[1m" + text + "\x1b[0m\n" : "\n" + text + "\n";
}

// Of a stack as many functions from the leaf on as the line has room for.
std::string name_of(const HeapGroupRow& row, const TextOptions& options) {
  if (row.stack.empty()) return printable(row.name);
  const std::size_t room = options.width == 0
                               ? SIZE_MAX
                               : std::max(kFrameWidth, options.width - std::min(options.width, kNumbers));
  std::string text;
  for (std::size_t i = 0; i < row.stack.size(); ++i) {
    std::string name = printable(row.stack[i]);
    if (options.width != 0) name = shorten_name(name, kFrameWidth);
    if (i != 0) name = " < " + name;
    if (i != 0 && display_width(text) + display_width(name) > room)
      return text + fmt::format(" < {} more", row.stack.size() - i);
    text += name;
  }
  return text;
}

}  // namespace

std::string heap_groups_text(const HeapGroups& groups, const TextOptions& options) {
  const std::size_t shown = rows_shown(groups.rows.size(), options);
  std::string out = heading_of(groups, options, shown);
  if (groups.rows.empty()) return out + "  nothing\n";
  const bool of_stacks = groups.by == analysis::HeapGrouping::kStack;
  const bool of_functions = groups.by == analysis::HeapGrouping::kFunction;
  // Names need their room: a narrow terminal has fewer columns.
  const bool roomy = options.width == 0 || options.width >= kRoomy;
  const bool both = roomy || groups.sampled;  // kinds of temporary; one is always there
  std::vector<TextTable::Column> columns{{"flat", Align::kRight}};
  if (groups.sampled) columns.push_back({"±", Align::kRight});
  columns.push_back({"%", Align::kRight});
  if (roomy) columns.push_back({"sum %", Align::kRight});
  if (groups.has_cumulative)
    columns.insert(columns.end(), {{"cum", Align::kRight}, {"cum %", Align::kRight}});
  columns.insert(columns.end(), {{"calls/s", Align::kRight}, {"bytes/s", Align::kRight}});
  if (!groups.sampled) columns.push_back({"temp %", Align::kRight});
  if (both) columns.push_back({"<1ms %", Align::kRight});
  // Stacks bring their own measure.
  columns.push_back({std::string(to_string(groups.by)), Align::kLeft, !of_stacks});
  if (of_functions && roomy) columns.push_back({"module"});
  TextTable table(std::move(columns));
  const auto share = [&](double value) {
    return percent_number(groups.whole > 0 ? std::max(0.0, value) / groups.whole : 0);
  };
  double sum = 0;
  bool noise = false;
  for (std::size_t i = 0; i < shown; ++i) {
    const HeapGroupRow& row = groups.rows[i];
    sum += std::max(0.0, row.flat.value);
    const analysis::HeapAmount& rank = groups.by_total ? row.cumulative : row.flat;
    const bool faint = rank.value != 0 && rank.error() > std::fabs(rank.value) / 2;
    noise = noise || faint;
    const double calls = row.allocated.blocks.value;
    const auto of_calls = [&](double part) {
      return calls > 0 ? percent_number(std::min(1.0, part / calls)) : "";
    };
    const auto rate = [&](const analysis::HeapAmount& amount, bool as_count) -> std::string {
      const double window = groups.window_s;
      if (window <= 0) return "";
      const analysis::HeapAmount of_second{amount.value / window, amount.variance / (window * window)};
      return as_count ? count_cell(of_second) : bytes_cells(of_second).value;
    };
    const EstimateCells flat = groups.blocks ? count_cells(row.flat) : bytes_cells(row.flat);
    std::vector<std::string> cells{flat.value};
    if (groups.sampled) cells.push_back(flat.error + (faint ? " ~" : "  "));
    cells.push_back(share(row.flat.value));
    if (roomy) cells.push_back(share(sum));
    if (groups.has_cumulative)
      cells.insert(cells.end(),
                   {(groups.blocks ? count_cells(row.cumulative) : bytes_cells(row.cumulative)).value,
                    share(row.cumulative.value)});
    cells.insert(cells.end(), {rate(row.allocated.blocks, true), rate(row.allocated.bytes, false)});
    if (!groups.sampled) cells.push_back(of_calls(row.temporary.blocks));
    if (both) cells.push_back(of_calls(row.short_lived.blocks));
    cells.push_back(name_of(row, options));
    if (of_functions && roomy) cells.push_back(keep_tail(printable(row.module), 28));
    table.add(std::move(cells), faint);
  }
  out += table.text(table_width(options), options.color);
  const auto note = [&](std::string_view start, std::string_view text) {
    out += fill(start, text, options.width, 4);
  };
  if (noise) note("  ~ ", "the error is more than half of the value: the order of these rows is chance");
  if (groups.estimated)
    note(
        "    ",
        "Stacks that request several sizes are divided among them in proportion to their requests over the whole recording, so these are estimates.");
  if (options.heap_by_itself)
    note(
        "    ",
        "This groups the heap, because it was recorded and no metric was given. --metric cpu groups CPU time; other heap metrics are heap-allocated, heap-temporary ...");
  if (!groups.sampled)
    note("    ", roomy ? "temp: freed by its thread before it allocated again."
                       : "temp: freed by its thread before it allocated again. --wide has more columns.");
  return out;
}

}  // namespace fathom::present
