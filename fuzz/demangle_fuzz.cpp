// Symbol names are chosen by the author of the binary. Bounded output, bounded time, no crash.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "binary/symbolize/demangle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto name = fathom::symbolize::demangle(text);
  if (name.size() > 128 * 1024) std::abort();
  if (text.empty() != name.empty()) std::abort();
  return 0;
}
