// Whether control groups can limit and count memory here, as fathom limit and the limits in watch need, and how much swap there
// is, as swap turns a kill for lack of memory into a slow program. Parsing is separate from reading. Source: cgroups(7),
// the kernel's admin-guide/cgroup-v1/memory.rst and kernel-parameters.txt.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linux/process/cgroup.h"
#include "tools/doctor/diagnosis.h"
#include "tools/doctor/facts.h"

namespace fathom::doctor {

// What files say; empty: there is no such file.
struct MemoryControllerFiles {
  std::vector<process::CgroupMount> mounts = {};
  std::string controllers = {};   // cgroup.controllers of the mount of version 2
  std::string proc_cgroups = {};  // /proc/cgroups, which newer kernels have for version 1 only
  std::string command_line = {};  // /proc/cmdline
  bool counts_swap_1 = false;     // version 1: memory.memsw.usage_in_bytes exists
};
MemoryController judge_memory_controller(const MemoryControllerFiles& files);
MemoryController probe_memory_controller(const std::vector<process::CgroupMount>& mounts);

// Of the text of /proc/meminfo; `swappiness` of /proc/sys/vm/swappiness.
Swap parse_swap(std::string_view meminfo, std::optional<int> swappiness);

// What the group may use in addition to its memory; nullopt: unlimited or unknown.
std::optional<std::uint64_t> read_swap_limit(const process::MemoryCgroup& group);

// Two lines of the machine's table: "memory controller: version 2", "swap: none".
std::string to_text(const MemoryController& controller);
std::string to_text(const Swap& swap);

void find_about_memory(const MachineFacts& machine, const TargetFacts* target,
                       std::vector<Finding>& findings);

}  // namespace fathom::doctor
