// How alike two words are, for "did you mean".
#pragma once

#include <cstddef>
#include <string_view>

namespace fathom {

// How many letters are to be changed, put in or taken out; two that are transposed count as one. Takes time and room as the
// product of the lengths.
std::size_t word_distance(std::string_view a, std::string_view b);

}  // namespace fathom
