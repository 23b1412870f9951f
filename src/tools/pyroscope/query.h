// pyroscope://HOST[:PORT][/PATH]?query=TYPE{LABEL="VALUE"}&from=-1h: a Pyroscope server, and which of its profiles. Instead of a
// query: service=NAME, and with it metric= and host=, as fathom sends them. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "linux/metrics/http_url.h"

namespace fathom::pyroscope {

struct Query {
  metrics::HttpUrl server;     // the target is the path before those of the API
  std::string type, selector;  // "process_cpu:cpu:nanoseconds:cpu:nanoseconds", "{service_name=\"reth\"}"
  std::string tenant;          // of a server with several; empty: none
  std::string from, until;     // as the command line takes times
};

// kUsage: anything else, with what is wrong. Errors hide passwords.
Result<Query> parse_query(std::string_view text);

}  // namespace fathom::pyroscope
