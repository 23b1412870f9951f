// Rows of many hosts as an input of the commands that read recordings: clickhouse://HOST/DATABASE?service=NAME&from=-1h&host=a,b,
// and the same choice after the name of a folder with Parquet files. pyroscope://HOST?service=NAME is a profile that the server merges.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/profile.h"

namespace fathom::cli {

bool is_fleet(const std::string& input);

// `from`, `until`: where the input names no time; "" leaves it open. kUsage for an input with a password, which would be in the output.
Result<model::Profile> open_fleet(const std::string& input, const std::string& from,
                                  const std::string& until);

// One input for each host that the input covers: hosts are the repeats of a comparison.
Result<std::vector<std::string>> inputs_by_host(const std::string& input, const std::string& from,
                                                const std::string& until);

}  // namespace fathom::cli
