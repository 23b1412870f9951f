#include "present/text/text_system_calls.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/core/words.h"
#include "present/text/heading.h"
#include "present/text/path_text.h"
#include "present/text/rows_shown.h"
#include "present/text/text_table.h"

namespace fathom::present {
namespace {

using analysis::SystemCallSums;

constexpr std::size_t kMostPaths = 3, kMostOfThread = 5;

std::string count_text(std::uint64_t value) {
  return analysis::with_commas(static_cast<std::int64_t>(std::min<std::uint64_t>(value, INT64_MAX)));
}
std::string time_text(std::uint64_t ns) {
  return analysis::seconds(static_cast<double>(ns) * 1e-9);
}
std::string bytes_text(std::uint64_t bytes) {
  return bytes == 0 ? "-" : analysis::bytes(static_cast<double>(bytes));
}

std::vector<TextTable::Column> call_columns(const char* name) {
  std::vector<TextTable::Column> columns;
  for (const char* head : {"calls", "errors", "total", "mean", "longest", "bytes"})
    columns.push_back({head, Align::kRight});
  columns.push_back({name, Align::kLeft, true});
  return columns;
}

std::vector<std::string> call_cells(const SystemCallSums& sums, std::string name) {
  return {count_text(sums.calls),
          sums.errors == 0 ? "-" : count_text(sums.errors),
          time_text(sums.total_ns),
          sums.calls == 0 ? "-" : time_text(sums.total_ns / sums.calls),
          time_text(sums.longest_ns),
          bytes_text(sums.bytes),
          std::move(name)};
}

std::string callers_of_calls(const analysis::SystemCallTable& table, const TextOptions& options) {
  TextTable callers({{"share", Align::kRight}, {"call", Align::kLeft}, {"called by", Align::kLeft, true}});
  std::size_t rows = 0;
  for (std::size_t i = 0; i < rows_shown(table.calls.size(), options); ++i) {
    const analysis::SystemCallOfAll& call = table.calls[i];
    std::size_t shown = 0;
    for (const auto& path : call.paths) {
      if (options.top != 0 && shown++ == kMostPaths) break;
      callers.add({analysis::percent(static_cast<double>(path.sums.calls) / static_cast<double>(call.walked)),
                   analysis::printable(call.name), path_text(path.path)});
      ++rows;
    }
  }
  if (rows == 0) return "";
  return heading("Callers (share of the calls of one kind)", options) +
         callers.text(options.cut_names ? options.width : 0, options.color);
}

std::string calls_of_threads(const analysis::SystemCallTable& table, const TextOptions& options) {
  TextTable threads(call_columns("thread and call"));
  const std::size_t shown = rows_shown(table.threads.size(), options);
  for (std::size_t i = 0; i < shown; ++i) {
    const analysis::ThreadSystemCalls& thread = table.threads[i];
    threads.add(call_cells(thread.sums, thread.thread.empty() ? fmt::format("other threads of {}", thread.pid)
                                                              : analysis::printable(thread.thread)));
    const std::size_t most = options.top == 0 ? thread.calls.size() : kMostOfThread;
    for (std::size_t j = 0; j < std::min(most, thread.calls.size()); ++j)
      threads.add(call_cells(thread.calls[j].sums, "  " + analysis::printable(thread.calls[j].name)));
  }
  return heading("By thread", options) + threads.text(options.cut_names ? options.width : 0, options.color) +
         more_rows(table.threads.size(), shown, "threads");
}

std::string bytes_of_files(const analysis::SystemCallTable& table, const TextOptions& options) {
  if (table.files.empty()) return "";
  std::vector<TextTable::Column> columns;
  for (const char* head : {"read", "calls", "time", "written", "calls", "time"})
    columns.push_back({head, Align::kRight});
  columns.push_back({"file", Align::kLeft, true});
  TextTable files(std::move(columns));
  const std::size_t shown = rows_shown(table.files.size(), options);
  for (std::size_t i = 0; i < shown; ++i) {
    const analysis::FileBytes& file = table.files[i];
    std::vector<std::string> cells;
    for (const SystemCallSums* sums : {&file.read, &file.written}) {
      cells.push_back(sums->calls == 0 ? "-" : analysis::bytes(static_cast<double>(sums->bytes)));
      cells.push_back(sums->calls == 0 ? "-" : count_text(sums->calls));
      cells.push_back(sums->calls == 0 ? "-" : time_text(sums->total_ns));
    }
    cells.push_back(analysis::printable(file.path));
    files.add(std::move(cells));
  }
  return heading("Bytes by file", options) +
         files.text(options.cut_names ? options.width : 0, options.color) +
         more_rows(table.files.size(), shown, "files");
}

}  // namespace

std::string system_calls_text(const analysis::SystemCallTable& table, const TextOptions& options) {
  if (table.calls.empty()) return "No system call returned.\n";
  TextTable calls(call_columns("system call"));
  const std::size_t shown = rows_shown(table.calls.size(), options);
  for (std::size_t i = 0; i < shown; ++i)
    calls.add(call_cells(table.calls[i].sums, analysis::printable(table.calls[i].name)));
  std::string text = options.color ? "\x1b[1mSystem calls\x1b[0m\n" : "System calls\n";
  text += calls.text(options.cut_names ? options.width : 0, options.color) +
          more_rows(table.calls.size(), shown, "calls");
  return text + callers_of_calls(table, options) + calls_of_threads(table, options) +
         bytes_of_files(table, options);
}

}  // namespace fathom::present
