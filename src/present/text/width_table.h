// Made by make_width_table.cpp.
#pragma once

#include <cstdint>
#include <span>

namespace fathom::present {

// Where the width of characters changes, in ascending order: four times the first character, plus the width
// from there.
extern const std::span<const std::uint32_t> kWidthChanges;

}  // namespace fathom::present
