// What the instructions of one function do, as hints of its purpose: where it goes, which data it names, and
// a few signs of an allocator's fast path. Decoded in address order from its first byte to its last.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/arch/common/stable_code.h"

namespace fathom::arch {

struct FunctionFacts {
  // Ascending, each once. Addresses as the code has them.
  std::vector<std::uint64_t> calls;   // called directly
  std::vector<std::uint64_t> jumps;   // jumped to directly, outside of the function
  std::vector<std::uint64_t> words;   // called or jumped to through the word there
  std::vector<std::uint64_t> data;    // named otherwise: relative to the code, or as a number within `image`
  std::uint32_t call_count = 0;       // direct ones and others
  std::uint32_t thread_accesses = 0;  // instructions that use memory of the thread's own, stack guards aside
  // Of the first two arguments: compared with one of the wanted bounds.
  std::array<bool, 2> is_bounded{};
  // Of the first three arguments: compared with nothing but 0 before anything was called.
  std::array<bool, 3> is_zero_tested{};
  bool divides_by_8 = false;    // shifts something right by 3
  bool counts_zeros = false;    // asks for the number of zeros at the end of a word
  std::uint64_t sets_bits = 0;  // by constants that something is joined with by "or"
};

// `code` is one whole function at `start`. nullopt: not all of it are instructions.
std::optional<FunctionFacts> function_facts(std::span<const std::byte> code, std::uint64_t start,
                                            const ImageRange& image, std::span<const std::uint32_t> bounds);

}  // namespace fathom::arch
