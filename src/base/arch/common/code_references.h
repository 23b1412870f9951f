// What the instructions of a program say about where functions begin, and where threads end: for programs that carry
// neither symbols nor call frame information. One pass over the code, decoded from its first byte on, about 15 ns an
// instruction; behind bytes that are none it goes on with the next byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fathom::arch {

struct CodeReferences {
  std::vector<std::uint64_t> calls;      // targets of direct calls
  std::vector<std::uint64_t> addresses;  // that code takes relative to itself; of data too
  std::vector<std::uint64_t>
      constants;  // 32-bit immediates, which may be addresses in a program of fixed place
};

// `address` is where `code` begins. Appends, unsorted and with repetitions.
void add_references(std::span<const std::byte> code, std::uint64_t address, CodeReferences& out);

// A call after which the thread ends by a system call: the code around it has no caller. That is how C
// libraries start a thread.
struct ThreadStart {
  std::uint64_t start, end;  // from the call to behind the system call
};
std::vector<ThreadStart> thread_starts(std::span<const std::byte> code, std::uint64_t address);

// Does the code begin with the system call that ends a signal handler?
bool is_signal_return(std::span<const std::byte> code);

}  // namespace fathom::arch
