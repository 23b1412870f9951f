#include "tools/doctor/methods.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/doctor/lines.h"

namespace fathom::doctor {
namespace {

Trial when(bool works, std::string problem) {
  return {works, works ? std::string() : std::move(problem)};
}

Trial judge_samples(const std::string& engine) {
  return when(engine == "bpf" || engine == "perf", "no engine that samples works here");
}

Trial judge_heap(const TargetFacts* target) {
  if (target == nullptr) return {true, {}};
  if (target->heap_frees_told) return {true, {}};
  if (!target->heap.works)
    return {false, target->heap.problem.empty() ? "its heap cannot be traced" : target->heap.problem};
  return when(!target->allocators.empty(), "no allocator was found in it");
}

Trial judge_probes(const MachineFacts& machine, const std::string& engine) {
  if (engine != "bpf") return {false, "needs the engine bpf"};
  return machine.bpf_probes;
}

// jemalloc writes dumps by itself if it was built and started for that.
Trial judge_dumps(const TargetFacts* target) {
  if (target == nullptr) return {true, {}};
  if (!std::ranges::any_of(target->allocators, is_jemalloc)) return {false, "it has no jemalloc"};
  const bool may_write = std::ranges::any_of(target->allocators, [](const AllocatorFact& allocator) {
    return is_jemalloc(allocator) && allocator.profiling != false;
  });
  return when(may_write, "its jemalloc was built without profiling");
}

}  // namespace

std::vector<Method> methods_of(const MachineFacts& machine, const TargetFacts* target,
                               const std::string& engine) {
  const std::string whom = target != nullptr ? fmt::format("-p {}", target->process.pid) : "-p PID";
  std::vector<Method> methods;
  const auto add = [&](std::string command, Trial trial, const char* cost, const char* shows) {
    methods.push_back({std::move(command), trial.works, std::move(trial.problem), cost, shows});
  };
  const Trial any = when(!engine.empty(), "no engine works here");
  add("fathom record " + whom, any, "about 4 % of the work of a loaded server",
      "CPU time, waits and memory together");
  add("fathom record --sources cpu " + whom, judge_samples(engine),
      "0.1 to 1 % of each busy CPU (999 Hz); with -F 99 a tenth of that", "functions and lines that run");
  add("fathom record --sources wait " + whom, any, "0.1 to 1 % of a CPU for 1,000 switches/s",
      engine == "bpf" ? "every wait, its cause, and who ended it" : "waits of threads, sampled");
  add("fathom record --heap " + whom, judge_heap(target),
      "about 8 ns for each malloc and free; threads stop for ms",
      "live and allocated memory by call site, sampled");
  add("fathom record --heap=exact " + whom, judge_heap(target), "about 90 ns for each malloc and free",
      "the same of every call, lifetimes, leaks");
  add("fathom record --probe FUNCTION " + whom, judge_probes(machine, engine),
      "30 to 55 us for each call (virtual machine)", "calls of one function: how many, how long, from where");
  add("fathom watch " + whom, when(target == nullptr || target->maps.works, "its mappings cannot be read"),
      "one look at /proc a second", "what RSS consists of, now and over time");
  add("fathom report FOLDER", judge_dumps(target), "what jemalloc's own sampling costs",
      "heap dumps that jemalloc writes: doctor --for leak has its settings");
  return methods;
}

std::string methods_table(const std::vector<Method>& methods) {
  std::string out =
      "\nMethods, and what each costs (docs/performance.md; fathom record --dry-run estimates it for a process)\n";
  for (const Method& method : methods) {
    append_line(out, "  {:<5}{:<46} {}", method.works ? "yes" : "no", method.command, method.shows);
    append_line(out, "  {:<5}{:<46} {}", "", "",
                method.works ? "cost: " + method.cost : "problem: " + method.problem);
  }
  return out;
}

}  // namespace fathom::doctor
