#include <fmt/format.h>

#include <optional>

#include "base/arch/facts.h"
#include "tools/doctor/findings.h"

namespace fathom::doctor {
namespace {

using Severity = Finding::Severity;

constexpr const char* kUntilBoot = "; until the next boot, or for good with a line in /etc/sysctl.d";

std::string fathom_path(const MachineFacts& machine) {
  return machine.own_path.empty() ? "fathom" : machine.own_path;
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
}  // namespace

bool is_supported(const MachineFacts& machine) {
  return machine.architecture == arch::kMachine;
}

namespace {

// The engine bpf has not the rights that it needs.
Finding bpf_rights_obstacle(const MachineFacts& machine, const TargetFacts* target) {
  const char* demanded =
      machine.events_need_admin() ? "CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN" : "CAP_BPF and CAP_PERFMON";
  const std::string why_admin =
      machine.events_need_admin()
          ? fmt::format(
                " This kernel demands CAP_SYS_ADMIN for perf events, because kernel.perf_event_paranoid is {}.",
                *machine.perf_event_paranoid)
          : "";
  if (machine.uid == 0)
    return {Severity::kObstacle,
            fmt::format("You are root without {}, as in most containers: the engine bpf is out of reach.{}",
                        demanded, why_admin),
            {container_rights(machine)}};
  Finding finding{Severity::kObstacle,
                  fmt::format("{}, so the engine bpf is out of reach: it needs {}.{}",
                              machine.bpf_program.works ? "You may not sample whole CPUs"
                                                        : "You may not load BPF programs",
                              demanded, why_admin),
                  {run_as_root(machine, target)}};
  for (Remedy& remedy : give_capabilities(machine)) finding.remedies.push_back(std::move(remedy));
  return finding;
}

// The engine bpf has all rights, and does not work; nullopt: the reason is not known.
std::optional<Finding> bpf_refused_obstacle(const MachineFacts& machine) {
  if (machine.lockdown == "confidentiality")
    return Finding{
        Severity::kObstacle,
        "The kernel is locked down (confidentiality), so BPF programs may not read memory, root's neither.",
        {{"boot with lockdown=integrity on the kernel's command line",
          "root can then read the kernel's memory"}}};
  if (!machine.bpf_program.works)
    return Finding{Severity::kObstacle,
                   fmt::format("BPF programs are refused in spite of your capabilities ({}){}.",
                               machine.bpf_program.problem,
                               machine.seccomp == 2 ? ": a seccomp filter blocks fathom's system calls" : ""),
                   {machine.seccomp == 2 || machine.container
                        ? container_rights(machine)
                        : Remedy{"a kernel with CONFIG_BPF_SYSCALL=y, such as Debian's", "none"}}};
  if (!machine.bpf_engine.works)
    return Finding{
        Severity::kObstacle,
        fmt::format("BPF works here, but this kernel ({}) refuses fathom's programs: {}.", machine.kernel,
                    machine.bpf_engine.problem),
        {{machine.btf.works ? "a newer kernel: 5.10 and later are known to work"
                            : "a kernel with CONFIG_DEBUG_INFO_BTF=y, such as Debian's: it has no BTF",
          "none"}}};
  if (!machine.cpu_clock_all.works || !machine.side_band.works)
    return Finding{
        Severity::kObstacle,
        fmt::format("Events of whole CPUs are refused ({}).",
                    machine.cpu_clock_all.works ? machine.side_band.problem : machine.cpu_clock_all.problem),
        machine.container || machine.uid == 0 ? std::vector{container_rights(machine)}
                                              : give_capabilities(machine)};
  return std::nullopt;
}

std::optional<Finding> bpf_obstacle(const MachineFacts& machine, const TargetFacts* target, bool works) {
  const bool capable =
      machine.has(Capability::kSysAdmin) ||
      (machine.has(Capability::kBpf) && machine.has(Capability::kPerfmon) && !machine.events_need_admin());
  if (!works && !capable) return bpf_rights_obstacle(machine, target);
  if (!works)
    if (auto refused = bpf_refused_obstacle(machine)) return refused;
  if (machine.record_bpf.works) return std::nullopt;
  return Finding{Severity::kObstacle,
                 fmt::format("The engine bpf loads here and does not start: {}.", machine.record_bpf.problem),
                 {{"fathom record --engine perf", "copied stacks, which end after 32 KiB"}}};
}

// Where neither engine works: users may not sample even their own processes.
Finding own_events_obstacle(const MachineFacts& machine, const TargetFacts* target) {
  const int level = machine.perf_event_paranoid.value_or(-1);
  if (level > 2)
    return {
        Severity::kObstacle,
        fmt::format("kernel.perf_event_paranoid is {}: users may not sample even their own processes.",
                    level),
        {run_as_root(machine, target),
         lower_paranoid(
             2,
             "every user may sample their own processes, which has had security bugs in the kernel before"),
         allow_for_a_while(machine, false)}};
  return {
      Severity::kObstacle,
      fmt::format("Sampling events are refused ({}){}.", machine.cpu_clock_own.problem,
                  machine.seccomp == 2 ? ": a seccomp filter forbids perf_event_open" : ""),
      {machine.seccomp == 2 || machine.container ? container_rights(machine) : run_as_root(machine, target)}};
}

}  // namespace

void find_obstacles(const MachineFacts& machine, const TargetFacts* target, const Diagnosis& so_far,
                    std::vector<Finding>& findings) {
  const bool bpf_works = so_far.engines[0].works;
  const bool perf_works = so_far.engines[1].works;
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
  if (auto obstacle = bpf_obstacle(machine, target, bpf_works)) findings.push_back(std::move(*obstacle));
  if (!perf_works && !bpf_works && !machine.cpu_clock_own.works)
    findings.push_back(own_events_obstacle(machine, target));
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

}  // namespace fathom::doctor
