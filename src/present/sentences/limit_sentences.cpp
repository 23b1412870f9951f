#include "present/sentences/limit_sentences.h"

#include <fmt/format.h>

#include <bit>

#include "analysis/core/words.h"

namespace fathom::present {

using model::CountedLimit;
using Kind = CountedLimit::Kind;

namespace {

std::string_view noun_of(Kind kind) {
  switch (kind) {
    case Kind::kMappings:
      return "mappings";
    case Kind::kDescriptors:
      return "file descriptors";
    case Kind::kTasks:
      return "threads and processes in its control group";
    case Kind::kLockedMemory:
      return "locked memory";
    case Kind::kAddressSpace:
      return "address space";
    case Kind::kCommitted:
      return "memory committed on this machine";
  }
  return "";
}

bool is_bytes(Kind kind) {
  return kind == Kind::kLockedMemory || kind == Kind::kAddressSpace || kind == Kind::kCommitted;
}

std::string amount_of(Kind kind, std::uint64_t value) {
  return is_bytes(kind) ? analysis::bytes(static_cast<double>(value))
                        : analysis::with_commas(static_cast<std::int64_t>(value));
}

}  // namespace

std::string limit_text(const CountedLimit& limit) {
  return fmt::format("{} of {} {}{} ({:.0f} %)", amount_of(limit.kind, limit.used),
                     amount_of(limit.kind, limit.limit), is_bytes(limit.kind) ? "of " : "",
                     noun_of(limit.kind), limit.share() * 100);
}

std::string limit_consequence(Kind kind) {
  switch (kind) {
    case Kind::kMappings:
      return "at the limit (vm.max_map_count) mmap and thread creation fail";
    case Kind::kDescriptors:
      return "at the limit (ulimit -n) open, socket and accept fail";
    case Kind::kTasks:
      return "at the limit (pids.max) fork and thread creation fail";
    case Kind::kLockedMemory:
      return "at the limit (ulimit -l) mlock fails";
    case Kind::kAddressSpace:
      return "at the limit (ulimit -v) mmap fails";
    case Kind::kCommitted:
      return "at the limit (vm.overcommit_memory is 2) mmap and fork fail";
  }
  return "";
}

std::string limit_remedy(const CountedLimit& limit, std::int32_t pid) {
  const std::uint64_t more = std::bit_ceil(std::min(limit.limit, std::uint64_t{1} << 61) * 2);
  switch (limit.kind) {
    case Kind::kMappings:
      return fmt::format("sysctl -w vm.max_map_count={}", more);
    case Kind::kDescriptors:
      return fmt::format("prlimit --nofile={} --pid {}, or LimitNOFILE= in its unit", more, pid);
    case Kind::kTasks:
      return "raise pids.max of the control group (TasksMax= in a unit, --pids-limit of a container)";
    case Kind::kLockedMemory:
      return fmt::format("prlimit --memlock={} --pid {}, or LimitMEMLOCK= in its unit", more, pid);
    case Kind::kAddressSpace:
      return fmt::format("prlimit --as=unlimited --pid {}", pid);
    case Kind::kCommitted:
      return "add swap, or raise vm.overcommit_ratio";
  }
  return "";
}

std::string limit_side_effects(Kind kind) {
  switch (kind) {
    case Kind::kMappings:
      return "for the whole machine, until it restarts; each mapping takes some 200 bytes of the kernel's memory";
    case Kind::kCommitted:
      return "for the whole machine";
    case Kind::kTasks:
      return "for all processes of the group";
    default:
      return "for this process, until it ends";
  }
}

std::string limits_line(const model::Profile& profile) {
  std::string text;
  for (const model::LimitsOfProcess& of : model::counted_limits_of(profile.meta.facts)) {
    const auto near = model::near_limits(of.limits);
    if (near.empty()) continue;
    std::string name;
    for (const model::Process& process : profile.processes)
      if (process.pid == of.pid) name = analysis::printable(profile.strings[process.name]);
    for (const CountedLimit& limit : near)
      text += fmt::format("{} (pid {}) reached {}; {}. ", name.empty() ? "a process" : name, of.pid,
                          limit_text(limit), limit_consequence(limit.kind));
  }
  if (text.empty()) return "";
  text.pop_back();
  return "Limits: " + text;
}

}  // namespace fathom::present
