// What the keys do, for the screen of help and the manual.
#pragma once

#include <string>

namespace fathom::tui {

std::string help_text();

}  // namespace fathom::tui
