// clickhouse://[USER[:PASSWORD]@]HOST[:PORT][/DATABASE][?QUERY]: a database, and which rows of it. clickhouse+https:// is the same
// over TLS. Pure but for the environment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "linux/metrics/http_url.h"

namespace fathom::clickhouse {

struct Location {
  metrics::HttpUrl server;  // target is "/"
  std::string database = "default";
  std::string cluster;  // tables of this cluster, spread over its servers; empty: of one server
  // Which rows: empty means all.
  std::string service;
  std::vector<std::string> hosts, versions;
  std::vector<std::string> other_hosts;  // all but these: host=!NAME
  std::string metric;                    // as model::metric_from() takes it
  std::string from, until;               // as the command line takes times
};

// True for text that parse_location() is meant for.
bool is_location(std::string_view text);

// "service=NAME&host=a,b": the part of a location that chooses rows. kUsage: a word that chooses nothing.
Result<> parse_choice(std::string_view query, Location& location);

// User and password default to the variables CLICKHOUSE_USER and CLICKHOUSE_PASSWORD. kUsage: anything else; errors hide passwords.
Result<Location> parse_location(std::string_view text);

}  // namespace fathom::clickhouse
