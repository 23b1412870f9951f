#include "tools/dataset/sums.h"

#include <algorithm>
#include <limits>

#include "base/files.h"
#include "formats/parquet/reader.h"
#include "tools/clickhouse/row_binary.h"
#include "tools/clickhouse/rows.h"
#include "tools/dataset/layout.h"

namespace fathom::dataset {
namespace {

using parquet::Column, parquet::Table;

constexpr std::uint64_t kMicrosPerSecond = 1'000'000;

std::size_t mixed(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::size_t>((a ^ (b >> 32 | b << 32)) * 0x9e3779b97f4a7c15u);
}

const std::string& text_at(const Column& column, std::uint64_t row) {
  return column.texts[column.numbers[row]];
}

// One answer for each text of a column, so that a row costs no comparison of texts.
template <class Answer>
auto answers(const Column& column, Answer answer) {
  std::vector<decltype(answer(std::string()))> all;
  for (const std::string& text : column.texts) all.push_back(answer(text));
  return all;
}

constexpr std::uint32_t kNoKind = UINT32_MAX;
constexpr std::size_t kMostRemembered = 1000;

enum class MetricUse : std::uint8_t { kSkip, kMarker, kCount, kLevel };

}  // namespace

std::size_t Sums::KeyHash::operator()(const Key& key) const {
  return mixed(key.stack, (std::uint64_t{key.kind} << 40) ^ key.period_ns);
}
std::size_t Sums::WindowKeyHash::operator()(const WindowKey& key) const {
  return mixed(KeyHash()(key.key), key.batch);
}

std::uint32_t Sums::kind_of(const std::string& metric, const std::string& thread) {
  std::string key = metric;
  key += '\0';
  key += thread;
  const auto [row, added] = kind_rows_.try_emplace(std::move(key), static_cast<std::uint32_t>(kinds_.size()));
  if (added) kinds_.emplace_back(metric, thread);
  return row->second;
}

void Sums::add_marker(std::uint64_t start_s, std::uint64_t length_ns, std::uint64_t batch,
                      const std::string& host, const std::string& version) {
  ++extent_.markers;
  if (!batches_.insert(batch).second) return;
  const auto start = static_cast<std::uint32_t>(std::min<std::uint64_t>(start_s, UINT32_MAX));
  extent_.from_unix_s = extent_.windows == 0 ? start : std::min(extent_.from_unix_s, start);
  extent_.until_unix_s = std::max(extent_.until_unix_s, start + static_cast<double>(length_ns) / 1e9);
  extent_.length_ns += length_ns;
  ++extent_.windows;
  if (hosts_.insert(host).second) extent_.hosts.assign(hosts_.begin(), hosts_.end());
  if (versions_.insert(version).second) extent_.versions.assign(versions_.begin(), versions_.end());
}

Result<Table> Sums::read_samples(const std::string& path) {
  static constexpr ColumnInfo kWanted[] = {
      kSampleColumns[kMetric],   kSampleColumns[kStart],    kSampleColumns[kVersion],
      kSampleColumns[kThread],   kSampleColumns[kStack],    kSampleColumns[kBatch],
      kSampleColumns[kWindowNs], kSampleColumns[kPeriodNs], kSampleColumns[kValue]};
  const auto file = read_file(path);
  if (!file) return tl::unexpected<Error>(file.error());
  return parquet::read_parquet(*file, path, kWanted);
}

void Sums::add(const Table& table, const std::string& host) {
  const Column &metric = table.columns[0], &start = table.columns[1], &version = table.columns[2],
               &thread = table.columns[3], &stack = table.columns[4], &batch = table.columns[5],
               &length = table.columns[6], &period = table.columns[7], &value = table.columns[8];
  const auto uses = answers(metric, [&](const std::string& text) {
    if (text == clickhouse::kWindowMetric) return MetricUse::kMarker;
    const bool counts = filter_.metric.empty() || text == filter_.metric ||
                        text.starts_with(clickhouse::kQualityPrefix) ||
                        (text == clickhouse::kWaitCount && filter_.metric == "off-cpu") ||
                        (clickhouse::is_of_heap(filter_.metric) && clickhouse::is_of_heap(text));
    if (!counts) return MetricUse::kSkip;
    return clickhouse::is_level(text) ? MetricUse::kLevel : MetricUse::kCount;
  });
  const auto versions = answers(version, [&](const std::string& text) {
    const auto begins = [&](const std::string& one) { return text.starts_with(one); };
    return filter_.versions.empty() || std::ranges::any_of(filter_.versions, begins);
  });
  // The kind of each metric and thread of this file, once it is known; where there are too many, each row costs a search.
  const bool few = metric.texts.size() < kMostRemembered && thread.texts.size() < kMostRemembered;
  std::vector<std::uint32_t> kinds(few ? metric.texts.size() * thread.texts.size() : 0, kNoKind);
  for (std::uint64_t row = 0; row < table.rows; ++row) {
    const MetricUse use = uses[metric.numbers[row]];
    const std::uint64_t start_s = start.numbers[row] / kMicrosPerSecond;
    if (use == MetricUse::kSkip || !versions[version.numbers[row]] || start_s < filter_.from_unix_s ||
        start_s >= filter_.until_unix_s)
      continue;
    // Rows of the last window that was seen, whatever the order of the files. Its marker counts, too: it may have nothing live.
    Levels& levels = levels_[host];
    if (use != MetricUse::kCount && start.numbers[row] > levels.start_us) levels = {start.numbers[row], {}};
    if (use == MetricUse::kLevel && start.numbers[row] < levels.start_us) continue;
    if (use == MetricUse::kMarker) {
      add_marker(start_s, length.numbers[row], batch.numbers[row], host, text_at(version, row));
      continue;
    }
    const std::string &metric_name = text_at(metric, row), &thread_name = text_at(thread, row);
    const std::uint64_t place = metric.numbers[row] + thread.numbers[row] * metric.texts.size();
    std::uint32_t kind = place < kinds.size() ? kinds[place] : kNoKind;
    if (kind == kNoKind) kind = kind_of(metric_name, thread_name);
    if (place < kinds.size()) kinds[place] = kind;
    const Key key{kind, period.numbers[row], stack.numbers[row]};
    if (once_ && !counted_.insert({key, batch.numbers[row]}).second) continue;
    auto& sums = use == MetricUse::kLevel ? levels.values : sums_;
    const auto [sum, added] = sums.try_emplace(key, 0);
    if (added && key.stack != 0) missing_stacks_.insert(key.stack);
    if (__builtin_add_overflow(sum->second, static_cast<std::int64_t>(value.numbers[row]), &sum->second))
      sum->second = std::numeric_limits<std::int64_t>::max();
  }
}

Result<> Sums::add_stacks(const std::string& file, const std::string& path) {
  static constexpr ColumnInfo kWanted[] = {
      kStackColumns[kHash],    kStackColumns[kFunctions],  kStackColumns[kModules],
      kStackColumns[kSources], kStackColumns[kFlags],      kStackColumns[kCause],
      kStackColumns[kWaker],   kStackColumns[kWakerStack], kStackColumns[kWait]};
  constexpr std::size_t kFirstList = 1, kEndOfLists = 5;
  const auto table = parquet::read_parquet(file, path, kWanted);
  if (!table) return tl::unexpected<Error>(table.error());
  const Column &hashes = table->columns[0], &cause = table->columns[5], &waker = table->columns[6],
               &waker_stack = table->columns[7], &wait = table->columns[8];
  // The stack of who ended a wait may lie before that of the wait, or in another file.
  for (std::uint64_t row = 0; row < table->rows; ++row)
    if (const std::uint64_t hash = waker_stack.numbers[row];
        hash != 0 && missing_stacks_.contains(hashes.numbers[row]) && !read_stacks_.contains(hash) &&
        missing_stacks_.insert(hash).second)
      missing_wakers_.insert(hash);
  std::uint64_t first[kEndOfLists] = {};  // of the row, by column
  clickhouse::RowBinaryWriter out;
  for (std::uint64_t row = 0; row < table->rows; ++row) {
    const std::uint64_t hash = hashes.numbers[row];
    const bool wanted = missing_stacks_.erase(hash) != 0;
    if (wanted) {
      out.number(hash);
      read_stacks_.insert(hash);
      missing_wakers_.erase(hash);
    }
    for (std::size_t i = kFirstList; i < kEndOfLists; ++i) {
      const Column& column = table->columns[i];
      const std::uint32_t length = column.lengths[row];
      if (wanted) {
        out.varint(length);
        for (std::uint64_t at = first[i]; at < first[i] + length; ++at)
          if (column.info.kind == ColumnKind::kText)
            out.text(column.texts[column.numbers[at]]);
          else
            out.number(static_cast<std::uint8_t>(column.numbers[at]));
      }
      first[i] += length;
    }
    if (wanted)
      out.text(text_at(cause, row))
          .text(text_at(waker, row))
          .number(waker_stack.numbers[row])
          .text(text_at(wait, row));
  }
  stacks_ += out.bytes();
  return {};
}

std::string Sums::sum_rows() const {
  clickhouse::RowBinaryWriter out;
  const auto put = [&](const Key& key, std::int64_t value) {
    out.text(kinds_[key.kind].first)
        .text(kinds_[key.kind].second)
        .number(key.period_ns)
        .number(key.stack)
        .number(value);
  };
  for (const auto& [key, value] : sums_) put(key, value);
  for (const auto& [host, levels] : levels_)
    for (const auto& [key, value] : levels.values) put(key, value);
  return out.bytes();
}

}  // namespace fathom::dataset
