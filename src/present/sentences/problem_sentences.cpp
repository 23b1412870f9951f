#include "present/sentences/problem_sentences.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/core/words.h"
#include "present/sentences/hot_spot_sentences.h"

namespace fathom::present {

using namespace analysis;  // this folder puts into words what lies there

std::string short_words(ProblemKind kind) {
  switch (kind) {
    case ProblemKind::kIdle:
      return "idle";
    case ProblemKind::kCpu:
      return "CPU-bound";
    case ProblemKind::kMemory:
      return "memory-bound";
    case ProblemKind::kCpuAndMemory:
      return "CPU-bound and memory-bound";
    case ProblemKind::kDisk:
      return "waits for the disk";
    case ProblemKind::kPeers:
      return "waits for others";
    case ProblemKind::kLocks:
      return "waits for locks and other threads";
    case ProblemKind::kRunQueue:
      return "short of CPUs";
    case ProblemKind::kCpuAndRunQueue:
      return "CPU-bound, and short of CPUs";
    case ProblemKind::kSleep:
      return "sleeps";
    case ProblemKind::kUnknown:
    case ProblemKind::kMixed:
      break;
  }
  return "";
}

// "; its control group stood still for want of memory in 42 % of the time, with nothing running in 12 %; for want of CPUs ..."
static std::string pressure_text(const ProblemClass& problem) {
  const PressureView& pressure = problem.pressure;
  std::string text;
  bool of_machine = false;
  const auto add = [&](const std::optional<Stall>& stall, std::string_view what) {
    if (!stall || stall->some < kProblemThresholds.stalled) return;
    if (text.empty() || of_machine != stall->of_machine)
      text += stall->of_machine ? "; tasks of the machine, others' too, stood still for want of "
                                : "; tasks of its control group stood still for want of ";
    else
      text += ", of ";
    of_machine = stall->of_machine;
    text += fmt::format("{} in {} of the time", what, rounded_percent(stall->some));
    if (stall->full >= 0.01) text += fmt::format(" (all of them in {})", rounded_percent(stall->full));
  };
  // The whole machine's figures tell something of this program only where it waited for the same thing itself.
  constexpr double kWaited = 0.01;
  const auto concerns = [](const std::optional<Stall>& stall, double waited) {
    return stall && (!stall->of_machine || waited >= kWaited);
  };
  if (concerns(pressure.memory, problem.memory)) add(pressure.memory, "memory");
  // How long the target itself stood in the run queue is known; that others did explains nothing.
  if (concerns(pressure.cpu, 0)) add(pressure.cpu, "CPUs");
  if (concerns(pressure.io, problem.disk)) add(pressure.io, "disks");
  return text.empty() ? ""
                      : text + fmt::format(" (PSI, from {} on)", rounded_percent(kProblemThresholds.stalled));
}

static std::string sentence_of_class(const ProblemClass& problem) {
  const ProblemThresholds& from = kProblemThresholds;
  // Shares are of the busy time: what is left where nobody had work is taken out.
  const auto part = [&](std::string_view what, double threshold) {
    return fmt::format("{} of its busy time {} (from {} on)", rounded_percent(problem.share()), what,
                       rounded_percent(threshold));
  };
  const auto silent = [&](std::string_view what) {
    return "in " + part("no thread ran, and " + std::string(what), from.waited);
  };
  switch (problem.kind) {
    case ProblemKind::kUnknown:
      // Of a file without times there is nothing to tell it from.
      if (problem.waits_known || problem.busy <= 0) return "";
      return fmt::format(
          "not known: {:.2f} CPUs were used on average, between idle (below {:g}) and CPU-bound (from {:g} "
          "on), and what its threads waited for was not recorded",
          problem.busy, from.idle_below, from.ran);
    case ProblemKind::kIdle:
      if (!problem.waits_known)
        return fmt::format("idle: {:.2f} CPUs were used on average (below {:g})", problem.busy,
                           from.idle_below);
      return fmt::format("idle: no thread had work in {} of the time (from {} on)",
                         rounded_percent(1 - problem.busy), rounded_percent(1 - from.idle_below));
    case ProblemKind::kMixed:
      return fmt::format(
          "mixed: nothing takes its share of the busy time, {} at most (CPU from {} on, run queue {}, "
          "others {})",
          rounded_percent(problem.share()), rounded_percent(from.ran), rounded_percent(from.queued),
          rounded_percent(from.waited));
    case ProblemKind::kCpu:
      if (!problem.waits_known)
        return fmt::format(
            "CPU-bound: {:.2f} CPUs were used on average (from {:g} on); waits were not recorded",
            problem.busy, from.ran);
      return "CPU-bound: in " + part("a thread was running", from.ran) + "; cache misses are not measured";
    case ProblemKind::kCpuAndMemory:
      return "CPU-bound and memory-bound: in " + part("a thread was running", from.ran) +
             fmt::format(", and {} went to page faults and reclaim (from {} on)",
                         rounded_percent(problem.memory), rounded_percent(from.waited));
    case ProblemKind::kMemory:
      return "memory-bound: " + part("went to page faults, swap and reclaim", from.waited);
    case ProblemKind::kDisk:
      return "I/O: " + silent("one waited for a file");
    case ProblemKind::kPeers:
      return "I/O: " + silent("a socket, pipe or poll was waited for");
    case ProblemKind::kLocks:
      if (problem.by_contention())
        return fmt::format(
            "locks: {} of the time of its threads that had work passed in waits for a lock (from {} on)",
            rounded_percent(problem.share()), rounded_percent(from.contended));
      return "locks: " + silent("a lock or another thread was waited for");
    case ProblemKind::kRunQueue:
    case ProblemKind::kCpuAndRunQueue:
      return fmt::format("{}: in {} of the time that its threads could run, they had no CPU (from {} on)",
                         problem.kind == ProblemKind::kRunQueue ? "run queue" : "CPU-bound and run queue",
                         rounded_percent(problem.share()), rounded_percent(from.queued));
    case ProblemKind::kSleep:
      return "sleeps: " + silent("a time was waited for");
  }
  return "";
}

static std::string memory_text(const MemoryProblem& memory) {
  const std::string rate =
      memory.per_s > 0 ? fmt::format("resident memory grows by {}/s", bytes(memory.per_s)) : "";
  switch (memory.kind) {
    case MemoryProblemKind::kLeak:
      return "; memory: a leak candidate" + (rate.empty() ? "" : ", " + rate);
    case MemoryProblemKind::kGrows:
      return "; memory: " + rate;
    case MemoryProblemKind::kHeld:
      return fmt::format("; memory: {} of what is resident is free inside its allocator",
                         rounded_percent(memory.share));
    case MemoryProblemKind::kChurn:
      return fmt::format("; memory: allocating and freeing take {} of CPU time",
                         rounded_percent(memory.share));
    case MemoryProblemKind::kNone:
      break;
  }
  return "";
}

std::string sentence_of(const ProblemClass& problem) {
  const std::string text = sentence_of_class(problem),
                    rest = memory_text(problem.memory_problem) + pressure_text(problem);
  if (!text.empty() || rest.empty()) return text + rest;
  return "not known" + rest;  // waits were not recorded, and it neither idled nor filled a CPU
}

std::vector<std::string> next_commands(const Report& report, const ProblemClass& problem,
                                       const std::string& file) {
  std::vector<std::string> commands;
  const std::string tables = "fathom report " + file;
  const bool leaks =
      report.heap && std::ranges::any_of(report.heap->verdicts, [](const HeapVerdict& verdict) {
        return verdict.kind == HeapVerdictKind::kLeak && verdict.confidence != Confidence::kLow;
      });
  if (leaks) commands.push_back("fathom leaks " + file);
  switch (problem.kind) {
    case ProblemKind::kDisk:
    case ProblemKind::kPeers:
      commands.push_back(tables + " --files");
      break;
    case ProblemKind::kLocks:
      commands.push_back(tables + " --locks");
      break;
    case ProblemKind::kMemory:
      if (report.memory) commands.push_back(tables + " --memory");
      break;
    case ProblemKind::kIdle:
    case ProblemKind::kSleep:
    case ProblemKind::kRunQueue:
      if (report.waits) commands.push_back(tables + " --waits");
      break;
    default:
      break;
  }
  if (report.tree.metric == model::Metric::kCpu && report.tree.total > 0)
    commands.push_back("fathom flamegraph " + file);
  if (problem.kind == ProblemKind::kCpuAndMemory && report.memory) commands.push_back(tables + " --memory");
  const auto& memory = problem.pressure.memory;
  const std::string resident = tables + " --memory";
  if (memory && memory->some >= kProblemThresholds.stalled && report.memory &&
      std::ranges::find(commands, resident) == commands.end())
    commands.push_back(resident);
  if (problem.kind == ProblemKind::kMixed && report.waits) commands.push_back(tables + " --waits");
  if (report.heap) commands.push_back(tables + " --heap");
  commands.push_back(tables + " --all");
  return commands;
}

}  // namespace fathom::present
