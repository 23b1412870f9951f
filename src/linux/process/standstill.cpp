#include "linux/process/standstill.h"

#include "base/files.h"
#include "linux/process/cgroup.h"
#include "linux/process/fields.h"
#include "linux/process/status.h"

namespace fathom::process {
namespace {

bool is_frozen(int pid) {
  const auto memberships = read_cgroup(pid);
  const auto mountinfo = read_file("/proc/self/mountinfo");  // ours: these are the paths that we open later
  if (!memberships || !mountinfo) return false;
  const auto mounts = parse_cgroup_mounts(*mountinfo);
  if (const auto folder = cgroup_directory(*memberships, mounts, "freezer")) {
    const auto state = read_file(*folder + "/freezer.state");
    if (state && says_frozen_version_1(*state)) return true;
  }
  if (const auto folder = cgroup_directory(*memberships, mounts, "")) {
    const auto events = read_file(*folder + "/cgroup.events");
    if (events && says_frozen_version_2(*events)) return true;
  }
  return false;
}

}  // namespace

bool says_frozen_version_1(std::string_view freezer_state) {
  return freezer_state.starts_with("FROZEN") || freezer_state.starts_with("FREEZING");
}

bool says_frozen_version_2(std::string_view events) {
  std::string_view line;
  while (next_line(events, line))
    if (line == "frozen 1") return true;
  return false;
}

Standstill standstill(int pid) {
  const auto stat = read_stat(pid);
  if (!stat) return Standstill::kNone;
  if (stat->state == 'T' || stat->state == 't') return Standstill::kStopped;
  return is_frozen(pid) ? Standstill::kFrozen : Standstill::kNone;
}

}  // namespace fathom::process
