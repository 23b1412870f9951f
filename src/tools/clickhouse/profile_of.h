// What the server added up, as a profile. Pure; the bytes are a stranger's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/profile.h"

namespace fathom::clickhouse {

// What the chosen windows are.
struct Extent {
  std::uint64_t markers = 0, windows = 0;  // more markers than windows: some are there twice
  std::uint32_t from_unix_s = 0;
  double until_unix_s = 0;
  std::uint64_t length_ns = 0;               // sum over hosts
  std::vector<std::string> hosts, versions;  // sorted
};

// Where the rows come from.
struct Origin {
  std::string service;
  std::string place;   // for messages
  std::string stacks;  // what has the stacks, for messages: "the table fathom_stacks"
  std::string format;  // as meta.facts["format"] has it
};

// `stacks` and `sums`: rows in RowBinary, as fetch() asks for them. A stack that is missing becomes "[stack not found]", and a note
// counts them. CPU values of one rate stay samples; of several rates they become times.
Result<model::Profile> profile_of(const Origin& origin, const Extent& extent, const std::string& stacks,
                                  const std::string& sums);

}  // namespace fathom::clickhouse
