// --cgroup, --unit and --container: all processes of a control group as the target; -a: all there are.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/result.h"
#include "linux/process/group.h"

namespace fathom::cli {

struct GroupArguments {
  std::string path, unit, container;
  bool machine = false;
  int given() const { return !path.empty() + !unit.empty() + !container.empty() + machine; }
};
// `arguments` outlives the parsing.
void add_group_options(CLI::App& app, GroupArguments& arguments);

// The one that was given, with a title that can be printed. kNotFound also where it has no process.
Result<process::Group> find_group(const GroupArguments& arguments);

}  // namespace fathom::cli
