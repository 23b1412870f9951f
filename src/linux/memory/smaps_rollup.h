// The memory of a process as sums over all its mappings: what it shares with other processes, what it changed, and what it freed
// with MADV_FREE. Source: proc(5), /proc/PID/smaps_rollup (Linux 4.14).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fathom::sources {

// Bytes. A page is shared if a second process has it mapped too, and dirty if it differs from its file or has none. The first four
// add up to RSS. PSS divides each shared page by the number of its processes.
struct SmapsRollup {
  std::uint64_t private_clean = 0, private_dirty = 0, shared_clean = 0, shared_dirty = 0;
  std::uint64_t proportional = 0;  // PSS
  std::uint64_t lazy_free = 0;     // freed with MADV_FREE, still resident
  bool operator==(const SmapsRollup&) const = default;
};

// nullopt: a line of it is missing, or is no number.
std::optional<SmapsRollup> parse_smaps_rollup(std::string_view text);

// nullopt: it may not be read, this kernel does not report it, or the process is too large: the kernel walks all pages of a mapping
// under the lock of the mappings, so a thread that maps memory would wait 33 ms for each GiB.
inline constexpr std::uint64_t kMostResidentForRollup = 512 << 20;  // bytes: 17 ms
std::optional<SmapsRollup> read_smaps_rollup(std::int32_t pid);

}  // namespace fathom::sources
