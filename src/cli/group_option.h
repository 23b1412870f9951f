// --cgroup, --unit and --container: all processes of a control group as the target; -a: all there are.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
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
// `what`: what of the group the command looks at.
void add_group_options(CLI::App& app, GroupArguments& arguments, const std::string& what = "every process");

// The one that was given, with a title that can be printed. kNotFound also where it has no process.
Result<process::Group> find_group(const GroupArguments& arguments);

// For commands that look at one process: the one that started all others, else the one with the lowest number. Standard error
// says which, where there are several. Fails as find_group() does.
Result<std::int32_t> main_process(const GroupArguments& arguments);

}  // namespace fathom::cli
