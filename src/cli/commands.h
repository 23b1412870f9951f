// The table of the subcommands.
#pragma once

#include <span>

#include "cli/command.h"

namespace fathom::cli {

struct Command {
  const char* group;  // of the help
  const char* name;
  const char* description;
  Run (*add)(CLI::App&);
};

// Those of this build, in the order of the help.
std::span<const Command> commands();

}  // namespace fathom::cli
