#include "linux/memory/counted_limits.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/files.h"
#include "base/parse.h"
#include "linux/memory/number_file.h"
#include "linux/process/cgroup.h"
#include "linux/process/fields.h"
#include "linux/process/resource_counts.h"

namespace fathom::sources {
namespace {

using model::CountedLimit;
using Kind = CountedLimit::Kind;

constexpr std::uint64_t kMostCounted = 16'000'000;  // more than the kernel lets anyone have

// Lines of a text that is too long to keep.
std::optional<std::uint64_t> lines_in(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::array<char, 16 * 1024> part;
  std::uint64_t lines = 0;
  for (ssize_t size; (size = ::read(file.get(), part.data(), part.size())) != 0 && lines < kMostCounted;) {
    if (size < 0) return std::nullopt;
    lines += static_cast<std::uint64_t>(std::count(part.begin(), part.begin() + size, '\n'));
  }
  return lines;
}

// Of the group and all above it, the one that is nearest to its limit.
void add_tasks(std::int32_t pid, std::vector<CountedLimit>& limits) {
  const auto memberships = process::read_cgroup(pid);
  const auto mounts = read_file("/proc/self/mountinfo", 1024 * 1024);
  if (!memberships || !mounts) return;
  const auto mounted = process::parse_cgroup_mounts(*mounts);
  for (const std::string_view controller : {"pids", ""}) {
    auto folder = process::cgroup_directory(*memberships, mounted, controller);
    for (int depth = 0; folder && depth < 64; ++depth) {
      const auto used = number_in(*folder + "/pids.current"), limit = number_in(*folder + "/pids.max");
      if (used && limit && *limit != 0) {
        const CountedLimit one{Kind::kTasks, *used, *limit};
        model::keep_larger(limits, std::span(&one, 1));
      }
      const std::size_t slash = folder->rfind('/');
      if (slash == std::string::npos || slash == 0) break;
      folder->erase(slash);
    }
  }
}

}  // namespace

std::uint64_t soft_limit(std::string_view limits, std::string_view name) {
  std::string_view line;
  while (process::next_line(limits, line)) {
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    return parse_number(process::next_field(line)).value_or(0);  // "unlimited" is no number
  }
  return 0;
}

std::vector<CountedLimit> read_counted_limits(std::int32_t pid) {
  std::vector<CountedLimit> limits;
  const auto add = [&](Kind kind, std::optional<std::uint64_t> used, std::optional<std::uint64_t> limit) {
    if (used && limit && *limit != 0) limits.push_back({kind, *used, *limit});
  };
  const std::string folder = fmt::format("/proc/{}/", pid);
  add(Kind::kMappings, lines_in(folder + "maps"), number_in("/proc/sys/vm/max_map_count"));
  if (const auto text = read_file(folder + "limits", kMostOfKernelFile)) {
    add(Kind::kDescriptors, process::count_descriptors(pid), soft_limit(*text, "Max open files "));
    const auto status = read_file(folder + "status", kMostOfKernelFile);
    const std::string_view of = status ? std::string_view(*status) : std::string_view();
    add(Kind::kLockedMemory, kilobytes_of(of, "VmLck:"), soft_limit(*text, "Max locked memory "));
    add(Kind::kAddressSpace, kilobytes_of(of, "VmSize:"), soft_limit(*text, "Max address space "));
  }
  add_tasks(pid, limits);
  constexpr std::uint64_t kStrict = 2;
  if (number_in("/proc/sys/vm/overcommit_memory") == kStrict) {
    if (const auto memory = read_file("/proc/meminfo", kMostOfKernelFile))
      add(Kind::kCommitted, kilobytes_of(*memory, "Committed_AS:"), kilobytes_of(*memory, "CommitLimit:"));
  }
  return limits;
}

}  // namespace fathom::sources
