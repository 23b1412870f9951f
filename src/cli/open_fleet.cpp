#include "cli/open_fleet.h"

#include <fmt/format.h>

#include "analysis/core/words.h"
#include "base/clock.h"
#include "cli/clock_time.h"
#include "cli/notices.h"
#include "cli/open_store.h"
#include "linux/metrics/http_url.h"
#include "tools/clickhouse/fetch.h"
#include "tools/clickhouse/location.h"

namespace fathom::cli {
namespace {

struct FleetInput {
  clickhouse::Location location;
  clickhouse::TimeChoice time;
};

Result<std::optional<std::uint64_t>> time_of_fleet(const std::string& text, const char* name) {
  if (text.empty()) return std::optional<std::uint64_t>();
  const auto time = clock_time(text, wall_clock_ns());
  if (time) return std::optional(*time);
  return fail(ErrorKind::kUsage, fmt::format("{}={}: no time of day", name, analysis::printable(text)),
              fmt::format("{0}=02:00, {0}=2026-11-27T02:00 or {0}=-1h", name));
}

Result<FleetInput> fleet_input(const std::string& input, const std::string& from, const std::string& until) {
  const std::string authority = input.substr(0, input.find('?'));
  if (const std::size_t at = authority.rfind('@');
      at != std::string::npos && authority.find(':', authority.find("://") + 3) < at)
    return fail(ErrorKind::kUsage, "a password in the address would be in the output of this command",
                "clickhouse://USER@HOST/DATABASE, with CLICKHOUSE_PASSWORD in the environment");
  auto location = clickhouse::parse_location(input);
  if (!location) return tl::unexpected<Error>(location.error());
  if (location->from.empty()) location->from = from;
  if (location->until.empty()) location->until = until;
  FleetInput result{std::move(*location), {}};
  const auto first = time_of_fleet(result.location.from, "from"),
             last = time_of_fleet(result.location.until, "until");
  if (!first) return tl::unexpected<Error>(first.error());
  if (!last) return tl::unexpected<Error>(last.error());
  result.time = {*first, *last};
  if (*first && *last && **first >= **last)
    return fail(ErrorKind::kUsage,
                "from= must be before until=", "a date with each time, such as from=2026-11-27T02:00");
  return result;
}

}  // namespace

bool is_fleet(const std::string& input) {
  return clickhouse::is_location(input);
}

Result<model::Profile> open_fleet(const std::string& input, const std::string& from,
                                  const std::string& until) {
  const auto wanted = fleet_input(input, from, until);
  if (!wanted) return tl::unexpected<Error>(wanted.error());
  auto fetched = clickhouse::fetch(wanted->location, wanted->time);
  if (!fetched) return tl::unexpected<Error>(fetched.error());
  if (!fetched->notice.empty()) say("fathom: {}\n", fetched->notice);
  // The server has chosen the time: the same words must not cut the answer again.
  if (!from.empty()) fetched->profile.meta.facts[kCutFromFact] = from;
  if (!until.empty()) fetched->profile.meta.facts[kCutUntilFact] = until;
  return std::move(fetched->profile);
}

Result<std::vector<std::string>> inputs_by_host(const std::string& input, const std::string& from,
                                                const std::string& until) {
  const auto wanted = fleet_input(input, from, until);
  if (!wanted) return tl::unexpected<Error>(wanted.error());
  const auto hosts = clickhouse::hosts_in(wanted->location, wanted->time);
  if (!hosts) return tl::unexpected<Error>(hosts.error());
  if (hosts->empty()) return std::vector<std::string>{input};  // opening it says what there is
  std::vector<std::string> inputs;
  for (const std::string& host : *hosts)
    inputs.push_back(fmt::format("{}{}host={}", input, input.find('?') == std::string::npos ? '?' : '&',
                                 metrics::percent_encode(host)));
  return inputs;
}

}  // namespace fathom::cli
