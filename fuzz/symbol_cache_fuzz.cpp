// The cache is a file that may be damaged in any way. The input is the part after the checksum, so that it
// reaches the reader; accepted input must come back the same after writing it again.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "binary/symbolize/symbol_cache.h"

namespace {

using fathom::symbolize::CachedNames;

void read(std::span<const std::byte> bytes) {
  const auto names = CachedNames::decode(bytes, "id", "stamp");
  if (!names) return;
  const auto again = names->encode("id", "stamp");
  const auto second = CachedNames::decode(again, "id", "stamp");
  if (!second || second->size() != names->size() || second->encode("id", "stamp") != again) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read(std::as_bytes(std::span(data, size)));
  std::vector<std::byte> sealed = CachedNames().encode("id", "stamp");
  constexpr std::size_t kHeader = 8 + 4 + 8, kIdentityAndStamp = 1 + 2 + 1 + 5;
  sealed.resize(kHeader + kIdentityAndStamp);
  const auto input = std::as_bytes(std::span(data, size));
  sealed.insert(sealed.end(), input.begin(), input.end());
  const std::uint64_t checksum = XXH3_64bits(sealed.data() + kHeader, sealed.size() - kHeader);
  std::memcpy(sealed.data() + kHeader - sizeof checksum, &checksum, sizeof checksum);
  read(sealed);
  return 0;
}
