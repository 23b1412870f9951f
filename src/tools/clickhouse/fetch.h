// Rows in ClickHouse to a profile: the server adds up, and what comes back is as large as the stacks, not as the samples.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/profile.h"
#include "tools/clickhouse/location.h"

namespace fathom::clickhouse {

struct TimeChoice {
  std::optional<std::uint64_t> from_unix_ns = {},
                               until_unix_ns = {};  // windows that began in it; open where nothing is said
};

struct Fetched {
  model::Profile profile;  // has passed check(); times are known as a whole only
  std::string notice;      // a sentence about what was chosen for the user; empty: nothing
};

// Without a time: the hour before the end of the newest window. Without a service: the only one. kNotFound: no window, with what there
// is; kUsage: several services.
Result<Fetched> fetch(const Location& location, const TimeChoice& time, int stop = -1);

// The hosts that have windows in this time, sorted: each is a run of its own in a comparison.
Result<std::vector<std::string>> hosts_in(const Location& location, const TimeChoice& time, int stop = -1);

}  // namespace fathom::clickhouse
