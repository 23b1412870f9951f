// A dataset as a profile: what tools/clickhouse/fetch.h does with a server, of files.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "tools/clickhouse/fetch.h"
#include "tools/clickhouse/location.h"

namespace fathom::dataset {

// Of `choice` only what chooses rows counts. Time, service and errors are as of clickhouse::fetch(); kMalformed and kUnsupported:
// a file that is damaged or cannot be read.
Result<clickhouse::Fetched> read(const std::string& folder, const clickhouse::Location& choice,
                                 const clickhouse::TimeChoice& time);

// The hosts that have windows in this time, sorted.
Result<std::vector<std::string>> hosts_in(const std::string& folder, const clickhouse::Location& choice,
                                          const clickhouse::TimeChoice& time);

}  // namespace fathom::dataset
