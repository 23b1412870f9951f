// Memory that was freed with MADV_FREE and is still resident. Source: proc(5), "LazyFree" of /proc/PID/smaps_rollup (Linux 4.12).
#pragma once

#include <cstdint>
#include <optional>

namespace fathom::sources {

// Bytes. nullopt: it may not be read, this kernel does not report it, or the process is too large: the kernel walks all pages of a
// mapping under the lock of the mappings, so a thread that maps memory would wait 33 ms for each GiB.
inline constexpr std::uint64_t kMostResidentForLazyFree = 512 << 20;  // bytes: 17 ms
std::optional<std::uint64_t> read_lazy_free(std::int32_t pid);

}  // namespace fathom::sources
