// The instructions of a function without what a linker chose: where it calls to, where its data lies. Two builds of a program
// have the same bytes here for a function that was not changed, wherever they put it, so a function without a name is found
// again by them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/address.h"

namespace fathom::arch {

// What a file that is not relocatable as a whole occupies: its code holds such addresses as plain numbers.
struct ImageRange {
  std::uint64_t first = 0, end = 0;  // ELF addresses; first is 0 where code holds none
};

// `code` is one whole function that begins at `start`. Jumps inside of it stay. nullopt: not all of it are instructions, or it
// is so short that many others look like it.
std::optional<std::vector<std::byte>> stable_code(std::span<const std::byte> code, ElfAddress start,
                                                  const ImageRange& image);

}  // namespace fathom::arch
