#include "tools/clickhouse/send.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/clock.h"
#include "base/cursor.h"
#include "tools/clickhouse/row_binary.h"
#include "tools/clickhouse/schema.h"
#include "tools/clickhouse/server.h"

namespace fathom::clickhouse {
namespace {

// The server forms one block of an insert up to about a million rows, and a block arrives whole or not at all.
constexpr std::size_t kMostRowsPerInsert = 500'000;
constexpr std::size_t kMostBytesPerInsert = 32 << 20;
constexpr std::size_t kMostSentStacks = 1 << 20;

std::uint32_t seconds_of(std::uint64_t unix_ns) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(unix_ns / 1'000'000'000, UINT32_MAX));
}

void put_stack(RowBinaryWriter& out, const Rows& rows, const StackRow& stack, std::uint32_t now) {
  out.text(rows.labels.service).number(stack.hash);
  const auto each = [&](auto&& put) {
    out.varint(stack.frames.size());
    for (const std::uint32_t frame : stack.frames) put(rows.frames[frame]);
  };
  each([&](const FrameRow& frame) { out.text(frame.function); });
  each([&](const FrameRow& frame) { out.text(frame.module); });
  each([&](const FrameRow& frame) { out.text(frame.source); });
  each([&](const FrameRow& frame) {
    out.number(static_cast<std::uint8_t>((frame.kind & kKindBits) | (frame.inlined ? kInlinedBit : 0)));
  });
  out.number(now);
  const WaitKind kind = stack.wait.value_or(WaitKind{});
  out.text(kind.cause).text(kind.waker).number(kind.waker_stack);
  out.text(stack.wait ? facts_text(kind) : "");
}

void put_sample(RowBinaryWriter& out, const push::Labels& labels, const WindowRows& window,
                const SampleRow& row) {
  out.text(labels.service)
      .text(row.metric)
      .number(seconds_of(window.start_unix_ns))
      .text(labels.host)
      .text(labels.version);
  out.text(row.thread).number(row.stack).number(window.id).number(window.length_ns).number(row.period_ns);
  out.number(window.quality).number(row.value);
}

Result<std::set<std::string>> newer_columns_of(const Server& server, const std::string& table) {
  const auto answer = server.select(newer_columns_query(table));
  if (!answer) return tl::unexpected<Error>(answer.error());
  std::set<std::string> names;
  Cursor in(std::as_bytes(std::span(answer->data(), answer->size())));
  while (!in.at_end()) names.emplace(read_text(in));
  return names;
}

// Of a table that an earlier version of fathom created. Asked first, so that a user without the right to alter tables can send to those
// of today.
Result<> add_newer_columns(const Server& server, const std::string& table) {
  auto there = newer_columns_of(server, table);
  if (!there) return tl::unexpected<Error>(there.error());
  for (const NewerColumn& column : kNewerColumns) {
    if (there->contains(column.name)) continue;
    const auto added = server.execute(add_column_statement(table, column));
    if (added) continue;
    // Another sender may have added it meanwhile.
    there = newer_columns_of(server, table);
    if (!there || !there->contains(column.name)) return added;
  }
  return {};
}

}  // namespace

Result<> Sender::create_tables() {
  if (created_) return {};
  const Server server(location_, stop_);
  for (const std::string& statement : create_statements(location_))
    if (auto created = server.execute(statement); !created) return created;
  for (const std::string& table : tables_with_newer_columns(location_))
    if (auto there = add_newer_columns(server, table); !there) return there;
  created_ = true;
  return {};
}

Result<std::set<std::uint64_t>> Sender::known_windows(const Rows& rows) const {
  std::uint64_t first = UINT64_MAX, last = 0;
  for (const WindowRows& window : rows.windows) {
    first = std::min(first, window.start_unix_ns);
    last = std::max(last, window.start_unix_ns);
  }
  const auto answer =
      Server(location_, stop_)
          .select(fmt::format(
              "SELECT DISTINCT batch FROM {} WHERE service = {} AND metric = {} AND host = {} AND start >= toDateTime({}) AND start <= toDateTime({}) FORMAT RowBinary",
              samples_table(location_), sql_text(rows.labels.service), sql_text(kWindowMetric),
              sql_text(rows.labels.host), seconds_of(first), seconds_of(last)));
  if (!answer) return tl::unexpected<Error>(answer.error());
  std::set<std::uint64_t> known;
  Cursor in(std::as_bytes(std::span(answer->data(), answer->size())));
  while (!in.at_end()) known.insert(in.read<std::uint64_t>());
  if (!in.ok())
    return fail(ErrorKind::kMalformed, location_.server.text() + ": the list of windows is cut short");
  return known;
}

Result<std::vector<TimeSpan>> Sender::covered_times(const push::Labels& labels, const TimeSpan& whole) const {
  const auto answer =
      Server(location_, stop_)
          .select(fmt::format(
              "SELECT toUInt32(start), period_ns, window_ns FROM {} WHERE service = {} AND metric = {} AND host = {} AND thread = {} AND start < toDateTime({}) AND toUInt32(start) + 1 + window_ns / 1e9 > {} FORMAT RowBinary",
              samples_table(location_), sql_text(labels.service), sql_text(kWindowMetric),
              sql_text(labels.host), sql_text(kStoreThread), seconds_of(whole.until_unix_ns) + 1,
              seconds_of(whole.from_unix_ns)));
  if (!answer) return tl::unexpected<Error>(answer.error());
  std::vector<TimeSpan> covered;
  Cursor in(std::as_bytes(std::span(answer->data(), answer->size())));
  while (!in.at_end()) {
    const std::uint64_t start_ns = std::uint64_t{in.read<std::uint32_t>()} * 1'000'000'000;
    const auto beyond_ns = in.read<std::uint64_t>(), length_ns = in.read<std::uint64_t>();
    covered.push_back({start_ns + beyond_ns, start_ns + beyond_ns + length_ns});
  }
  if (!in.ok())
    return fail(ErrorKind::kMalformed, location_.server.text() + ": the list of windows is cut short");
  return covered;
}

// Before the samples, so that no sample is without its stack.
Result<> Sender::send_stacks(const Rows& rows, push::Sent& sent) {
  const Server server(location_, stop_);
  const std::string sql =
      fmt::format("INSERT INTO {} ({}) FORMAT RowBinary", stacks_table(location_), kStackColumns);
  const std::uint32_t now = seconds_of(wall_clock_ns());
  if (sent_stacks_.size() > kMostSentStacks) sent_stacks_.clear();
  std::vector<std::uint64_t> hashes;
  RowBinaryWriter out;
  const auto flush = [&]() -> Result<> {
    if (hashes.empty()) return {};
    auto bytes = server.insert(sql, out.bytes());
    if (!bytes) return tl::unexpected<Error>(bytes.error());
    sent.bytes += *bytes;
    for (const std::uint64_t hash : hashes) sent_stacks_.emplace(rows.labels.service, hash);
    hashes.clear();
    out = {};
    return {};
  };
  for (const StackRow& stack : rows.stacks) {
    if (sent_stacks_.contains({rows.labels.service, stack.hash})) continue;
    put_stack(out, rows, stack, now);
    hashes.push_back(stack.hash);
    if (out.bytes().size() < kMostBytesPerInsert) continue;
    if (auto flushed = flush(); !flushed) return flushed;
  }
  return flush();
}

Result<> Sender::send_windows(const Rows& rows, const std::set<std::uint64_t>& known,
                              push::Sent& sent) const {
  const Server server(location_, stop_);
  const std::string sql =
      fmt::format("INSERT INTO {} ({}) FORMAT RowBinary", samples_table(location_), kSampleColumns);
  RowBinaryWriter out;
  std::size_t count = 0, windows = 0;
  const auto flush = [&]() -> Result<> {
    if (count == 0) return {};
    auto bytes = server.insert(sql, out.bytes());
    if (!bytes) return tl::unexpected<Error>(bytes.error());
    sent.bytes += *bytes;
    sent.rows += count;
    sent.parts += windows;
    count = windows = 0;
    out = {};
    return {};
  };
  for (const WindowRows& window : rows.windows) {
    if (known.contains(window.id)) {
      ++sent.known_parts;
      continue;
    }
    if (count != 0 && count + window.samples.size() > kMostRowsPerInsert)
      if (auto flushed = flush(); !flushed) return flushed;
    for (const SampleRow& row : window.samples) put_sample(out, rows.labels, window, row);
    put_sample(out, rows.labels, window, marker_of(rows.labels, window));
    count += window.samples.size() + 1;
    ++windows;
  }
  return flush();
}

Result<push::Sent> Sender::send(const model::Profile& profile, const push::Labels& labels) {
  auto rows = rows_of(profile, labels);
  if (!rows) return tl::unexpected<Error>(rows.error());
  if (auto created = create_tables(); !created) return tl::unexpected<Error>(created.error());
  if (labels.of_store) {
    const TimeSpan whole = span_of(profile);
    const auto covered = covered_times(labels, whole);
    if (!covered) return tl::unexpected<Error>(covered.error());
    const std::vector<TimeSpan> gaps = gaps_of(whole, *covered);
    if (gaps.empty()) return push::Sent{.known_parts = rows->windows.size()};
    if (gaps != std::vector<TimeSpan>{whole}) rows = rows_of_gaps(profile, labels, gaps);
    if (!rows) return tl::unexpected<Error>(rows.error());
  }
  const auto known = known_windows(*rows);
  if (!known) return tl::unexpected<Error>(known.error());
  push::Sent sent;
  const bool all_known = std::ranges::all_of(
      rows->windows, [&](const WindowRows& window) { return known->contains(window.id); });
  if (!all_known)
    if (auto stacks = send_stacks(*rows, sent); !stacks) return tl::unexpected<Error>(stacks.error());
  if (auto windows = send_windows(*rows, *known, sent); !windows)
    return tl::unexpected<Error>(windows.error());
  return sent;
}

}  // namespace fathom::clickhouse
