// What stands at the end of a Parquet file: the columns, and where their pages are. The bytes are a stranger's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fathom::parquet {

// A column of values; a list has its values one level deeper.
struct Leaf {
  std::vector<std::string_view> path;
  std::int32_t type = -1, converted = -1;
  unsigned most_defined = 0, most_repeated = 0;
};

struct ChunkPlace {
  std::int32_t codec = 0;
  std::uint64_t values = 0, first_byte = 0, byte_count = 0;
};

struct RowGroup {
  std::uint64_t rows = 0;
  std::vector<ChunkPlace> chunks;  // one for each leaf, inside of the file
};

struct Footer {
  std::vector<Leaf> leaves;
  std::vector<RowGroup> groups;
};

// Views into `file`, which outlives it. kMalformed, with what is damaged. `name` is the file's, for messages.
Result<Footer> read_footer(std::string_view file, const std::string& name);

}  // namespace fathom::parquet
