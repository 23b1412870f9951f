// Any bytes as a packed file: the output stays within its limit.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/packed/unpacker.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kLimit = 1 << 20;
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  if (!fathom::packed::is_packed(content)) return 0;
  const auto unpacked = fathom::packed::unpacked(content, "input", kLimit);
  if (unpacked && unpacked->size() > kLimit) std::abort();
  return 0;
}
