// A fact of each process: how much it read from block devices while it was recorded, as its I/O counters say. A wait for a ring of
// io_uring does not show whether the ring has files or sockets in it; this does.
#pragma once

#include <cstdint>
#include <string>

namespace fathom::model {

// The key of the fact about process `pid`; its value is a number of bytes. Missing: not known.
inline std::string block_reads_fact(std::int32_t pid) {
  return "block_reads." + std::to_string(pid);
}

}  // namespace fathom::model
