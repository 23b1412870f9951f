// What a user types most often, for --help, the manual pages and docs/commands.md.
#pragma once

#include <span>
#include <string_view>

namespace fathom::cli {

struct Example {
  std::string_view command;  // the subcommand that it belongs to; "" of fathom itself
  std::string_view line;
  std::string_view meaning;
};

// In the order in which they are shown; empty for a command without examples.
std::span<const Example> examples_of(std::string_view command);

}  // namespace fathom::cli
