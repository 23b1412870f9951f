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

// Two inserts of one window at the same time can both pass the check of the sender. Then each row is counted once per window. This
// takes nine times as long (13 s of CPU time for ten million rows), so it is done only if the markers show that a window is there twice.
std::string sums_query(const Location& location, const std::string& where, bool twice) {
  const std::string table = samples_table(location), metric = sql_text(kWindowMetric);
  const std::string metrics = location.metric.empty()
                                  ? fmt::format("metric != {}", metric)
                                  : fmt::format("(metric = {} OR metric LIKE {})", sql_text(location.metric),
                                                sql_text(std::string(kQualityPrefix) + "%"));
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

// GLOBAL: the hashes are collected once, from all servers, and not by each server from its own rows.
std::string stacks_query(const Location& location, const std::string& where) {
  const std::string metrics =
      location.metric.empty() ? "" : fmt::format(" AND metric = {}", sql_text(location.metric));
  return fmt::format(
      R"(SELECT hash, any(functions), any(modules), any(sources), any(flags) FROM {} WHERE service = {} AND hash GLOBAL IN
      (SELECT DISTINCT stack FROM {} WHERE {}{}) GROUP BY hash FORMAT RowBinary)",
      stacks_table(location), sql_text(location.service), samples_table(location), where, metrics);
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
  const auto stacks = server.select(stacks_query(location, where));
  if (!stacks) return tl::unexpected<Error>(stacks.error());
  const auto sums = server.select(sums_query(location, where, extent->markers != extent->windows));
  if (!sums) return tl::unexpected<Error>(sums.error());
  auto profile = profile_of(
      {location.service, location.server.text(), "the table " + stacks_table(location), "ClickHouse"},
      *extent, *stacks, *sums);
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
