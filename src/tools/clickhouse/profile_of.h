// What the server added up, as a profile. Pure; the bytes are a stranger's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/profile.h"
#include "tools/clickhouse/location.h"

namespace fathom::clickhouse {

// What the chosen windows are.
struct Extent {
  std::uint64_t markers = 0, windows = 0;  // more markers than windows: some are there twice
  std::uint32_t from_unix_s = 0;
  double until_unix_s = 0;
  std::uint64_t length_ns = 0;               // sum over hosts
  std::vector<std::string> hosts, versions;  // sorted
};

// `stacks` and `sums`: rows in RowBinary, as fetch() asks for them. A stack that is missing becomes "[stack not found]", and a note
// counts them. CPU values of one rate stay samples; of several rates they become times.
Result<model::Profile> profile_of(const Location& location, const Extent& extent, const std::string& stacks,
                                  const std::string& sums);

}  // namespace fathom::clickhouse
