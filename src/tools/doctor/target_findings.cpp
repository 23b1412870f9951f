#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "present/sentences/limit_sentences.h"
#include "present/sentences/symbol_words.h"
#include "tools/doctor/allocator_words.h"
#include "tools/doctor/findings.h"

namespace fathom::doctor {
namespace {

using Severity = Finding::Severity;
using model::SymbolSource;

}  // namespace

std::string target_name(const TargetFacts& target) {
  return fmt::format("{} (pid {})", target.process.name, target.process.pid);
}
bool has_all_names(const ModuleHealth& module) {
  return module.symbols == SymbolSource::kSymtab || module.symbols == SymbolSource::kDwarf ||
         module.symbols == SymbolSource::kGo;
}

namespace {

Remedy debuginfod() {
  return {
      "record --debuginfod URL, with the server of your distribution: fetches debug files while it records",
      "the server learns the build ids of the modules that are recorded; disk space in ~/.cache/fathom"};
}

Remedy debug_packages(const TargetFacts& target) {
  return {fmt::format("find-dbgsym-packages {} (in debian-goodies) names the packages to install",
                      target.process.pid),
          "disk space; the program need not be started again"};
}

bool is_packaged(const ModuleHealth& module) {
  return module.path.starts_with("/usr/") || module.path.starts_with("/lib");
}

// Of the program itself: that it has names and no lines, or that part of its debug information is not there.
void find_missing_lines(const TargetFacts& target, const ModuleHealth& module,
                        std::vector<Finding>& findings) {
  const bool is_program = module.path == target.process.executable;
  if (module.symbols == SymbolSource::kDwarf && !module.problem.empty()) {
    findings.push_back(
        {is_program ? Severity::kLimit : Severity::kNote,
         fmt::format("{}: {}. Functions have names; inlined calls are missing.", module.path, module.problem),
         {{"keep .dwo files where they were built, or pack them with dwp -e PROGRAM -o PROGRAM.dwp (or llvm-dwp) and keep the .dwp file next to the program; for dwz, install the whole debug package",
           "disk space"}}});
  } else if (module.symbols == SymbolSource::kSymtab && is_program) {
    Finding finding{
        Severity::kNote,
        fmt::format(
            "{} has no debug information: its functions have names, and lines and inlined calls are missing.",
            module.path),
        {{"build it with -g and do not strip it with -g (Rust: debug = 1, strip = false in [profile.release]); or keep the unstripped file and give its folder: fathom record --symbols DIR",
          "a larger file; the code stays the same"}}};
    if (is_packaged(module)) finding.remedies.push_back(debug_packages(target));
    findings.push_back(std::move(finding));
  }
}

// How stacks are walked; frame pointers are what others ask for first.
void find_about_stacks(const TargetFacts& target, std::vector<Finding>& findings) {
  std::vector<std::string> without;
  for (const ModuleHealth& module : target.modules)
    if (module.unwind_table == false) without.emplace_back(base_name(module.path));
  if (std::ranges::none_of(target.modules,
                           [](const ModuleHealth& each) { return each.unwind_table.has_value(); }))
    return;
  findings.push_back(
      {Severity::kNote,
       without.empty()
           ? std::string(
                 "Frame pointers are not needed: all its modules have unwind tables (.eh_frame), which fathom uses to walk stacks.")
           : fmt::format(
                 "{} has no unwind table (.eh_frame), so fathom walks stacks through it by frame pointers if the code keeps them. Other modules do not need frame pointers.",
                 fmt::join(without, ", ")),
       {}});
}

// The program itself in a finding of its own, all libraries together in one.
void find_missing_names(const TargetFacts& target, std::vector<Finding>& findings) {
  constexpr std::size_t kMostListed = 5;
  std::vector<std::string> libraries;
  bool packaged = false;
  for (const ModuleHealth& module : target.modules) {
    if (has_all_names(module)) {
      find_missing_lines(target, module, findings);
      continue;
    }
    if (module.path != target.process.executable) {
      libraries.emplace_back(base_name(module.path));
      packaged = packaged || is_packaged(module);
      continue;
    }
    Finding finding{
        Severity::kLimit,
        fmt::format("{} {}{}{}.", module.path, present::lack_of(module.symbols),
                    module.problem.empty() ? "" : ": ", module.problem),
        {{"build it with -g and without strip (Rust: debug = 1, strip = false in [profile.release]); or keep the unstripped file and give its folder: fathom record --symbols DIR",
          "a larger file; the code stays the same"}}};
    if (is_packaged(module)) {
      finding.remedies.push_back(debug_packages(target));
      if (!module.build_id.empty()) finding.remedies.push_back(debuginfod());
    }
    findings.push_back(std::move(finding));
  }
  if (libraries.empty()) return;
  const std::size_t listed = std::min(libraries.size(), kMostListed);
  Finding finding{
      Severity::kNote,
      fmt::format("Functions of {} that are not exported have no names: {}{}.",
                  libraries.size() == 1 ? "1 library" : fmt::format("{} libraries", libraries.size()),
                  fmt::join(libraries.begin(), libraries.begin() + static_cast<std::ptrdiff_t>(listed), ", "),
                  libraries.size() > listed ? " and others" : ""),
      {}};
  if (packaged) {
    finding.remedies.push_back(debug_packages(target));
    finding.remedies.push_back(debuginfod());
  }
  findings.push_back(std::move(finding));
}

void find_about_heap_probes(const TargetFacts& target, std::vector<Finding>& findings) {
  for (const std::string& probes : target.heap_probes) {
    if (!target.heap_frees_told) {
      findings.push_back(
          {Severity::kLimit,
           fmt::format(
               "It has otel_memory heap probes ({}), but none for frees, so they cannot show live memory: fathom does not use them, and --heap inserts its tracer.",
               probes),
           {}});
      continue;
    }
    findings.push_back(
        {Severity::kNote,
         fmt::format(
             "It has otel_memory heap probes ({}): a sampled recording with engine bpf reads these and inserts nothing into the program.",
             probes),
         {{fmt::format("fathom record --heap -p {}", target.process.pid),
           "it samples only while a tool listens"}}});
  }
  for (const std::string& problem : target.heap_probe_problems)
    findings.push_back({Severity::kLimit, fmt::format("{}.", problem), {}});
}

void find_about_heap(const TargetFacts& target, std::vector<Finding>& findings) {
  find_about_heap_probes(target, findings);
  if (target.heap_tracer_of == 0) {
    findings.push_back({Severity::kLimit,
                        "A heap tracer is in it whose profiler is gone; it records nothing.",
                        {{fmt::format("fathom detach -p {}", target.process.pid),
                          "restores the process to what it was; its threads stop for some milliseconds"}}});
  } else if (!target.heap.works && !target.heap.problem.empty()) {
    Finding finding{Severity::kLimit, fmt::format("Its heap cannot be traced: {}.", target.heap.problem), {}};
    if (!target.heap_remedy.empty()) finding.remedies.push_back({target.heap_remedy, "none in the target"});
    findings.push_back(std::move(finding));
  }
  for (const UnseenFact& unseen : target.unseen_allocators) {
    Finding finding{
        Severity::kLimit,
        fmt::format("{}: {} is not traced by --heap: {}.", unseen.module, unseen.label, unseen.why),
        {}};
    if (!unseen.remedy.empty()) finding.remedies.push_back({unseen.remedy, "none in the target"});
    findings.push_back(std::move(finding));
  }
  for (const std::string& note : target.allocator_notes)
    findings.push_back({Severity::kLimit, fmt::format("{}.", note), {}});
}

void find_near_limits(const TargetFacts& target, std::vector<Finding>& findings) {
  for (const model::CountedLimit& limit : model::near_limits(target.limits))
    findings.push_back(
        {Severity::kLimit,
         fmt::format("It uses {}: {}.", present::limit_text(limit), present::limit_consequence(limit.kind)),
         {{present::limit_remedy(limit, target.process.pid), present::limit_side_effects(limit.kind)}}});
}

}  // namespace

void find_in_target(const TargetFacts& target, std::vector<Finding>& findings) {
  find_near_limits(target, findings);
  find_about_heap(target, findings);
  find_about_held(target, findings);
  find_missing_names(target, findings);
  find_about_stacks(target, findings);
  const bool any_deleted = std::any_of(target.modules.begin(), target.modules.end(),
                                       [](const ModuleHealth& m) { return m.deleted; });
  if (any_deleted && !target.map_files.works)
    findings.push_back(
        {Severity::kLimit,
         "Files of this program were replaced while it runs, and you may not open the old ones: their code has neither names nor unwind tables.",
         {{fmt::format("start {} again", target.process.name), "it loses its state"},
          {fmt::format("sudo fathom record -p {}", target.process.pid), "the recording belongs to root"}}});
  if (target.anonymous_code_bytes > 0 && !target.perf_map.works)
    findings.push_back(
        {Severity::kLimit,
         fmt::format(
             "{} KiB of code were made at run time, and there is no /tmp/perf-PID.map and no jit dump with its names.",
             target.anonymous_code_bytes >> 10),
         {{"start it with what makes it write one: node --perf-basic-prof, PYTHONPERFSUPPORT=1 (Python 3.12), DOTNET_PerfMapEnabled=1",
           "a file in /tmp that grows with each function"}}});
  if (target.status.tracer_pid != 0)
    findings.push_back(
        {Severity::kNote,
         fmt::format(
             "Process {} traces it (a debugger?): recording CPU works all the same, attaching a heap tracer would not.",
             target.status.tracer_pid),
         {}});
  if (target.container || target.own_mount_namespace)
    findings.push_back(
        {Severity::kNote,
         fmt::format("It runs in {}: files are looked up as it sees them, through /proc/{}/root.",
                     target.container
                         ? target.container->runtime + " container " + target.container->id.substr(0, 12)
                         : "a mount namespace of its own",
                     target.process.pid),
         {}});
  if (target.memory_limit_bytes)
    findings.push_back({Severity::kNote,
                        fmt::format("Its cgroup may use {} MiB of memory.", *target.memory_limit_bytes >> 20),
                        {}});
}

}  // namespace fathom::doctor
