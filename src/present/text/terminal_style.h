// What a terminal draws beyond letters: bold and faint text (SGR), links to source files (OSC 8), and bars of block characters.
// Only for output that has colours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::present {

// Bytes of the sequence at the start of `text` that draws nothing by itself: "ESC [ 1 m", or the start or end of a link to a file as
// linked_place() writes it. 0: there is none. Other sequences are commands to the terminal and are none of these.
std::size_t style_length(std::string_view text);

std::string in_bold(std::string_view text);
// The first place of each name in `text`, in bold. Names of no text are skipped.
std::string with_bold_names(std::string text, const std::vector<std::string>& names);

// `text` as a link to the source file `path`, which a terminal opens on a click. Only an absolute path can be opened; with any
// other, `text` is returned as it is. What is no letter or digit in the path is written as %XX.
std::string linked_place(std::string_view text, std::string_view path);

// A bar of `share` (0 to 1) of `columns` columns, in steps of an eighth of a column. Something above 0 is at least one step long.
std::string share_bar(double share, std::size_t columns);

}  // namespace fathom::present
