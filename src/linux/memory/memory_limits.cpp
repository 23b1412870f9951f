#include "linux/memory/memory_limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/parse.h"
#include "linux/memory/memory_sampler.h"
#include "linux/memory/number_file.h"
#include "linux/process/fields.h"

namespace fathom::sources {
namespace {

std::uint64_t kilobytes(std::string_view text) {
  const auto number = parse_number(text);
  return number && *number <= UINT64_MAX / 1024 ? *number * 1024 : 0;
}

std::optional<std::uint64_t> limit_in(const std::string& path) {
  const auto text = read_file(path, kMostOfKernelFile);
  return text ? parse_memory_limit(*text) : std::nullopt;
}

GroupMemory memory_of(const std::string& directory, int version) {
  const auto text = read_file(directory + "/memory.stat", kMostOfKernelFile);
  return text ? parse_group_memory(*text, version) : GroupMemory{};
}

// The group and all above it, as far as they can be seen.
void add_groups(const process::MemoryCgroup& cgroup, std::vector<MemoryLimit>& limits) {
  const bool second = cgroup.version == 2;
  std::string directory = cgroup.directory, path = cgroup.path;
  for (auto depth = std::count(cgroup.path.begin(), cgroup.path.end(), '/') + 1; depth > 0; --depth) {
    const auto limit = limit_in(directory + (second ? "/memory.max" : "/memory.limit_in_bytes"));
    const auto used = number_in(directory + (second ? "/memory.current" : "/memory.usage_in_bytes"));
    if (limit && used)
      limits.push_back({LimitKind::kControlGroup, path.empty() ? "/" : path, *limit, *used,
                        memory_of(directory, cgroup.version).page_cache});
    const std::size_t slash = directory.rfind('/'), up = path.rfind('/');
    if (slash == std::string::npos || slash == 0) break;
    directory.erase(slash);
    path.erase(up == std::string::npos ? 0 : up);
  }
}

}  // namespace

const MemoryLimit* first_to_be_met(const std::vector<MemoryLimit>& limits) {
  const auto least =
      std::min_element(limits.begin(), limits.end(),
                       [](const MemoryLimit& a, const MemoryLimit& b) { return a.room() < b.room(); });
  return least == limits.end() ? nullptr : &*least;
}

ProcessLimits parse_process_limits(std::string_view text) {
  ProcessLimits limits;
  std::string_view line;
  while (process::next_line(text, line)) {
    const auto soft = [&](std::string_view name, std::optional<std::uint64_t>& to) {
      if (!line.starts_with(name)) return;
      std::string_view rest = line.substr(name.size());
      to = parse_number(process::next_field(rest));  // "unlimited" is no number
    };
    soft("Max address space ", limits.address_space);
    soft("Max data size ", limits.data);
  }
  return limits;
}

MachineMemory parse_meminfo(std::string_view text) {
  MachineMemory memory;
  std::string_view line;
  while (process::next_line(text, line)) {
    const std::string_view name = process::next_field(line);
    const std::uint64_t value = kilobytes(process::next_field(line));
    if (name == "MemTotal:") memory.total = value;
    if (name == "MemAvailable:") memory.available = value;
    if (name == "SwapTotal:") memory.swap_total = value;
    if (name == "SwapFree:") memory.swap_free = value;
  }
  return memory;
}

GroupMemory parse_group_memory(std::string_view text, int version) {
  GroupMemory memory;
  std::string_view line;
  while (process::next_line(text, line)) {
    const std::string_view name = process::next_field(line);
    const auto value = parse_number(process::next_field(line));
    if (!value) continue;
    const auto add = [&](std::uint64_t& to) { to = *value > UINT64_MAX - to ? UINT64_MAX : to + *value; };
    if (version == 1) {
      if (name == "total_rss") memory.anonymous = *value;
      if (name == "total_active_file" || name == "total_inactive_file") add(memory.page_cache);
      continue;
    }
    if (name == "anon") memory.anonymous = *value;
    if (name == "active_file" || name == "inactive_file") add(memory.page_cache);
    if (name == "kernel") memory.kernel = value;
    if (name == "pagetables") memory.page_tables = value;
    if (name == "kernel_stack") memory.kernel_stacks = value;
    if (name == "slab") memory.slab = value;
  }
  return memory;
}

Limits read_limits(std::int32_t pid, std::uint64_t virtual_bytes) {
  Limits read;
  if (const auto cgroup = process::read_memory_cgroup(pid); cgroup && *cgroup) {
    const process::MemoryCgroup& of = **cgroup;
    const bool second = of.version == 2;
    if (const auto used = number_in(of.directory + (second ? "/memory.current" : "/memory.usage_in_bytes"))) {
      ControlGroup group{of.version, of.path, *used, memory_of(of.directory, of.version)};
      if (!second) group.memory.kernel = number_in(of.directory + "/memory.kmem.usage_in_bytes");
      read.group = std::move(group);
    }
    add_groups(of, read.limits);
  }
  if (const auto text = read_file(fmt::format("/proc/{}/limits", pid), kMostOfKernelFile)) {
    const ProcessLimits limits = parse_process_limits(*text);
    if (limits.address_space)
      read.limits.push_back({LimitKind::kAddressSpace, "", *limits.address_space, virtual_bytes, 0});
  }
  if (const auto text = read_file("/proc/meminfo", kMostOfKernelFile)) {
    const MachineMemory memory = parse_meminfo(*text);
    if (memory.total != 0 && memory.available <= memory.total) {
      const std::uint64_t all = memory.total + memory.swap_total;
      const std::uint64_t room = memory.available + std::min(memory.swap_free, memory.swap_total);
      read.limits.push_back({LimitKind::kMachine, "", all, all - room, 0});
    }
  }
  return read;
}

}  // namespace fathom::sources
