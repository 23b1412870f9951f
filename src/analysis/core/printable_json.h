// JSON that is shown in a terminal, too.
#pragma once

#include <string>

namespace fathom::analysis {

// The same text with every character that printable() (words.h) replaces beyond ASCII as an escape: so no name of a file or a
// function can command a terminal, and none is lost. `json` is valid UTF-8, as nlohmann's dump() makes it.
std::string printable_json(std::string json);

}  // namespace fathom::analysis
