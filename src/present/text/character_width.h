// The columns that text takes in a terminal.
#pragma once

#include <cstddef>
#include <string_view>

namespace fathom::present {

struct Character {
  std::size_t bytes = 1;
  std::size_t columns = 1;
};

// The first one of a text that is not empty. What is no UTF-8 takes a column for each byte, as terminals show it.
Character first_character(std::string_view text);

}  // namespace fathom::present
