#include "sources/memory/lazy_free.h"

#include <fmt/format.h>

#include "base/files.h"
#include "sources/memory/number_file.h"

namespace fathom::sources {

std::optional<std::uint64_t> read_lazy_free(std::int32_t pid) {
  const auto text = read_file(fmt::format("/proc/{}/smaps_rollup", pid), kMostOfKernelFile);
  return text ? kilobytes_of(*text, "LazyFree:") : std::nullopt;
}

}  // namespace fathom::sources
