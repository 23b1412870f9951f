#include "tools/doctor/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/arch/facts.h"
#include "base/stable_sort.h"
#include "base/text.h"
#include "tools/doctor/findings.h"
#include "tools/doctor/memory_controller.h"

namespace fathom::doctor {
namespace {

using Severity = Finding::Severity;

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
  stable_sort_rows(diagnosis.findings.begin(), diagnosis.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity < b.severity; });
  write_sentences(machine, target, diagnosis);
  return diagnosis;
}

}  // namespace fathom::doctor
