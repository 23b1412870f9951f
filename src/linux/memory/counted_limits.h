// How close a process is to limits that are counted: mappings, descriptors, threads, locked and committed
// memory. Sources: proc(5) (/proc/PID/maps, fd, limits, status), sysctl vm.max_map_count and
// vm.overcommit_memory, /proc/meminfo, cgroups(7) pids.max.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/counted_limit.h"

namespace fathom::sources {

// Some 30 us, and 0.5 us for each mapping. What cannot be read, and what has no limit, is left out. The kernel takes the lock of
// the process's mappings for a page of text at a time, so the target waits for no more than that.
std::vector<model::CountedLimit> read_counted_limits(std::int32_t pid);

// The soft limit of `name` ("Max open files") in /proc/PID/limits; 0: it has none.
std::uint64_t soft_limit(std::string_view limits, std::string_view name);

}  // namespace fathom::sources
