#include "cli/group_option.h"

#include <fmt/format.h>

#include "analysis/core/words.h"
#include "cli/notices.h"
#include "linux/process/descendants.h"
#include "linux/process/find.h"

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

void add_group_options(CLI::App& app, GroupArguments& arguments, const std::string& what) {
  app.add_option("--cgroup", arguments.path, what + " of a control group")->type_name("PATH");
  app.add_option("--unit", arguments.unit, what + " of a systemd unit")->type_name("NAME");
  app.add_option("--container", arguments.container, what + " of a container")->type_name("NAME");
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

Result<std::int32_t> main_process(const GroupArguments& arguments) {
  if (arguments.given() > 1)
    return fail(ErrorKind::kUsage, "more than one kind of target", "one of --cgroup, --unit and --container");
  const auto group = find_group(arguments);
  if (!group) return tl::unexpected<Error>(group.error());
  const std::vector<int> members = process::members_of(*group);
  if (members.empty())  // it ended meanwhile
    return fail(ErrorKind::kNotFound, fmt::format("{} has no process", group->title));
  const std::int32_t chosen = process::starter_of(members).value_or(members.front());
  const auto process = process::read_process(chosen);
  if (members.size() > 1)
    say("fathom: {} has {} processes; this is about {}\n", group->title, members.size(),
        process ? process::describe(*process) : fmt::format("process {}", chosen));
  return chosen;
}

}  // namespace fathom::cli
