// Words of a command line as a shell takes them.
#pragma once

#include <string>
#include <string_view>

namespace fathom::tui {

// As it is, where a shell leaves it alone; else between single quotes.
std::string shell_word(std::string_view word);

}  // namespace fathom::tui
