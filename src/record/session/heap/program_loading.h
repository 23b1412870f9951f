// Whether a process may not have reached its first instruction yet, when a search for its allocators would
// find nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace fathom::session {

// How long to wait before inspecting a process that has just executed a program, judged by the names of the
// files whose code is mapped, in any order. The kernel announces the program before it maps anything:
// nothing, or one file that may be a static program. Then glibc's dynamic linker maps libraries, the C
// library among the last. 0: loading is complete; musl's linker is its C library.
std::uint64_t loading_limit_ns(std::span<const std::string_view> file_names);

}  // namespace fathom::session
