#include "tools/dataset/write.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/files.h"
#include "formats/parquet/writer.h"
#include "tools/clickhouse/rows.h"
#include "tools/clickhouse/schema.h"
#include "tools/dataset/covered.h"
#include "tools/dataset/layout.h"

namespace fathom::dataset {
namespace {

using clickhouse::FrameRow, clickhouse::Rows, clickhouse::SampleRow, clickhouse::StackRow,
    clickhouse::WindowRows;

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr std::size_t kMostRowsPerFile = 1'000'000;
constexpr std::size_t kMostFolders = 100;  // of which the stacks are remembered

// Rows of one table, a column at a time.
class TableMaker {
 public:
  explicit TableMaker(std::span<const ColumnInfo> columns) : known_(columns.size()) {
    for (const ColumnInfo& info : columns) table_.columns.emplace_back().info = info;
  }
  void number(std::uint8_t column, std::uint64_t value) { table_.columns[column].numbers.push_back(value); }
  void text(std::uint8_t column, const std::string& value) {
    parquet::Column& into = table_.columns[column];
    const auto [row, added] = known_[column].try_emplace(value, into.texts.size());
    if (added) into.texts.push_back(value);
    into.numbers.push_back(row->second);
  }
  void length(std::uint8_t column, std::size_t count) {
    table_.columns[column].lengths.push_back(static_cast<std::uint32_t>(count));
  }
  void end_row() { ++table_.rows; }
  const parquet::Table& table() const { return table_; }

 private:
  parquet::Table table_;
  std::vector<std::unordered_map<std::string, std::uint64_t>> known_;  // by column
};

void put_sample_row(const push::Labels& labels, const WindowRows& window, const SampleRow& row,
                    TableMaker& table) {
  table.text(kMetric, row.metric);
  table.number(kStart, window.start_unix_ns / 1000);
  table.text(kVersion, labels.version);
  table.text(kThread, row.thread);
  table.number(kStack, row.stack);
  table.number(kBatch, window.id);
  table.number(kWindowNs, window.length_ns);
  table.number(kPeriodNs, row.period_ns);
  table.number(kQuality, window.quality);
  table.number(kValue, static_cast<std::uint64_t>(row.value));
  table.end_row();
}

void put_stack_row(const Rows& rows, const StackRow& stack, std::uint64_t seen_unix_ns, TableMaker& table) {
  table.number(kHash, stack.hash);
  for (const std::uint8_t column : {kFunctions, kModules, kSources, kFlags})
    table.length(column, stack.frames.size());
  for (const std::uint32_t at : stack.frames) {
    const FrameRow& frame = rows.frames[at];
    table.text(kFunctions, frame.function);
    table.text(kModules, frame.module);
    table.text(kSources, frame.source);
    table.number(kFlags,
                 (frame.kind & clickhouse::kKindBits) | (frame.inlined ? clickhouse::kInlinedBit : 0U));
  }
  table.number(kSeen, seen_unix_ns / 1000);
  const clickhouse::WaitKind kind = stack.wait.value_or(clickhouse::WaitKind{});
  table.text(kCause, kind.cause);
  table.text(kWaker, kind.waker);
  table.number(kWakerStack, kind.waker_stack);
  table.text(kWait, stack.wait ? clickhouse::facts_text(kind) : std::string());
  table.end_row();
}

// Windows that go into one file: of one day, and not too many rows.
std::vector<std::span<const WindowRows>> files_of(const std::vector<WindowRows>& windows) {
  std::vector<std::span<const WindowRows>> files;
  std::size_t first = 0, count = 0;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const auto day = [](const WindowRows& window) { return window.start_unix_ns / kSecondNs / 86'400; };
    if (i != first &&
        (day(windows[i]) != day(windows[first]) || count + windows[i].samples.size() > kMostRowsPerFile)) {
      files.push_back(std::span(windows).subspan(first, i - first));
      first = i;
      count = 0;
    }
    count += windows[i].samples.size() + 1;
  }
  if (first < windows.size()) files.push_back(std::span(windows).subspan(first));
  return files;
}

std::string stem_of(std::span<const WindowRows> windows) {
  std::uint64_t first = UINT64_MAX, end = 0;
  std::string ids;
  for (const WindowRows& window : windows) {
    first = std::min(first, window.start_unix_ns / kSecondNs);
    end = std::max(end, (window.start_unix_ns + window.length_ns + kSecondNs - 1) / kSecondNs);
    ids.append(reinterpret_cast<const char*>(&window.id), sizeof(window.id));
  }
  return file_stem(first, end, XXH3_64bits(ids.data(), ids.size()));
}

Result<> write_table(const std::string& path, const TableMaker& table, const push::Labels& labels,
                     push::Sent& sent) {
  const auto bytes = parquet::write_parquet(
      table.table(), {{"fathom.service", labels.service}, {"fathom.host", labels.host}});
  if (!bytes) return within(path, bytes.error());
  if (auto written = write_file(path, *bytes); !written) return written;
  sent.bytes += bytes->size();
  return {};
}

}  // namespace

Result<push::Sent> Writer::send(const model::Profile& profile, const push::Labels& labels) {
  auto rows = clickhouse::rows_of(profile, labels);
  if (!rows) return tl::unexpected<Error>(rows.error());
  if (labels.of_store) {
    const clickhouse::TimeSpan whole = clickhouse::span_of(profile);
    const auto covered = covered_times(folder_, labels, whole);
    if (!covered) return tl::unexpected<Error>(covered.error());
    const std::vector<clickhouse::TimeSpan> gaps = clickhouse::gaps_of(whole, *covered);
    if (gaps.empty()) return push::Sent{.known_parts = rows->windows.size()};
    if (gaps != std::vector<clickhouse::TimeSpan>{whole})
      rows = clickhouse::rows_of_gaps(profile, labels, gaps);
    if (!rows) return tl::unexpected<Error>(rows.error());
  }
  push::Sent sent;
  for (const std::span<const WindowRows> windows : files_of(rows->windows)) {
    const std::string folder =
        partition_folder(folder_, labels.service, date_of(windows[0].start_unix_ns / kSecondNs), labels.host);
    const std::string stem = folder + "/" + stem_of(windows), path = stem + std::string(kSamplesEnding);
    std::error_code problem;
    if (std::filesystem::exists(path, problem)) {
      sent.known_parts += windows.size();
      continue;
    }
    if (stacks_.size() > kMostFolders) stacks_.clear();
    std::set<std::uint64_t>& known = stacks_[folder];
    std::set<std::uint64_t> used;
    TableMaker samples(kSampleColumns), stacks(kStackColumns);
    for (const WindowRows& window : windows) {
      for (const SampleRow& row : window.samples) {
        put_sample_row(labels, window, row, samples);
        used.insert(row.stack);
      }
      put_sample_row(labels, window, clickhouse::marker_of(labels, window), samples);
    }
    for (const StackRow& stack : rows->stacks)
      if (stack.wait && stack.wait->waker_stack != 0 && used.contains(stack.hash))
        used.insert(stack.wait->waker_stack);
    for (const StackRow& stack : rows->stacks)
      if (used.contains(stack.hash) && !known.contains(stack.hash))
        put_stack_row(*rows, stack, windows[0].start_unix_ns, stacks);
    // Stacks first, so that no sample is without its stack.
    if (stacks.table().rows != 0)
      if (auto written = write_table(stem + std::string(kStacksEnding), stacks, labels, sent); !written)
        return tl::unexpected<Error>(written.error());
    known.insert(used.begin(), used.end());
    if (auto written = write_table(path, samples, labels, sent); !written)
      return tl::unexpected<Error>(written.error());
    sent.parts += windows.size();
    sent.rows += samples.table().rows;
  }
  return sent;
}

}  // namespace fathom::dataset
