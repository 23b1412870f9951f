// Any bytes as packed .xz: the output stays within its limit.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "binary/elf/xz_data.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kLimit = 1 << 20;
  const auto unpacked = fathom::elf::unpack_xz(std::as_bytes(std::span(data, size)), kLimit);
  if (unpacked && unpacked->size() > kLimit) std::abort();
  return 0;
}
