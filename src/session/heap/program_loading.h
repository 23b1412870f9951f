// Whether a process may still be on its way to its first instruction, where its allocators would be looked for in vain.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace fathom::session {

// For how long to wait before one looks into a process that has just executed a program, by the names of the files
// whose code is mapped, in any order. The kernel tells of the program before it maps anything: nothing, or one file
// that may be a static program. Then glibc's dynamic linker maps libraries, the C library among the last. 0: all is
// there; musl's linker is its C library.
std::uint64_t loading_limit_ns(std::span<const std::string_view> file_names);

}  // namespace fathom::session
