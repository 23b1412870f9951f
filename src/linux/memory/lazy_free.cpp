#include "linux/memory/lazy_free.h"

#include <fmt/format.h>
#include <unistd.h>

#include <string_view>

#include "base/files.h"
#include "linux/memory/number_file.h"
#include "linux/process/fields.h"

namespace fathom::sources {

std::optional<std::uint64_t> read_lazy_free(std::int32_t pid) {
  const auto sizes =
      read_file(fmt::format("/proc/{}/statm", pid), kMostOfKernelFile);  // pages: all, resident, ...
  if (!sizes) return std::nullopt;
  std::string_view fields = *sizes;
  process::next_field(fields);
  const auto pages = process::parse_number(process::next_field(fields));
  const auto page_size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  if (!pages || *pages > kMostResidentForLazyFree / page_size) return std::nullopt;
  const auto text = read_file(fmt::format("/proc/{}/smaps_rollup", pid), kMostOfKernelFile);
  return text ? kilobytes_of(*text, "LazyFree:") : std::nullopt;
}

}  // namespace fathom::sources
