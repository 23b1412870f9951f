#include "tools/doctor/memory_controller.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "analysis/core/words.h"
#include "base/files.h"
#include "base/parse.h"
#include "linux/process/fields.h"

namespace fathom::doctor {
namespace {

using Severity = Finding::Severity;
using State = MemoryController::State;

constexpr const char* kBootSettings =
    "in GRUB_CMDLINE_LINUX_DEFAULT of /etc/default/grub, then: sudo update-grub && sudo reboot";

bool has_word(std::string_view text, std::string_view word) {
  while (!text.empty()) {
    const std::size_t start = text.find_first_not_of(" \n\t,");
    if (start == text.npos) return false;
    text.remove_prefix(start);
    const std::string_view each = text.substr(0, text.find_first_of(" \n\t,"));
    if (each == word) return true;
    text.remove_prefix(each.size());
  }
  return false;
}

// The column "enabled" of the memory controller: false is what a kernel parameter does.
std::optional<bool> is_enabled(std::string_view proc_cgroups) {
  std::string_view line;
  while (process::next_line(proc_cgroups, line)) {
    if (process::next_field(line) != "memory") continue;
    process::next_field(line), process::next_field(line);
    return process::next_field(line) == "1";
  }
  return std::nullopt;
}

// cgroup_disable=memory, also in a list: cgroup_disable=cpu,memory.
bool is_disabled_by(std::string_view command_line) {
  constexpr std::string_view kOption = "cgroup_disable=";
  for (std::size_t at = command_line.find(kOption); at != command_line.npos;
       at = command_line.find(kOption, at + 1)) {
    const std::string_view list = command_line.substr(at + kOption.size());
    if (has_word(list.substr(0, list.find_first_of(" \n")), "memory")) return true;
  }
  return false;
}

}  // namespace

MemoryController judge_memory_controller(const MemoryControllerFiles& files) {
  MemoryController controller;
  for (const process::CgroupMount& mount : files.mounts)
    if (mount.version == 1 && std::ranges::find(mount.options, "memory") != mount.options.end())
      return {.state = State::kUsable, .version = 1, .counts_swap = files.counts_swap_1};
  if (has_word(files.controllers, "memory"))
    return {.state = State::kUsable, .version = 2, .counts_swap = true};
  controller.parameter = is_disabled_by(files.command_line);
  if (is_enabled(files.proc_cgroups) == false || controller.parameter)
    controller.state = State::kDisabled;
  else if (!files.mounts.empty() || is_enabled(files.proc_cgroups))
    controller.state = State::kNotHere;
  return controller;
}

MemoryController probe_memory_controller(const std::vector<process::CgroupMount>& mounts) {
  MemoryControllerFiles files;
  files.mounts = mounts;
  const auto text_of = [](const std::string& path) { return read_file(path).value_or(""); };
  for (const process::CgroupMount& mount : mounts) {
    if (mount.version == 2) files.controllers = text_of(mount.mount_point + "/cgroup.controllers");
    if (mount.version == 1 && std::ranges::find(mount.options, "memory") != mount.options.end())
      files.counts_swap_1 = ::access((mount.mount_point + "/memory.memsw.usage_in_bytes").c_str(), F_OK) == 0;
  }
  files.proc_cgroups = text_of("/proc/cgroups");
  files.command_line = text_of("/proc/cmdline");
  return judge_memory_controller(files);
}

Swap parse_swap(std::string_view meminfo, std::optional<int> swappiness) {
  Swap swap;
  swap.swappiness = swappiness;
  std::uint64_t free = 0;
  std::string_view line;
  while (process::next_line(meminfo, line)) {
    const std::string_view key = process::next_field(line);
    const auto kib = parse_number<std::uint64_t>(process::next_field(line));
    if (!kib || *kib > UINT64_MAX / 1024) continue;
    if (key == "SwapTotal:") swap.bytes = *kib * 1024;
    if (key == "SwapFree:") free = *kib * 1024;
  }
  swap.used_bytes = swap.bytes - std::min(swap.bytes, free);
  return swap;
}

std::optional<std::uint64_t> read_swap_limit(const process::MemoryCgroup& group) {
  const auto number_in = [&](const char* name) -> std::optional<std::uint64_t> {
    const auto text = read_file(group.directory + "/" + name);
    if (!text) return std::nullopt;
    return parse_number<std::uint64_t>(std::string_view(*text).substr(0, text->find('\n')));
  };
  if (group.version == 2) return number_in("memory.swap.max");  // "max" is no number
  // Version 1 limits the sum. "No limit" is a number of 2^63 less a page, of both.
  const auto both = number_in("memory.memsw.limit_in_bytes"), memory = number_in("memory.limit_in_bytes");
  constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 60;
  if (!both || !memory || *both >= kUnlimited) return std::nullopt;
  return *both - std::min(*both, *memory);
}

std::string to_text(const MemoryController& controller) {
  switch (controller.state) {
    case State::kUsable:
      return fmt::format("memory controller: version {}{}", controller.version,
                         controller.counts_swap ? "" : ", without swap accounting");
    case State::kDisabled:
      return "memory controller: switched off by a kernel parameter";
    case State::kNotHere:
      return "memory controller: not in the control groups that are mounted here";
    case State::kUnknown:
      break;
  }
  return "memory controller: unknown";
}

std::string to_text(const Swap& swap) {
  if (swap.bytes == 0) return "swap: none";
  const std::string used =
      swap.used_bytes == 0 ? "none" : analysis::bytes(static_cast<double>(swap.used_bytes));
  return fmt::format("swap: {} ({} used){}", analysis::bytes(static_cast<double>(swap.bytes)), used,
                     swap.swappiness ? fmt::format(", swappiness {}", *swap.swappiness) : "");
}

void find_about_memory(const MachineFacts& machine, const TargetFacts* target,
                       std::vector<Finding>& findings) {
  const MemoryController& controller = machine.memory_controller;
  constexpr const char* kWithout = "fathom limit does not work, and the limit of a group is unknown";
  if (controller.state == State::kDisabled)
    findings.push_back(
        {Severity::kLimit,
         fmt::format("The kernel runs without the memory controller of control groups: {}.", kWithout),
         {{controller.parameter ? fmt::format("remove cgroup_disable=memory {}", kBootSettings)
                                : fmt::format("add cgroup_enable=memory {}", kBootSettings),
           "the kernel counts the memory of each group, at about 0.1 % of memory"}}});
  else if (controller.state == State::kNotHere)
    findings.push_back(
        {Severity::kLimit,
         fmt::format("No mounted control group has the memory controller: {}.", kWithout),
         {{"run fathom on the host, or: sudo mount -t cgroup2 none /sys/fs/cgroup (if nothing is mounted there)",
           "none in running programs; no kernel parameter is needed"}}});
  if (controller.state == State::kUsable && !controller.counts_swap && machine.swap.bytes != 0)
    findings.push_back(
        {Severity::kLimit,
         "The kernel does not count swap by group, so a memory limit could be evaded: fathom limit refuses to run.",
         {{fmt::format("add swapaccount=1 {}", kBootSettings), "a few bytes for each page of swap"},
          {"sudo swapoff -a, while the command runs", "everything in swap has to fit into memory"}}});
  if (target == nullptr || machine.swap.bytes == 0) return;
  if (target->swap_limit_bytes == 0)
    findings.push_back(
        {Severity::kNote, "Its cgroup may not use swap, so it is killed at its memory limit.", {}});
  else
    findings.push_back(
        {Severity::kNote,
         fmt::format("It may use {} of swap: short of memory, it becomes slow before the kernel kills it.",
                     target->swap_limit_bytes ? analysis::bytes(static_cast<double>(
                                                    std::min(*target->swap_limit_bytes, machine.swap.bytes)))
                                              : analysis::bytes(static_cast<double>(machine.swap.bytes))),
         {}});
}

}  // namespace fathom::doctor
