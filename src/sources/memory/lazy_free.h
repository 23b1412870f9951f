// Memory that was freed with MADV_FREE and is still resident. Source: proc(5), "LazyFree" of /proc/PID/smaps_rollup (Linux 4.12).
#pragma once

#include <cstdint>
#include <optional>

namespace fathom::sources {

// Bytes. nullopt: it may not be read, or this kernel does not report it. The kernel walks all pages of the process (some 10 ms for
// each GiB) and gives the lock of its mappings away as soon as the process wants it.
std::optional<std::uint64_t> read_lazy_free(std::int32_t pid);

}  // namespace fathom::sources
