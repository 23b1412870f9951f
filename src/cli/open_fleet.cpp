#include "cli/open_fleet.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "analysis/core/words.h"
#include "base/clock.h"
#include "base/shell_word.h"
#include "cli/clock_time.h"
#include "cli/notices.h"
#include "cli/open_store.h"
#include "linux/metrics/http_url.h"
#include "tools/clickhouse/fetch.h"
#include "tools/clickhouse/location.h"
#include "tools/dataset/layout.h"
#include "tools/dataset/read.h"
#include "tools/push/profile_server.h"
#include "tools/pyroscope/query.h"
#include "tools/pyroscope/select.h"

namespace fathom::cli {
namespace {

struct FleetInput {
  clickhouse::Location location;
  std::string folder;  // of a dataset; empty: the location is a server
  clickhouse::TimeChoice time;
};

// "FOLDER?QUERY" as its two parts.
std::pair<std::string, std::string> folder_and_choice(const std::string& input) {
  std::error_code problem;
  const std::size_t mark = input.rfind('?');
  if (mark == std::string::npos || std::filesystem::is_directory(input, problem)) return {input, ""};
  return {input.substr(0, mark), input.substr(mark + 1)};
}

bool has_password(const std::string& input) {
  const std::string address = input.substr(0, input.find('?'));
  const std::size_t at = address.rfind('@');
  return at != std::string::npos && address.find(':', address.find("://") + 3) < at;
}

Result<> take_server(const std::string& input, FleetInput& result) {
  if (has_password(input))
    return fail(ErrorKind::kUsage, "a password in the address would be in the output of this command",
                "clickhouse://USER@HOST/DATABASE, with CLICKHOUSE_PASSWORD in the environment");
  auto location = clickhouse::parse_location(input);
  if (!location) return tl::unexpected<Error>(location.error());
  result.location = std::move(*location);
  return {};
}

Result<> take_dataset(const std::string& input, FleetInput& result) {
  auto [folder, choice] = folder_and_choice(input);
  result.folder = std::move(folder);
  auto taken = clickhouse::parse_choice(choice, result.location);
  if (!taken)
    return fail(taken.error().kind, taken.error().message,
                fmt::format("{}?service=NAME&from=-1h&host=a,b", shell_word(result.folder)));
  return {};
}

Result<std::optional<std::uint64_t>> time_of_fleet(const std::string& text, const char* name) {
  if (text.empty()) return std::optional<std::uint64_t>();
  const auto time = clock_time(text, wall_clock_ns());
  if (time) return std::optional(*time);
  return fail(ErrorKind::kUsage, fmt::format("{}={}: not a time", name, analysis::printable(text)),
              fmt::format("{0}=02:00, {0}=2026-11-27T02:00 or {0}=-1h", name));
}

Result<FleetInput> fleet_input(const std::string& input, const std::string& from, const std::string& until) {
  FleetInput result;
  const auto taken =
      clickhouse::is_location(input) ? take_server(input, result) : take_dataset(input, result);
  if (!taken) return tl::unexpected<Error>(taken.error());
  if (result.location.from.empty()) result.location.from = from;
  if (result.location.until.empty()) result.location.until = until;
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

// The last hour, unless times are named.
Result<model::Profile> open_pyroscope_profile(const std::string& input, const std::string& from,
                                              const std::string& until) {
  if (has_password(input))
    return fail(ErrorKind::kUsage, "a password in the address would be in the output of this command",
                "pyroscope://USER@HOST, with PYROSCOPE_PASSWORD in the environment");
  auto query = pyroscope::parse_query(input);
  if (!query) return tl::unexpected<Error>(query.error());
  if (query->from.empty()) query->from = from;
  if (query->until.empty()) query->until = until;
  const auto first = time_of_fleet(query->from.empty() ? "-1h" : query->from, "from"),
             last = time_of_fleet(query->until.empty() ? "now" : query->until, "until");
  if (!first) return tl::unexpected<Error>(first.error());
  if (!last) return tl::unexpected<Error>(last.error());
  if (**first >= **last)
    return fail(ErrorKind::kUsage,
                "from= must be before until=", "a date with each time, such as from=2026-11-27T02:00");
  return pyroscope::select_profile(*query, **first, **last);
}

bool is_pyroscope_input(const std::string& input) {
  return push::is_server_url(input, "pyroscope");
}

}  // namespace

bool is_fleet(const std::string& input) {
  return clickhouse::is_location(input) || is_pyroscope_input(input) ||
         dataset::is_dataset(folder_and_choice(input).first);
}

Result<model::Profile> open_fleet(const std::string& input, const std::string& from,
                                  const std::string& until) {
  if (is_pyroscope_input(input)) {
    auto profile = open_pyroscope_profile(input, from, until);
    if (!profile) return profile;
    if (!from.empty()) profile->meta.facts[kCutFromFact] = from;
    if (!until.empty()) profile->meta.facts[kCutUntilFact] = until;
    return profile;
  }
  const auto wanted = fleet_input(input, from, until);
  if (!wanted) return tl::unexpected<Error>(wanted.error());
  auto fetched = wanted->folder.empty() ? clickhouse::fetch(wanted->location, wanted->time)
                                        : dataset::read(wanted->folder, wanted->location, wanted->time);
  if (!fetched) return tl::unexpected<Error>(fetched.error());
  if (!fetched->notice.empty()) say("fathom: {}\n", fetched->notice);
  // The server has chosen the time: the same words must not cut the answer again.
  if (!from.empty()) fetched->profile.meta.facts[kCutFromFact] = from;
  if (!until.empty()) fetched->profile.meta.facts[kCutUntilFact] = until;
  return std::move(fetched->profile);
}

Result<std::vector<std::string>> inputs_by_host(const std::string& input, const std::string& from,
                                                const std::string& until) {
  // Pyroscope merges by itself.
  if (is_pyroscope_input(input)) return std::vector<std::string>{input};
  const auto wanted = fleet_input(input, from, until);
  if (!wanted) return tl::unexpected<Error>(wanted.error());
  const auto hosts = wanted->folder.empty()
                         ? clickhouse::hosts_in(wanted->location, wanted->time)
                         : dataset::hosts_in(wanted->folder, wanted->location, wanted->time);
  if (!hosts) return tl::unexpected<Error>(hosts.error());
  if (hosts->empty()) return std::vector<std::string>{input};  // opening it says what there is
  if (*hosts == wanted->location.hosts) return std::vector<std::string>{input};  // the only one
  const bool has_choice =
      wanted->folder.empty() ? input.find('?') != std::string::npos : input.size() != wanted->folder.size();
  std::vector<std::string> inputs;
  for (const std::string& host : *hosts)
    inputs.push_back(
        fmt::format("{}{}host={}", input, has_choice ? '&' : '?', metrics::percent_encode(host)));
  return inputs;
}

}  // namespace fathom::cli
