// The pages of one column in one row group, as values. The bytes are a stranger's.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/parquet/footer.h"
#include "formats/parquet/table.h"

namespace fathom::parquet {

// Appends the values to `into`, and for lists their lengths. `bytes`: of the chunk. `where`: file and column, for messages.
// `budget`: bytes that pages may still unpack to; what they do is taken off.
// kMalformed: damaged, or without a value in a row. kUnsupported: an encoding that read_parquet() does not know.
Result<> read_pages(std::string_view bytes, const ChunkPlace& place, const Leaf& leaf, std::uint64_t rows,
                    const std::string& where, std::uint64_t& budget, Column& into);

}  // namespace fathom::parquet
