// Arrays of BPF programs, mapped piece by piece. All of them mapped at once would be memory of this process, page
// by page (26 MB before anything was recorded), and take the kernel 8 ms to map and to take away again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/mapping.h"

namespace fathom::sources {

// Writes `bytes` to the array of `map_fd` (BPF_F_MMAPABLE) at `offset`; nothing of it stays mapped. False: the kernel
// refuses to map it.
bool write_array(int map_fd, std::uint64_t offset, std::span<const std::byte> bytes);

// An array whose elements are shared with programs for as long as this lives. A piece is mapped when an element of it
// is first asked for. One thread.
class ArrayPieces {
 public:
  ArrayPieces(int map_fd, std::size_t element_size, std::size_t count);
  // Null: the kernel refuses to map it.
  void* at(std::size_t index);

 private:
  int map_fd_;
  std::size_t element_size_, count_, piece_bytes_ = 0;
  std::vector<Mapping> pieces_;
};

}  // namespace fathom::sources
