#include "cli/group_option.h"

#include <fmt/format.h>

#include "analysis/core/words.h"

namespace fathom::cli {
namespace {

Result<process::Group> look_up(const GroupArguments& arguments) {
  if (arguments.machine) return process::whole_machine();
  const process::GroupView view = process::read_groups();
  if (!arguments.path.empty()) return process::group_at(view, arguments.path);
  if (!arguments.unit.empty()) return process::group_of_unit(view, arguments.unit);
  return process::group_of_container(view, arguments.container);
}

}  // namespace

void add_group_options(CLI::App& app, GroupArguments& arguments) {
  app.add_option("--cgroup", arguments.path, "every process of a control group, now and later")
      ->type_name("PATH");
  app.add_option("--unit", arguments.unit, "every process of a systemd unit")->type_name("NAME");
  app.add_option("--container", arguments.container,
                 "every process of a container: docker, podman, containerd")
      ->type_name("NAME");
}

Result<process::Group> find_group(const GroupArguments& arguments) {
  auto group = look_up(arguments);
  if (!group) {
    Error error = group.error();  // names of units and containers are arbitrary text
    error.message = analysis::printable(error.message);
    error.remedy = analysis::printable(error.remedy);
    return tl::unexpected(std::move(error));
  }
  group->title = analysis::printable(group->title);
  if (process::members_of(*group).empty())
    return fail(ErrorKind::kNotFound, fmt::format("{} has no process", group->title),
                fmt::format("a group whose cgroup.procs lists some; this one's is in {}", group->folder));
  return group;
}

}  // namespace fathom::cli
