// What all our pictures need to write SVG: short numbers, lines of text, the hash of a script.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::present {

// A coordinate, to a hundredth of a pixel.
std::string number(double value);

// `text` in lines of at most `columns`, broken at blanks.
std::vector<std::string> wrap(std::string_view text, std::size_t columns);

// The bytes that `hex` stands for, as a Content-Security-Policy wants them.
std::string base64(std::string_view hex);

// "<?xml ...": the declaration, and a comment that says what picture this is and which policy lets its script
// run.
std::string svg_prologue(std::string_view picture, std::string_view script_sha256);

}  // namespace fathom::present
