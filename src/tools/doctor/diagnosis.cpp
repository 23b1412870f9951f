#include "tools/doctor/diagnosis.h"

#include "tools/doctor/allocator_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/arch/facts.h"
#include "base/text.h"
#include "present/sentences/limit_sentences.h"
#include "present/sentences/symbol_words.h"
#include "tools/doctor/memory_controller.h"

namespace fathom::doctor {
namespace {

using Severity = Finding::Severity;
using model::SymbolSource;

constexpr const char* kUntilBoot = "; until the next boot, or for good with a line in /etc/sysctl.d";

std::string fathom_path(const MachineFacts& machine) {
  return machine.own_path.empty() ? "fathom" : machine.own_path;
}

std::string target_name(const TargetFacts& target) {
  return fmt::format("{} (pid {})", target.process.name, target.process.pid);
}

Remedy run_as_root(const MachineFacts& machine, const TargetFacts* target) {
  return {target != nullptr ? fmt::format("sudo {} record -p {}", fathom_path(machine), target->process.pid)
                            : fmt::format("sudo {} record ...", fathom_path(machine)),
          "the recording belongs to root, with mode 0600; nothing else changes"};
}

// Without CAP_SYS_ADMIN where the kernel lets it be.
std::vector<Remedy> give_capabilities(const MachineFacts& machine) {
  const std::string setcap =
      fmt::format("sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_checkpoint_restore,cap_syslog+ep {}",
                  fathom_path(machine));
  constexpr const char* kEffect =
      "every user who can execute this file can then watch all processes of the machine; rebuilding the file removes the capabilities";
  if (!machine.events_need_admin()) return {{setcap, kEffect}};
  return {{fmt::format("sudo sysctl kernel.perf_event_paranoid=2 && {}", setcap),
           fmt::format("{}; every user may sample their own processes{}", kEffect, kUntilBoot)},
          {fmt::format("sudo setcap cap_sys_admin,cap_sys_ptrace,cap_checkpoint_restore,cap_syslog+ep {}",
                       fathom_path(machine)),
           fmt::format("{}; with CAP_SYS_ADMIN this program may do nearly all that root may", kEffect)}};
}

Remedy allow_for_a_while(const MachineFacts& machine, bool kernel) {
  return {fmt::format("sudo {} allow{} -d 10min", fathom_path(machine), kernel ? " --kernel" : ""),
          "the same for all users until it ends; then the settings are as before"};
}

Remedy lower_paranoid(int level, const char* effect) {
  return {fmt::format("sudo sysctl kernel.perf_event_paranoid={}", level), std::string(effect) + kUntilBoot};
}

Remedy container_rights(const MachineFacts& machine) {
  return {
      fmt::format(
          "docker run --pid=host {} --cap-add SYS_PTRACE --cap-add SYSLOG --security-opt seccomp=unconfined ...",
          machine.perf_event_paranoid.value_or(2) > 2 ? "--cap-add SYS_ADMIN"
                                                      : "--cap-add BPF --cap-add PERFMON"),
      "the container can watch every process of the host, and call what the engine's filter usually forbids; or run fathom on the host, which sees into containers"};
}

bool is_supported(const MachineFacts& machine) {
  return machine.architecture == arch::kMachine;
}

EngineVerdict judge_bpf(const MachineFacts& machine, const TargetFacts* target) {
  EngineVerdict verdict{
      "bpf",
      false,
      "complete user and kernel stacks, walked in the kernel, at 24 to 32 bytes a sample; every wait, with its cause and waker",
      {}};
  const auto reject = [&](const Trial& trial) {
    if (!trial.works && verdict.problem.empty()) verdict.problem = trial.problem;
  };
  if (!is_supported(machine))
    verdict.problem = fmt::format("{} is not supported, only {}", machine.architecture, arch::kMachine);
  reject(machine.bpf_program);
  reject(machine.bpf_engine);
  reject(machine.cpu_clock_all);
  reject(machine.side_band);
  reject(machine.record_bpf);
  if (target != nullptr) reject(target->maps);
  verdict.works = verdict.problem.empty();
  return verdict;
}

// What the perf engine makes of waits: it looks at the threads of the target through /proc.
std::string waits_by_looks(const TargetFacts* target) {
  if (target != nullptr && !target->memory.works) return "; no waits, because its threads cannot be read";
  return "; waits of threads, sampled 99 times a second, with exact times";
}

EngineVerdict judge_perf(const MachineFacts& machine, const TargetFacts* target) {
  const Trial& user = target != nullptr ? target->perf_event : machine.cpu_clock_own;
  const Trial& kernel = target != nullptr ? target->perf_event_kernel : machine.cpu_clock_own_kernel;
  EngineVerdict verdict{
      "perf",
      false,
      fmt::format("{} stacks as deep as the 32 KiB that are copied with each sample{}{}",
                  kernel.works ? "user and kernel" : "user",
                  kernel.works ? "" : ", without the time in the kernel", waits_by_looks(target)),
      {}};
  if (!is_supported(machine))
    verdict.problem = fmt::format("{} is not supported, only {}", machine.architecture, arch::kMachine);
  else if (!user.works)
    verdict.problem = user.problem;
  else if (!machine.record_perf.works)
    verdict.problem = machine.record_perf.problem;
  else if (target != nullptr && !target->maps.works)
    verdict.problem = target->maps.problem;
  verdict.works = verdict.problem.empty();
  return verdict;
}

EngineVerdict judge_proc(const MachineFacts& machine, const TargetFacts* target) {
  EngineVerdict verdict{
      "proc", false, "where threads wait, memory and CPU time of each thread over time; no CPU samples", {}};
  if (!is_supported(machine))
    verdict.problem = fmt::format("{} is not supported, only {}", machine.architecture, arch::kMachine);
  else if (target != nullptr && target->status.pid == 0)
    verdict.problem = "/proc hides this process from you";
  else if (!machine.record_proc.works)
    verdict.problem = machine.record_proc.problem;
  else if (target != nullptr && !target->maps.works)
    verdict.problem = target->maps.problem;
  verdict.works = verdict.problem.empty();
  return verdict;
}

// The reasons for which bpf or perf events are refused, and what helps.
void find_obstacles(const MachineFacts& machine, const TargetFacts* target, const Diagnosis& so_far,
                    std::vector<Finding>& findings) {
  const bool bpf_works = so_far.engines[0].works;
  const bool perf_works = so_far.engines[1].works;
  const bool root = machine.uid == 0;
  const bool capable =
      machine.has(Capability::kSysAdmin) ||
      (machine.has(Capability::kBpf) && machine.has(Capability::kPerfmon) && !machine.events_need_admin());
  const char* demanded =
      machine.events_need_admin() ? "CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN" : "CAP_BPF and CAP_PERFMON";
  const std::string why_admin =
      machine.events_need_admin()
          ? fmt::format(
                " This kernel demands CAP_SYS_ADMIN for perf events, because kernel.perf_event_paranoid is {}.",
                *machine.perf_event_paranoid)
          : "";
  if (!is_supported(machine)) {
    findings.push_back(
        {Severity::kObstacle,
         fmt::format("{} machines cannot be profiled yet: only {}", machine.architecture, arch::kMachine),
         {}});
    return;
  }
  if (target != nullptr && !target->maps.works)
    findings.push_back({Severity::kObstacle,
                        fmt::format("You may not look into {}, which belongs to user {}.",
                                    target_name(*target), target->status.uid),
                        {run_as_root(machine, target)}});
  if (!bpf_works && !capable && !root) {
    Finding finding{Severity::kObstacle,
                    fmt::format("{}, so the engine bpf is out of reach: it needs {}.{}",
                                machine.bpf_program.works ? "You may not sample whole CPUs"
                                                          : "You may not load BPF programs",
                                demanded, why_admin),
                    {run_as_root(machine, target)}};
    for (Remedy& remedy : give_capabilities(machine)) finding.remedies.push_back(std::move(remedy));
    findings.push_back(std::move(finding));
  } else if (!bpf_works && !capable) {
    findings.push_back(
        {Severity::kObstacle,
         fmt::format("You are root without {}, as in most containers: the engine bpf is out of reach.{}",
                     demanded, why_admin),
         {container_rights(machine)}});
  } else if (!bpf_works && machine.lockdown == "confidentiality") {
    findings.push_back(
        {Severity::kObstacle,
         "The kernel is locked down (confidentiality), so BPF programs may not read memory, root's neither.",
         {{"boot with lockdown=integrity on the kernel's command line",
           "root can then read the kernel's memory"}}});
  } else if (!bpf_works && !machine.bpf_program.works) {
    findings.push_back(
        {Severity::kObstacle,
         fmt::format("BPF programs are refused in spite of your capabilities ({}){}.",
                     machine.bpf_program.problem,
                     machine.seccomp == 2 ? ": a seccomp filter blocks fathom's system calls" : ""),
         {machine.seccomp == 2 || machine.container
              ? container_rights(machine)
              : Remedy{"a kernel with CONFIG_BPF_SYSCALL=y, such as Debian's", "none"}}});
  } else if (!bpf_works && !machine.bpf_engine.works) {
    findings.push_back(
        {Severity::kObstacle,
         fmt::format("BPF works here, but this kernel ({}) refuses fathom's programs: {}.", machine.kernel,
                     machine.bpf_engine.problem),
         {{machine.btf.works ? "a newer kernel: 5.10 and later are known to work"
                             : "a kernel with CONFIG_DEBUG_INFO_BTF=y, such as Debian's: it has no BTF",
           "none"}}});
  } else if (!bpf_works && (!machine.cpu_clock_all.works || !machine.side_band.works)) {
    findings.push_back(
        {Severity::kObstacle,
         fmt::format("Events of whole CPUs are refused ({}).",
                     machine.cpu_clock_all.works ? machine.side_band.problem : machine.cpu_clock_all.problem),
         machine.container || root ? std::vector{container_rights(machine)} : give_capabilities(machine)});
  } else if (!machine.record_bpf.works) {
    findings.push_back(
        {Severity::kObstacle,
         fmt::format("The engine bpf loads here and does not start: {}.", machine.record_bpf.problem),
         {{"fathom record --engine perf", "copied stacks, which end after 32 KiB"}}});
  }

  if (!perf_works && !bpf_works && !machine.cpu_clock_own.works) {
    const int level = machine.perf_event_paranoid.value_or(-1);
    if (level > 2)
      findings.push_back(
          {Severity::kObstacle,
           fmt::format("kernel.perf_event_paranoid is {}: users may not sample even their own processes.",
                       level),
           {run_as_root(machine, target),
            lower_paranoid(
                2,
                "every user may sample their own processes, which has had security bugs in the kernel before"),
            allow_for_a_while(machine, false)}});
    else
      findings.push_back(
          {Severity::kObstacle,
           fmt::format("Sampling events are refused ({}){}.", machine.cpu_clock_own.problem,
                       machine.seccomp == 2 ? ": a seccomp filter forbids perf_event_open" : ""),
           {machine.seccomp == 2 || machine.container ? container_rights(machine)
                                                      : run_as_root(machine, target)}});
  }
  if (target == nullptr || !target->maps.works) return;
  if (!bpf_works && !target->perf_event.works && machine.cpu_clock_own.works)
    findings.push_back(
        {Severity::kObstacle,
         fmt::format("You may not sample {}: {}.", target_name(*target), target->perf_event.problem),
         {run_as_root(machine, target)}});
}

void find_limits(const MachineFacts& machine, const TargetFacts* target, const Diagnosis& so_far,
                 std::vector<Finding>& findings) {
  const bool perf_is_used = so_far.engine == "perf";
  const Trial& kernel_side = target != nullptr ? target->perf_event_kernel : machine.cpu_clock_own_kernel;
  if (perf_is_used && !kernel_side.works)
    findings.push_back(
        {Severity::kLimit,
         fmt::format(
             "Time inside the kernel is not sampled, as kernel.perf_event_paranoid is {}: system calls are missing from the picture and from the counts.",
             machine.perf_event_paranoid.value_or(2)),
         {lower_paranoid(1, "every user may sample the kernel side of their own processes"),
          allow_for_a_while(machine, true)}});
  if (perf_is_used && machine.ring_bytes > 0 && machine.ring_bytes < (2u << 20))
    findings.push_back(
        {Severity::kLimit,
         fmt::format(
             "Rings of {} KiB hold only {} stacks of 32 KiB: a busy machine will lose samples (fathom counts them).",
             machine.ring_bytes >> 10, machine.ring_bytes / (33 << 10)),
         {{"ulimit -l 65536 (as root, or through /etc/security/limits.conf)",
           "you may lock 64 MiB of memory"},
          {"sudo sysctl kernel.perf_event_mlock_kb=8192",
           std::string("every user may lock 8 MiB for each CPU") + kUntilBoot}}});
  if (so_far.engine == "bpf" && !machine.bpf_probes.works)
    findings.push_back(
        {Severity::kLimit,
         fmt::format("Function calls (--probe) and the static probes of a heap cannot be recorded: {}.",
                     machine.bpf_probes.problem),
         {{"a kernel from Linux 5.15 on", "none"}}});
  const bool sees_kernel = so_far.engine == "bpf" || (perf_is_used && kernel_side.works);
  if (sees_kernel && !machine.kernel_symbols.works) {
    Finding finding{Severity::kLimit,
                    "Kernel functions will have no names: the kernel hides their addresses from you.",
                    {run_as_root(machine, target)}};
    if (machine.uid == 0)
      finding.remedies = {
          {"sudo sysctl kernel.kptr_restrict=0",
           std::string("programs with CAP_SYSLOG see kernel addresses, which helps attackers") + kUntilBoot}};
    findings.push_back(std::move(finding));
  }
  if (!machine.heap_counter.works)
    findings.push_back(
        {Severity::kNote,
         fmt::format(
             "--heap orders its events by a sequence number, not by the time-stamp counter: {}. Their times are good to 1 ms. Sampling costs the same; with --heap=exact, two threads that do nothing but allocate pay 5 to 28 % more for each call.",
             machine.heap_counter.problem),
         {{"a hypervisor that shows an invariant counter (QEMU: -cpu host,+invtsc), or a kernel that uses the clock source tsc",
           "none in fathom"}}});
  if (!machine.name_cache.works)
    findings.push_back({Severity::kLimit,
                        "Symbols are not cached, so every recording looks them up again: " +
                            machine.name_cache.problem + ".",
                        {{"XDG_CACHE_HOME=FOLDER fathom record ...",
                          "names are kept in FOLDER, which has to be your own"}}});
  if (constexpr int kDefaultRate = 999;
      machine.perf_event_max_sample_rate.value_or(kDefaultRate) < kDefaultRate)
    findings.push_back(
        {Severity::kLimit,
         fmt::format(
             "The kernel allows at most {} samples per second; it lowers this limit automatically when interrupts take long.",
             *machine.perf_event_max_sample_rate),
         {{fmt::format("fathom record -F {}", *machine.perf_event_max_sample_rate), "fewer samples"},
          {"sudo sysctl kernel.perf_event_max_sample_rate=100000",
           std::string("sampling may take more CPU time than the kernel would let it") + kUntilBoot}}});
  if (!machine.initial_pid_namespace)
    findings.push_back(
        {Severity::kLimit,
         "fathom runs in a PID namespace of its own: it sees only the processes of this container, and numbers differ from those of the host.",
         {{"run fathom on the host, or the container with --pid=host",
           "the container sees all processes of the host"}}});
  if (!machine.cycles.works)
    findings.push_back(
        {Severity::kNote,
         "There is no hardware cycle counter, as is usual in virtual machines: samples are taken by the clock, which shows where time goes just as well.",
         {}});
}

bool has_all_names(const ModuleHealth& module) {
  return module.symbols == SymbolSource::kSymtab || module.symbols == SymbolSource::kDwarf ||
         module.symbols == SymbolSource::kGo;
}

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
      fmt::format("Functions of {} libraries that are not exported have no names: {}{}.", libraries.size(),
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

std::string names_sentence(const TargetFacts& target) {
  const auto named =
      static_cast<std::size_t>(std::count_if(target.modules.begin(), target.modules.end(), has_all_names));
  std::string sentence =
      fmt::format("{} of its {} modules have all their function names", named, target.modules.size());
  std::vector<std::string> without;
  for (const ModuleHealth& module : target.modules) {
    if (!has_all_names(module)) without.emplace_back(base_name(module.path));
  }
  if (!without.empty() && without.size() <= 3)
    sentence += fmt::format("; not so {}", fmt::join(without, ", "));
  return sentence + ".";
}

void write_sentences(const MachineFacts& machine, const TargetFacts* target, Diagnosis& diagnosis) {
  auto& sentences = diagnosis.sentences;
  const auto verdict = std::find_if(diagnosis.engines.begin(), diagnosis.engines.end(),
                                    [&](const EngineVerdict& e) { return e.name == diagnosis.engine; });
  const auto obstacle = std::find_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                                     [](const Finding& f) { return f.severity == Severity::kObstacle; });
  if (verdict == diagnosis.engines.end()) {
    sentences.push_back(fmt::format("fathom cannot sample {} as user {}.",
                                    target != nullptr ? target_name(*target) : "any process here",
                                    machine.uid));
    if (obstacle != diagnosis.findings.end()) sentences.push_back(obstacle->text);
  } else {
    sentences.push_back(fmt::format("fathom can record {} with engine {}: {}.",
                                    target != nullptr           ? target_name(*target)
                                    : diagnosis.engine == "bpf" ? "any process of this machine"
                                                                : "your own processes",
                                    diagnosis.engine, verdict->buys));
    if (diagnosis.engine == "proc" && obstacle != diagnosis.findings.end())
      sentences.push_back(obstacle->text);
  }
  if (target != nullptr && target->maps.works && target->modules.empty())
    sentences.push_back("It has no code in user space: a kernel thread, or a process that has ended.");
  else if (target != nullptr && target->maps.works)
    sentences.push_back(names_sentence(*target));
}

}  // namespace

Diagnosis diagnose(const MachineFacts& machine, const TargetFacts* target) {
  Diagnosis diagnosis;
  diagnosis.engines.push_back(judge_bpf(machine, target));
  diagnosis.engines.push_back(judge_perf(machine, target));
  diagnosis.engines.push_back(judge_proc(machine, target));
  for (const EngineVerdict& engine : diagnosis.engines) {
    if (engine.works && diagnosis.engine.empty()) diagnosis.engine = engine.name;
  }
  find_obstacles(machine, target, diagnosis, diagnosis.findings);
  find_limits(machine, target, diagnosis, diagnosis.findings);
  find_about_memory(machine, target, diagnosis.findings);
  if (target != nullptr) find_in_target(*target, diagnosis.findings);
  std::stable_sort(diagnosis.findings.begin(), diagnosis.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity < b.severity; });
  write_sentences(machine, target, diagnosis);
  return diagnosis;
}

}  // namespace fathom::doctor
