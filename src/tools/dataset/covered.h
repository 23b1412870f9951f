// What a dataset has of the time of a store.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "tools/clickhouse/rows.h"
#include "tools/push/destination.h"

namespace fathom::dataset {

// Windows of stores of this service and host that overlap `whole`. kMalformed and kUnsupported: a file that cannot be read.
Result<std::vector<clickhouse::TimeSpan>> covered_times(const std::string& dataset,
                                                        const push::Labels& labels,
                                                        const clickhouse::TimeSpan& whole);

}  // namespace fathom::dataset
