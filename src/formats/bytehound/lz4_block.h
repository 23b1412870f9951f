// One block of LZ4, without a frame around it. Source: LZ4's "Block Format Description".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fathom::formats {

// What it unpacks to is appended to `out`, at most `most` bytes of it: then it ends, which is no error. False: the block is
// damaged, and `out` holds what came before that.
bool unpack_lz4_block(std::string_view block, std::size_t most, std::string& out);

}  // namespace fathom::formats
