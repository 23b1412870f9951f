// Where the stacks of coroutines and fibers begin. A library that makes a context writes an address in its
// own code as the return address of the context's first function: no call was made there, so unwind
// information for that place and for the byte before it describes no frame. Sources: glibc's makecontext
// (__start_context), Boost.Context's make_fcontext.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace fathom::arch {

// Offsets in the searched code: `start` is the address that stands as a return address, [start, end) runs when the context's
// function returns.
struct ContextStart {
  std::size_t start, end;
  bool operator==(const ContextStart&) const = default;
};
std::vector<ContextStart> context_starts(std::span<const std::byte> code);

}  // namespace fathom::arch
