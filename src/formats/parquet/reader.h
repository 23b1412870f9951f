// The bytes of one Parquet file as a table. They are a stranger's: any engine may have written them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/parquet/table.h"

namespace fathom::parquet {

// More values than this in one column are not read: a damaged file may claim any number in a few bytes.
inline constexpr std::uint64_t kMostValues = std::uint64_t{16} << 20;

// The wanted columns in their order; others are skipped. kMalformed: damaged, or a column is missing that may not, or has another type.
// kUnsupported: a packing or an encoding that is not read, or too many values. `name` is the file's, for messages.
Result<Table> read_parquet(std::string_view file, const std::string& name,
                           std::span<const ColumnInfo> wanted);

}  // namespace fathom::parquet
