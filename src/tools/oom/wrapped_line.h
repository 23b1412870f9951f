// A line of a log that a terminal, a mail or a document has wrapped: the rest of a message of several values stands on lines of
// its own, often indented.
#pragma once

#include <string>
#include <string_view>

namespace fathom::oom {

// Whether `line` is the rest of `message`. Both as plain_line() gives them, which for `line` must have no time, host or level in
// front.
bool continues(std::string_view message, std::string_view line);

// The message with that rest.
std::string joined(std::string_view message, std::string_view line);

}  // namespace fathom::oom
