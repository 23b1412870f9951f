// Files that are part of the program, compressed, because most runs need few of them. CMakeLists.txt says how they get here.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace fathom::packed {

struct File {
  const unsigned char* bytes;
  std::size_t packed_size, size;
};

// `room` has as many bytes as the file.
void unpack(const File& file, std::span<std::byte> room);
std::string text_of(const File& file);

}  // namespace fathom::packed
