// A wrong argument in one line, and what was probably meant. Pure: CLI11's own messages mention types and the
// largest double, and suggest no similar words.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fathom::cli {

// The one of `words` that `typed` stands for: mistyped by at most two letters, of which transposed ones count as one,
// or the only one that begins with it. Empty: none is near.
std::string nearest_word(std::string_view typed, const std::vector<std::string>& words);

// Of a first word that is no command.
Error no_such_command(std::string_view word, const std::vector<std::string>& commands);

// Of the first option or argument of `command` whose value is empty, as with an unset variable of a script: "the newest recording"
// and "no limit" are not what it means. nullopt: none is. `words`: the command line. Texts and arguments of a launched command may
// be empty.
std::optional<Error> empty_value(const CLI::App& command, const std::vector<std::string>& words);

// What helps with an error of a kind if nothing better is known; "" where nothing does. `command`: its name, or "".
std::string usual_remedy(ErrorKind kind, std::string_view command);

// Of what CLI11 refused. `command`: the one that was named, or null.
Error wrong_usage(const CLI::ParseError& error, const CLI::App* command);

}  // namespace fathom::cli
