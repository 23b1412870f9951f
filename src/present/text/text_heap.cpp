#include "present/text/text_heap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/core/words.h"
#include "present/sentences/heap_sentences.h"
#include "present/text/heading.h"
#include "present/text/rows_shown.h"
#include "present/text/text_estimates.h"
#include "present/text/text_table.h"

namespace fathom::present {
namespace {

using analysis::bytes;
using analysis::percent;
using analysis::printable;
using analysis::with_commas;

std::string whole_number(double value) {
  return with_commas(std::llround(std::min(value, 9e15)));
}
std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + printable(text);
  return all;
}

std::string path_of(const std::vector<std::string>& path) {
  std::string all;
  for (const std::string& name : path) all += (all.empty() ? "" : " < ") + printable(name);
  return all;
}

// Of blocks of one size nearly: each is sampled with the same probability. `mean_bytes`: of the sampling, 0 for none.
analysis::HeapAmount sampled_blocks(const model::HeapSum& sum, double mean_bytes) {
  if (mean_bytes <= 0 || sum.blocks <= 0) return {sum.blocks, 0};
  const double probability = -std::expm1(-sum.bytes / sum.blocks / mean_bytes);
  return {sum.blocks, probability > 0 ? sum.blocks * (1 - probability) / probability : 0};
}

std::string histogram_text(const std::string& title, const std::vector<analysis::HeapBucketRow>& rows,
                           std::string (*name)(double), double mean_bytes, const TextOptions& options) {
  if (rows.empty()) return "";
  double most = 0, blocks = 0;
  for (const analysis::HeapBucketRow& row : rows) {
    most = std::max(most, row.sum.blocks);
    blocks += row.sum.blocks;
  }
  TextTable table({{"from", Align::kRight},
                   {"blocks", Align::kRight},
                   {"%", Align::kRight},
                   {"bytes", Align::kRight},
                   {""}});
  for (const analysis::HeapBucketRow& row : rows) {
    const auto length = static_cast<std::size_t>(most > 0 ? std::ceil(row.sum.blocks / most * 24) : 0);
    const analysis::HeapAmount counted = sampled_blocks(row.sum, mean_bytes);
    table.add({name(row.from), count_cell(counted),
               analysis::percent_number(blocks > 0 ? row.sum.blocks / blocks : 0), bytes(row.sum.bytes),
               std::string(length, '#')});
  }
  return heading(title, options) + table.text(table_width(options), options.color);
}

}  // namespace

std::string heap_functions_text(const analysis::HeapReport& heap, const TextOptions& options) {
  if (heap.functions.empty()) return "";
  const std::size_t shown = rows_shown(heap.functions.size(), options);
  std::string cut;
  if (shown < heap.functions.size()) cut = fmt::format(", {} of {}", shown, heap.functions.size());
  std::string out = heading(std::string("Heap by requesting function, most ") +
                                (heap.live_known ? "live" : "allocated") + " first" + cut,
                            options);
  std::vector<TextTable::Column> columns;
  if (heap.live_known) columns.push_back({"live", Align::kRight});
  if (heap.live_known && heap.sampled) columns.push_back({"±", Align::kRight});
  // A heap dump is of one moment, and lives of blocks are in none.
  const bool has_peak = !heap.of_dump || heap.of_dumps;
  if (has_peak) columns.push_back({"at peak", Align::kRight});
  if (heap.allocated_known) columns.push_back({"allocated", Align::kRight});
  if (heap.allocated_known && heap.blocks_known) columns.push_back({"calls", Align::kRight});
  const bool has_lives = !heap.of_dump && heap.blocks_known;
  if (has_lives)
    columns.push_back({heap.temporary_is_short_lived ? "< 1 ms %" : "temporary %", Align::kRight});
  columns.insert(columns.end(), {{"function", Align::kLeft, true}, {"module"}});
  TextTable table(std::move(columns));
  for (std::size_t i = 0; i < shown; ++i) {
    const analysis::HeapFunctionRow& row = heap.functions[i];
    const double calls = row.allocated.blocks.value;
    const double temporary = heap.temporary_is_short_lived ? row.short_lived.blocks : row.temporary.blocks;
    const bool faint = row.live.bytes.value > 0 && row.live.bytes.error() > row.live.bytes.value / 2;
    const EstimateCells live = bytes_cells(row.live.bytes);
    std::vector<std::string> cells;
    if (heap.live_known) cells.push_back(live.value);
    if (heap.live_known && heap.sampled) cells.push_back(live.error + (faint ? " ~" : "  "));
    if (has_peak) cells.push_back(bytes_cells(row.peak.bytes).value);
    if (heap.allocated_known) cells.push_back(bytes_cells(row.allocated.bytes).value);
    if (heap.allocated_known && heap.blocks_known) cells.push_back(count_cell(row.allocated.blocks));
    if (has_lives)
      cells.push_back(calls > 0 ? analysis::percent_number(std::min(1.0, temporary / calls)) : "");
    cells.insert(cells.end(), {printable(row.name), keep_tail(printable(row.module), 28)});
    table.add(std::move(cells), faint);
  }
  out += table.text(table_width(options), options.color);
  return out;
}

std::string heap_detail_text(const analysis::HeapReport& heap, const TextOptions& options) {
  std::string out;
  if (!heap.allocators.empty()) {
    out += heading("Allocators", options);
    TextTable table({{"live", Align::kRight},
                     {"allocated", Align::kRight},
                     {"calls", Align::kRight},
                     {"allocator"},
                     {"module", Align::kLeft, true}});
    for (const analysis::HeapAllocatorRow& row : heap.allocators)
      if (row.is_unseen())
        table.add({"not seen", "not seen", "not seen", printable(row.label), printable(row.module)});
      else
        table.add({bytes_cells(row.live.bytes).value, bytes_cells(row.allocated.bytes).value,
                   count_cell(row.allocated.blocks), printable(row.label), printable(row.module)});
    out += table.text(table_width(options), options.color);
    for (const analysis::HeapAllocatorRow& row : heap.allocators) {
      std::string text;
      if (!row.by_slot.empty()) text += "; by slot: " + joined(row.by_slot);
      if (!row.by_entry.empty()) text += "; by entry: " + joined(row.by_entry);
      if (!row.by_probe.empty())
        text += "; from the program's own probes, with nothing put into it: " + joined(row.by_probe);
      if (!row.missed.empty()) text += "; not hooked: " + joined(row.missed);
      if (!text.empty()) out += fill("  ", printable(row.label) + ": " + text.substr(2), options.width, 4);
    }
  }
  if (!heap.returns.empty()) {
    out += heading("Given back to the kernel while it stays mapped (madvise)", options);
    TextTable table(
        {{"bytes", Align::kRight}, {"calls", Align::kRight}, {"by"}, {"from", Align::kLeft, true}});
    for (const analysis::HeapReturnRow& row : heap.returns)
      table.add({bytes(row.bytes), whole_number(row.calls),
                 row.allocator.empty() ? "the program" : printable(row.allocator), path_of(row.path)});
    out += table.text(table_width(options), options.color);
  }
  const double mean = heap.sampled ? static_cast<double>(heap.mean_bytes) : 0;
  out += histogram_text("Sizes, of all that was allocated", heap.sizes, &bytes, mean, options);
  out +=
      histogram_text("Lifetimes, of all that was freed", heap.lifetimes_s, &analysis::seconds, mean, options);
  out += histogram_text("Ages, of what is live at the end", heap.ages_s, &analysis::seconds, mean, options);
  return out;
}

std::string heap_quality_text(const analysis::HeapReport& heap, const TextOptions& options) {
  const model::Heap& counters = heap.counters;
  const auto number = [](std::uint64_t value) { return with_commas(static_cast<std::int64_t>(value)); };
  std::string text = number(counters.events) + " events";
  const std::string missing = text_of(heap.losses);
  text += missing.empty() ? "; 0 lost" : "; " + missing;
  if (counters.nested != 0) text += fmt::format("; {} nested calls", number(counters.nested));
  if (counters.unwalked != 0) text += fmt::format("; {} without a stack", number(counters.unwalked));
  if (counters.incomplete != 0)
    text += fmt::format("; {} with a truncated stack", number(counters.incomplete));
  if (counters.unseen_frees != 0) text += fmt::format("; {} frees missed", number(counters.unseen_frees));
  if (counters.waited_ns != 0)
    text += "; threads waited for room " + analysis::seconds(static_cast<double>(counters.waited_ns) * 1e-9);
  return fill(fmt::format("  {:<10}", "heap"), text, options.width, 12);
}

}  // namespace fathom::present
