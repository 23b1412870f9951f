// Options that are seconds take a unit, too: 500ms, 10s, 2min, 1h.
#pragma once

#include <CLI/CLI.hpp>

namespace fathom::cli {

// For `->transform(...)` of an option that is a number of seconds. A number without a unit stays what it is, and so does
// every other text: the option's own checks name what they expect.
CLI::Validator seconds_word();

}  // namespace fathom::cli
