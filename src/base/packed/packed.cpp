#include "base/packed/packed.h"

#include <zstd.h>

#include <stdexcept>

namespace fathom::packed {

void unpack(const File& file, std::span<std::byte> room) {
  const std::size_t size = ZSTD_decompress(room.data(), room.size(), file.bytes, file.packed_size);
  if (ZSTD_isError(size) != 0 || size != file.size)
    throw std::logic_error("a file inside of the program cannot be unpacked: the program is damaged");
}

std::string text_of(const File& file) {
  std::string text(file.size, '\0');
  unpack(file, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace fathom::packed
