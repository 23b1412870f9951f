#include "tools/clickhouse/fetch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "base/cursor.h"
#include "tools/clickhouse/profile_of.h"
#include "tools/clickhouse/row_binary.h"
#include "tools/clickhouse/rows.h"
#include "tools/clickhouse/schema.h"
#include "tools/clickhouse/server.h"

namespace fathom::clickhouse {
namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000, kDefaultHourNs = 3600 * kSecondNs;
constexpr std::size_t kMostNames = 20;  // in a message

Cursor cursor_of(const std::string& text) {
  return Cursor(std::as_bytes(std::span(text.data(), text.size())));
}

// The rows of a location, without a time.
std::string place_of(const Location& location) {
  std::string where = "service = " + sql_text(location.service);
  if (!location.hosts.empty()) where += fmt::format(" AND host IN ({})", sql_list(location.hosts));
  if (!location.other_hosts.empty())
    where += fmt::format(" AND host NOT IN ({})", sql_list(location.other_hosts));
  // Build ids are long: their beginning is enough.
  std::string versions;
  for (const std::string& version : location.versions)
    versions += fmt::format("{}startsWith(version, {})", versions.empty() ? "" : " OR ", sql_text(version));
  if (!versions.empty()) where += fmt::format(" AND ({})", versions);
  return where;
}

std::string within_time(const TimeChoice& time) {
  std::string where;
  if (time.from_unix_ns)
    where += fmt::format(" AND start >= toDateTime({})", (*time.from_unix_ns + kSecondNs - 1) / kSecondNs);
  if (time.until_unix_ns)
    where += fmt::format(" AND start < toDateTime({})", (*time.until_unix_ns + kSecondNs - 1) / kSecondNs);
  return where;
}

Result<std::vector<std::string>> texts_of(const Server& server, const std::string& sql,
                                          const Location& location) {
  const auto answer = server.select(sql);
  if (!answer) return tl::unexpected<Error>(answer.error());
  std::vector<std::string> texts;
  Cursor in = cursor_of(*answer);
  while (!in.at_end()) texts.emplace_back(read_text(in));
  if (!in.ok()) return fail(ErrorKind::kMalformed, location.server.text() + ": the answer is cut short");
  return texts;
}

std::string some_of(const std::vector<std::string>& names) {
  if (names.size() <= kMostNames) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more", fmt::join(names.begin(), names.begin() + kMostNames, ", "),
                     names.size() - kMostNames);
}

Result<std::vector<std::string>> services_of(const Server& server, const Location& location) {
  return texts_of(
      server,
      fmt::format(
          "SELECT DISTINCT service FROM {} WHERE metric = {} ORDER BY service LIMIT 1000 FORMAT RowBinary",
          samples_table(location), sql_text(kWindowMetric)),
      location);
}

Result<> choose_service(const Server& server, Location& location) {
  if (!location.service.empty()) return {};
  auto services = services_of(server, location);
  if (!services) return tl::unexpected<Error>(services.error());
  if (services->size() == 1) {
    location.service = services->front();
    return {};
  }
  const std::string where = location.server.text();
  if (services->empty())
    return fail(ErrorKind::kNotFound, where + ": there are no recordings",
                "fathom push clickhouse://HOST/DATABASE FILE");
  return fail(ErrorKind::kUsage, fmt::format("{} has several services: {}", where, some_of(*services)),
              "?service=NAME");
}

Result<Extent> extent_of(const Server& server, const Location& location, const std::string& where) {
  const auto answer = server.select(fmt::format(
      R"(SELECT count(), uniqExact(batch), min(toUInt32(start)), max(toUInt32(start) + window_ns / 1e9), sum(window_ns),
      groupUniqArray(host), groupUniqArray(version) FROM {} WHERE metric = {} AND {} FORMAT RowBinary)",
      samples_table(location), sql_text(kWindowMetric), where));
  if (!answer) return tl::unexpected<Error>(answer.error());
  Cursor in = cursor_of(*answer);
  Extent extent;
  extent.markers = in.read<std::uint64_t>();
  extent.windows = in.read<std::uint64_t>();
  extent.from_unix_s = in.read<std::uint32_t>();
  const auto bits = in.read<std::uint64_t>();
  std::memcpy(&extent.until_unix_s, &bits, sizeof(bits));
  extent.length_ns = in.read<std::uint64_t>();
  for (auto* names : {&extent.hosts, &extent.versions})
    for (std::uint64_t count = in.read_uleb128(); count != 0 && in.ok(); --count)
      names->emplace_back(read_text(in));
  if (!in.ok()) return fail(ErrorKind::kMalformed, location.server.text() + ": the answer is cut short");
  for (auto* names : {&extent.hosts, &extent.versions}) std::ranges::sort(*names);
  return extent;
}

// Levels of the last window of each host. period_ns of a window's marker is what its start is beyond the second, where that is known.
std::string levels_query(const Location& location, const std::string& where) {
  const std::string table = samples_table(location);
  return fmt::format(
      R"(SELECT metric, thread, period_ns, stack, sum(once) FROM (SELECT metric, thread, period_ns, stack, batch,
      any(value) AS once FROM {0} WHERE {1} AND metric IN ({2}, {3}) AND batch GLOBAL IN
      (SELECT argMax(batch, toUInt64(toUInt32(start)) * 1000000000 + period_ns) FROM {0} WHERE {1} AND metric = {4} GROUP BY host)
      GROUP BY metric, thread, period_ns, stack, batch) GROUP BY metric, thread, period_ns, stack FORMAT RowBinary)",
      table, where, sql_text(kLiveBytes), sql_text(kLiveBlocks), sql_text(kWindowMetric));
}

// Rows that add up.
std::string sums_chosen(const Location& location) {
  const std::string levels = fmt::format("{}, {}", sql_text(kLiveBytes), sql_text(kLiveBlocks));
  if (location.metric.empty()) return fmt::format("metric NOT IN ({}, {})", sql_text(kWindowMetric), levels);
  const std::string quality = sql_text(std::string(kQualityPrefix) + "%");
  if (is_of_heap(location.metric))
    return fmt::format("(metric LIKE 'heap-%' AND metric NOT IN ({}) OR metric LIKE {})", levels, quality);
  const std::string counts =
      location.metric == model::to_string(model::Metric::kOffCpu) ? ", " + sql_text(kWaitCount) : "";
  return fmt::format("(metric IN ({}{}) OR metric LIKE {})", sql_text(location.metric), counts, quality);
}

// Two inserts of one window at the same time can both pass the check of the sender. Then each row is counted once per window. This
// takes nine times as long (13 s of CPU time for ten million rows), so it is done only if the markers show that a window is there twice.
std::string sums_query(const Location& location, const std::string& where, bool twice) {
  const std::string table = samples_table(location), metrics = sums_chosen(location);
  if (!twice)
    return fmt::format(
        "SELECT metric, thread, period_ns, stack, sum(value) FROM {} WHERE {} AND {} GROUP BY metric, thread, period_ns, stack FORMAT RowBinary",
        table, where, metrics);
  return fmt::format(
      R"(SELECT metric, thread, period_ns, stack, sum(once) FROM (SELECT metric, thread, period_ns, stack, batch,
      any(value) AS once FROM {} WHERE {} AND {} GROUP BY metric, thread, period_ns, stack, batch)
      GROUP BY metric, thread, period_ns, stack FORMAT RowBinary)",
      table, where, metrics);
}

// Tables of earlier versions have no columns for the kind of a wait. Reading does not change them.
Result<bool> has_wait_kinds(const Server& server, const Location& location) {
  const auto columns = texts_of(server, newer_columns_query(stacks_table(location)), location);
  if (!columns) return tl::unexpected<Error>(columns.error());
  return columns->size() == std::size(kNewerColumns);
}

// GLOBAL: the hashes are collected once, from all servers, and not by each server from its own rows.
std::string stacks_query(const Location& location, const std::string& where, bool wait_kinds) {
  const std::string kind =
      wait_kinds ? "any(cause), any(waker), any(waker_stack), any(wait)" : "'', '', toUInt64(0), ''";
  std::string metrics;
  if (is_of_heap(location.metric))
    metrics = " AND metric LIKE 'heap-%'";
  else if (!location.metric.empty())
    metrics = fmt::format(" AND metric = {}", sql_text(location.metric));
  const auto stacks_in = [&](const std::string& hashes) {
    return fmt::format(
        "SELECT hash, any(functions), any(modules), any(sources), any(flags), {} FROM {} WHERE service = {} AND hash GLOBAL IN ({}) GROUP BY hash",
        kind, stacks_table(location), sql_text(location.service), hashes);
  };
  const std::string used =
      fmt::format("SELECT DISTINCT stack FROM {} WHERE {}{}", samples_table(location), where, metrics);
  if (!wait_kinds) return stacks_in(used) + " FORMAT RowBinary";
  // Also those that ended the waits.
  const std::string wakers = fmt::format(
      "SELECT DISTINCT waker_stack FROM {} WHERE service = {} AND waker_stack != 0 AND hash GLOBAL IN ({})",
      stacks_table(location), sql_text(location.service), used);
  return fmt::format("{} UNION ALL {} FORMAT RowBinary", stacks_in(used), stacks_in(wakers));
}

Result<> choose_time(const Server& server, const Location& location, TimeChoice& time, std::string& notice) {
  if (time.from_unix_ns || time.until_unix_ns) return {};
  const auto all = extent_of(server, location, place_of(location));
  if (!all) return tl::unexpected<Error>(all.error());
  if (all->windows == 0 || !(all->until_unix_s > 0) || all->until_unix_s > 4.3e9) return {};
  const auto end = static_cast<std::uint64_t>(all->until_unix_s * 1e9);
  if (end - std::uint64_t{all->from_unix_s} * kSecondNs <= kDefaultHourNs) return {};
  time.from_unix_ns = end - kDefaultHourNs;
  notice = fmt::format("using the last hour of {}; from= and until= choose another time", location.service);
  return {};
}

}  // namespace

Result<Fetched> fetch(const Location& wanted, const TimeChoice& wanted_time, int stop) {
  Location location = wanted;
  TimeChoice time = wanted_time;
  const Server server(location, stop);
  Fetched fetched;
  if (auto chosen = choose_service(server, location); !chosen) return tl::unexpected<Error>(chosen.error());
  if (auto chosen = choose_time(server, location, time, fetched.notice); !chosen)
    return tl::unexpected<Error>(chosen.error());
  const std::string where = place_of(location) + within_time(time);
  const auto extent = extent_of(server, location, where);
  if (!extent) return tl::unexpected<Error>(extent.error());
  if (extent->windows == 0) {
    const auto services = services_of(server, location);
    return fail(
        ErrorKind::kNotFound,
        fmt::format("{}: no windows of service '{}' in this selection", location.server.text(),
                    location.service),
        services && !services->empty()
            ? fmt::format("services: {}; or another from=, until=, host= or version=", some_of(*services))
            : "fathom push clickhouse://HOST/DATABASE FILE");
  }
  const auto wait_kinds = has_wait_kinds(server, location);
  if (!wait_kinds) return tl::unexpected<Error>(wait_kinds.error());
  const auto stacks = server.select(stacks_query(location, where, *wait_kinds));
  if (!stacks) return tl::unexpected<Error>(stacks.error());
  const auto sums = server.select(sums_query(location, where, extent->markers != extent->windows));
  if (!sums) return tl::unexpected<Error>(sums.error());
  const bool has_levels = location.metric.empty() || is_of_heap(location.metric);
  const auto levels =
      has_levels ? server.select(levels_query(location, where)) : Result<std::string>(std::string());
  if (!levels) return tl::unexpected<Error>(levels.error());
  auto profile = profile_of(
      {location.service, location.server.text(), "the table " + stacks_table(location), "ClickHouse"},
      *extent, *stacks, *sums + *levels);
  if (!profile) return tl::unexpected<Error>(profile.error());
  fetched.profile = std::move(*profile);
  return fetched;
}

Result<std::vector<std::string>> hosts_in(const Location& wanted, const TimeChoice& wanted_time, int stop) {
  Location location = wanted;
  TimeChoice time = wanted_time;
  const Server server(location, stop);
  std::string notice;
  if (auto chosen = choose_service(server, location); !chosen) return tl::unexpected<Error>(chosen.error());
  if (auto chosen = choose_time(server, location, time, notice); !chosen)
    return tl::unexpected<Error>(chosen.error());
  auto extent = extent_of(server, location, place_of(location) + within_time(time));
  if (!extent) return tl::unexpected<Error>(extent.error());
  return std::move(extent->hosts);
}

}  // namespace fathom::clickhouse
