// The instructions of a function without the parts a linker chose: call targets and data addresses. Two
// builds of a program have the same bytes here for an unchanged function at any address, so they identify a
// function without a name.
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
