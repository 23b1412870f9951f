// A table as the bytes of one Parquet file: one row group, one page for each column, texts with a dictionary, packed with zstd.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "formats/parquet/table.h"

namespace fathom::parquet {

using Metadata = std::vector<std::pair<std::string, std::string>>;  // of the file: keys and values

// The same table gives the same bytes. kUnsupported: a column of 2 GiB or more. kSystem: out of memory.
Result<std::string> write_parquet(const Table& table, const Metadata& metadata);

}  // namespace fathom::parquet
