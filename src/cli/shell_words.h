// A text as a shell parts it into words.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace fathom::cli {

// Quotes and backslashes work as in a POSIX shell; nothing is expanded. nullopt: a quote has no end.
std::optional<std::vector<std::string>> shell_words(const std::string& text);

}  // namespace fathom::cli
