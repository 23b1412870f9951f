#include "linux/memory/smaps_rollup.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "base/files.h"
#include "base/parse.h"
#include "linux/memory/number_file.h"
#include "linux/process/fields.h"

namespace fathom::sources {

std::optional<SmapsRollup> parse_smaps_rollup(std::string_view text) {
  SmapsRollup rollup;
  for (const auto& [name, member] :
       {std::pair("Private_Clean:", &SmapsRollup::private_clean),
        std::pair("Private_Dirty:", &SmapsRollup::private_dirty),
        std::pair("Shared_Clean:", &SmapsRollup::shared_clean),
        std::pair("Shared_Dirty:", &SmapsRollup::shared_dirty), std::pair("Pss:", &SmapsRollup::proportional),
        std::pair("LazyFree:", &SmapsRollup::lazy_free)}) {
    const auto bytes = kilobytes_of(text, name);
    if (!bytes) return std::nullopt;
    rollup.*member = *bytes;
  }
  return rollup;
}

std::optional<SmapsRollup> read_smaps_rollup(std::int32_t pid) {
  const auto sizes =
      read_file(fmt::format("/proc/{}/statm", pid), kMostOfKernelFile);  // pages: all, resident, ...
  if (!sizes) return std::nullopt;
  std::string_view fields = *sizes;
  process::next_field(fields);
  const auto pages = parse_number(process::next_field(fields));
  const auto page_size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  if (!pages || *pages > kMostResidentForRollup / page_size) return std::nullopt;
  const auto text = read_file(fmt::format("/proc/{}/smaps_rollup", pid), kMostOfKernelFile);
  return text ? parse_smaps_rollup(*text) : std::nullopt;
}

}  // namespace fathom::sources
