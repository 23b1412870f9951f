// A word of a command that a user copies to a shell: the name of a file may have a space.
#pragma once

#include <string>
#include <string_view>

namespace fathom {

// As it is, where a shell leaves it alone; else between single quotes.
std::string shell_word(std::string_view word);

}  // namespace fathom
