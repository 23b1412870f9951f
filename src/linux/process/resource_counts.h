// What a process holds that is counted and that it must give back itself: descriptors, threads, child processes. Source: proc(5),
// /proc/PID/fd, task and task/TID/children. nullopt: it may not be read, or the process is gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace fathom::process {

// 2 us. Kernels before 6.2 list them: some 0.1 us more for each.
std::optional<std::uint64_t> count_descriptors(std::int32_t pid);
std::optional<std::uint64_t> count_threads(std::int32_t pid);

struct ChildCounts {
  std::uint64_t all = 0;      // zombies among them
  std::uint64_t zombies = 0;  // that ended, and that the process has not waited for
  bool operator==(const ChildCounts&) const = default;
};
// Reads the state of at most 256 of the children, spread over all of them; the others count like these. nullopt also of kernels
// without CONFIG_PROC_CHILDREN.
std::optional<ChildCounts> count_children(std::int32_t pid);

// "socket", "pipe", "eventpoll", or the path of a file, from the link of a descriptor.
std::string descriptor_kind(std::string_view link);
// The kinds of the `most` descriptors with the highest numbers: of a process that never closes any, the newest.
std::map<std::string, std::size_t> kinds_of_newest_descriptors(std::int32_t pid, std::size_t most);

}  // namespace fathom::process
