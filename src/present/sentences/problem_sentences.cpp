#include "present/sentences/problem_sentences.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/core/ending.h"
#include "analysis/core/words.h"
#include "base/shell_word.h"
#include "model/facts.h"
#include "present/sentences/hot_spot_sentences.h"
#include "present/sentences/memory_summary_sentences.h"

namespace fathom::present {

using namespace analysis;  // this folder puts into words what lies there

// What its memory does is the answer for a program that has time.
static std::string_view memory_words(const ProblemClass& problem) {
  switch (problem.memory_problem.kind) {
    case MemoryProblemKind::kLeak:
      return "leak candidate";
    case MemoryProblemKind::kGrows:
      return "memory grows";
    default:
      return "";
  }
}

static std::string_view lack_of_cpus(const ProblemClass& problem) {
  return problem.by_quota()       ? "limited by its CPU quota"
         : problem.by_quota_too() ? "short of CPUs and limited by its CPU quota"
                                  : "short of CPUs";
}

static std::string time_words(const ProblemClass& problem) {
  switch (problem.kind) {
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
      return "waits for sockets, pipes or events";
    case ProblemKind::kLocks:
      return "waits for locks and other threads";
    case ProblemKind::kRunQueue:
      return std::string(lack_of_cpus(problem));
    case ProblemKind::kCpuAndRunQueue:
      return fmt::format("CPU-bound, and {}", lack_of_cpus(problem));
    case ProblemKind::kSleep:
      return "sleeps";
    case ProblemKind::kUnended:
      return "stuck or idle";
    case ProblemKind::kUnknown:
    case ProblemKind::kMixed:
      break;
  }
  return "";
}

static std::string_view stuck_words(const ProblemClass& problem) {
  if (!problem.stuck) return "";
  switch (*problem.stuck) {
    case stacks::Finding::kDeadlock:
      return "deadlock";
    case stacks::Finding::kHolderExited:
      return "stuck at a lock whose holder has exited";
    case stacks::Finding::kPoolExhausted:
      return "pool exhausted";
    case stacks::Finding::kLikelyDeadlock:
      return "likely deadlock";
    default:
      return "";
  }
}

// Of a program that is stuck, that its threads wait is no news; that others of them work is.
static bool is_time_news(const ProblemClass& problem) {
  switch (problem.kind) {
    case ProblemKind::kIdle:
    case ProblemKind::kSleep:
    case ProblemKind::kLocks:
    case ProblemKind::kPeers:
    case ProblemKind::kUnended:
      return !problem.stuck;
    default:
      return true;
  }
}

std::string short_words(const ProblemClass& problem) {
  const std::string_view stuck = stuck_words(problem);
  std::string time(stuck);
  if (is_time_news(problem)) {
    const std::string kind = time_words(problem);
    time += (stuck.empty() || kind.empty() ? "" : ", ") + kind;
  }
  const std::string_view memory = memory_words(problem);
  return fmt::format("{}{}{}", time, time.empty() || memory.empty() ? "" : ", ", memory);
}

// "; its control group was stalled on memory for 42 % of the time (all of its tasks: 12 %), on disks for 20 %".
static std::string pressure_text(const ProblemClass& problem) {
  const PressureView& pressure = problem.pressure;
  std::string text;
  bool of_machine = false;
  const auto add = [&](const std::optional<Stall>& stall, std::string_view what) {
    if (!stall || stall->some < kProblemThresholds.stalled) return;
    if (text.empty() || of_machine != stall->of_machine)
      text += stall->of_machine ? "; tasks on the machine were stalled on "
                                : "; tasks of its control group were stalled on ";
    else
      text += ", on ";
    of_machine = stall->of_machine;
    text += fmt::format("{} for {} of the time", what, rounded_percent(stall->some));
    if (stall->full >= 0.01) text += fmt::format(" (all of them for {})", rounded_percent(stall->full));
  };
  // The figures of the whole machine explain something only if the program waited for the same thing itself.
  constexpr double kWaited = 0.01;
  const auto concerns = [](const std::optional<Stall>& stall, double waited) {
    return stall && (!stall->of_machine || waited >= kWaited);
  };
  if (concerns(pressure.memory, problem.memory)) add(pressure.memory, "memory");
  // The run queue of the program itself is known; how long others waited for a CPU explains nothing.
  if (concerns(pressure.cpu, 0)) add(pressure.cpu, "CPUs");
  if (concerns(pressure.io, problem.disk)) add(pressure.io, "disks");
  return text.empty()
             ? ""
             : text + fmt::format(" (PSI, threshold: {})", rounded_percent(kProblemThresholds.stalled));
}

static std::string sentence_of_class(const ProblemClass& problem) {
  const ProblemThresholds& from = kProblemThresholds;
  const std::string_view no_waits = problem.by_threads     ? "the moments of its waits are unknown"
                                    : problem.waits_summed ? "of waits only sums are known"
                                                           : "waits were not recorded";
  const std::string share = rounded_percent(problem.share());
  const auto threshold = [](double value) { return fmt::format(" (threshold: {})", rounded_percent(value)); };
  // Shares are of the busy time, which leaves out when no thread had work.
  const auto silent = [&](std::string_view kind, std::string_view what, std::string_view of_threads) {
    if (problem.by_threads)
      return fmt::format("{}. Threads spent {} of their active time waiting {}{}; {}", kind, share,
                         of_threads, threshold(from.waited), no_waits);
    return fmt::format("{}. In {} of the busy time no thread ran {}{}", kind, share, what,
                       threshold(from.waited));
  };
  const std::string_view busy_time = problem.by_threads ? "its threads' active time" : "the busy time";
  switch (problem.kind) {
    case ProblemKind::kUnknown:
      if (problem.busy_s > 0)
        return fmt::format("unknown. The program had work for {} only (threshold: {})",
                           seconds(problem.busy_s), seconds(from.least_busy_s));
      // A file without times says nothing about it.
      if (problem.waits_known || problem.busy <= 0) return "";
      return fmt::format(
          "unknown. The program used {:.2f} CPUs on average, between idle (below {:g}) and CPU-bound (at least {:g}), and {}",
          problem.busy, from.idle_below, from.ran, no_waits);
    case ProblemKind::kIdle:
      if (problem.by_threads)
        return fmt::format("idle. Its threads had work for {} of the time in all{}",
                           rounded_percent(problem.busy), threshold(from.idle_below));
      if (!problem.waits_known)
        return fmt::format("idle. The program used {:.2f} CPUs on average (threshold: {:g})", problem.busy,
                           from.idle_below);
      return fmt::format("idle. No thread had work in {} of the time{}", rounded_percent(1 - problem.busy),
                         threshold(1 - from.idle_below));
    case ProblemKind::kMixed:
      return fmt::format(
          "mixed. No cause reaches its threshold; the largest has {} of {} (thresholds: CPU {}, run queue {}, others {})",
          share, busy_time, rounded_percent(from.ran), rounded_percent(from.queued),
          rounded_percent(from.waited));
    case ProblemKind::kCpu:
      if (problem.by_threads && problem.busy < from.ran)
        return fmt::format("CPU-bound. Threads spent {} of their active time running{}; {}", share,
                           threshold(from.ran), no_waits);
      if (!problem.waits_known)
        return fmt::format("CPU-bound. The program used {:.2f} CPUs on average (threshold: {:g}); {}",
                           problem.busy, from.ran, no_waits);
      return fmt::format(
          "CPU-bound. A thread was running in {} of the busy time{}; cache misses are not measured", share,
          threshold(from.ran));
    case ProblemKind::kCpuAndMemory:
      if (problem.by_threads)
        return fmt::format(
            "CPU-bound and memory-bound. The program used {:.2f} CPUs on average, and page faults and reclaim took {} of its threads' active time{}; {}",
            problem.busy, rounded_percent(problem.memory), threshold(from.waited), no_waits);
      return fmt::format(
          "CPU-bound and memory-bound. A thread was running in {} of the busy time{}, and page faults and reclaim took {}{}",
          share, threshold(from.ran), rounded_percent(problem.memory), threshold(from.waited));
    case ProblemKind::kMemory:
      return fmt::format("memory-bound. Page faults, swap and reclaim took {} of {}{}", share, busy_time,
                         threshold(from.waited));
    case ProblemKind::kDisk:
      return silent("disk-bound", "and at least one waited for a file", "for files");
    case ProblemKind::kPeers:
      return silent("waiting for others",
                    "and at least one waited for something to arrive (socket, pipe, terminal, event)",
                    "for something to arrive (socket, pipe, terminal, event)");
    case ProblemKind::kLocks:
      if (problem.by_contention())
        return fmt::format("lock-bound. Threads that had work spent {} of their time waiting for locks{}",
                           share, threshold(from.contended));
      return silent("lock-bound", "and at least one waited for a lock or another thread", "for locks");
    case ProblemKind::kRunQueue:
    case ProblemKind::kCpuAndRunQueue:
      return fmt::format(
                 "{}{}. Threads that could run had no CPU for {} of that time{}{}",
                 problem.kind == ProblemKind::kRunQueue ? "" : "CPU-bound and ", lack_of_cpus(problem), share,
                 threshold(from.queued),
                 problem.throttled < 0.01
                     ? ""
                     : fmt::format(
                           ": {} in the run queue, {} because the CPU quota of the control group was used up",
                           rounded_percent(problem.queued - problem.throttled),
                           rounded_percent(problem.throttled))) +
             (problem.yielded < 0.5 * problem.queued
                  ? ""
                  : fmt::format("; before {} of it they gave up their CPU themselves (sched_yield)",
                                rounded_percent(problem.yielded / problem.queued)));
    case ProblemKind::kSleep:
      return silent("sleeping", "until a timer expired", "for a timer");
    case ProblemKind::kUnended:
      return silent("stuck or idle", "and threads waited for others that never woke them",
                    "for others that never woke them");
  }
  return "";
}

static std::string_view words_of(FurtherKind::Of of) {
  switch (of) {
    case FurtherKind::Of::kUnqueued:
      return "of the busy time outside the run queue";
    case FurtherKind::Of::kCpuTime:
      return "of the CPU time";
    case FurtherKind::Of::kAble:
      return "of the time that threads could run";
    case FurtherKind::Of::kWork:
      return "of the time of threads that had work";
    case FurtherKind::Of::kActive:
      return "of its threads' active time";
    case FurtherKind::Of::kBusy:
      break;
  }
  return "of the busy time";
}

static std::string_view words_of(ProblemKind further, bool by_quota) {
  switch (further) {
    case ProblemKind::kMemory:
      return "memory-bound";
    case ProblemKind::kDisk:
      return "disk-bound";
    case ProblemKind::kPeers:
      return "waiting for others";
    case ProblemKind::kLocks:
      return "lock-bound";
    case ProblemKind::kSleep:
      return "sleeping";
    case ProblemKind::kUnended:
      return "stuck or idle";
    default:
      return by_quota ? "limited by its CPU quota" : "short of CPUs";
  }
}

// "; also disk-bound (38 % of the busy time), lock-bound (74 % of the time of threads with work)".
static std::string further_text(const ProblemClass& problem) {
  std::string text;
  for (const FurtherKind& also : problem.also)
    text +=
        fmt::format("{} {} ({} {})", text.empty() ? "; also" : ",", words_of(also.kind, problem.by_quota()),
                    rounded_percent(also.share), words_of(also.of));
  return text;
}

static std::string memory_text(const MemoryProblem& memory) {
  const std::string touch =
      memory.first_touch ? fmt::format(" ({})", first_touch_text(*memory.first_touch)) : "";
  const std::string rate =
      memory.per_s > 0 ? fmt::format("RSS grows by {}/s{}", bytes(memory.per_s), touch) : "";
  switch (memory.kind) {
    case MemoryProblemKind::kLeak:
      return "; memory: leak candidate" + (rate.empty() ? "" : ", " + rate);
    case MemoryProblemKind::kGrows:
      return "; memory: " + rate;
    case MemoryProblemKind::kHeld:
      return fmt::format("; memory: {} of RSS is free memory that the allocator keeps",
                         rounded_percent(memory.share));
    case MemoryProblemKind::kChurn:
      return fmt::format("; memory: allocation takes {} of CPU time", rounded_percent(memory.share));
    case MemoryProblemKind::kNone:
      break;
  }
  return "";
}

// A look counts at its time if the waits show that its threads have not run since.
static std::string look_time(const ProblemClass& problem) {
  if (problem.stuck_seen_ns == 0) return "near the end";
  return fmt::format("{} after the start, and they have not run since",
                     seconds(static_cast<double>(problem.stuck_seen_ns) * 1e-9));
}

std::string sentence_of(const ProblemClass& problem) {
  const std::string text = sentence_of_class(problem),
                    rest =
                        further_text(problem) + memory_text(problem.memory_problem) + pressure_text(problem);
  if (const std::string_view stuck = stuck_words(problem); !stuck.empty())
    return fmt::format("{}, seen in a look at all threads {}{}", stuck, look_time(problem),
                       text.empty() ? rest : "; by time " + text + rest);
  if (!text.empty() || rest.empty()) return text + rest;
  return "unknown" + rest;  // waits were not recorded, and it neither idled nor filled a CPU
}

// Records the heap of the same target; "" where it is not known how, or it has ended.
static std::string heap_recording_of(const model::Profile& profile) {
  const auto origin = model::facts_of<model::OriginFacts>(profile.meta);
  if (!origin.format.empty()) return "";  // another tool's file
  constexpr std::size_t kMostOfALine = 60;
  if (!origin.command.empty())
    return origin.command.size() <= kMostOfALine ? "fathom record --heap -- " + origin.command : "";
  if (profile.processes.size() != 1 || profile.processes.front().pid <= 0) return "";
  const model::Process& process = profile.processes.front();
  const bool has_ended = process.end_ns != 0 || !ending_of(profile, process).by_itself();
  return has_ended ? "" : fmt::format("fathom record --heap -p {}", process.pid);
}

// What shows more about what the memory does.
static std::vector<std::string> memory_commands(const Report& report, const MemoryProblem& memory,
                                                const std::string& tables) {
  std::vector<std::string> commands;
  const auto add = [&](std::string command) {
    if (!command.empty()) commands.push_back(std::move(command));
  };
  switch (memory.kind) {
    case MemoryProblemKind::kLeak:
    case MemoryProblemKind::kGrows:
      if (report.heap)
        add(tables + " --heap");
      else
        add(heap_recording_of(*report.profile));
      if (report.memory) add(tables + " --memory");
      break;
    case MemoryProblemKind::kHeld:
      if (report.memory) add(tables + " --memory");
      break;
    case MemoryProblemKind::kChurn:
      if (report.heap) add(tables + " --heap");
      break;
    case MemoryProblemKind::kNone:
      break;
  }
  return commands;
}

std::vector<std::string> next_commands(const Report& report, const ProblemClass& problem,
                                       const std::string& path) {
  std::vector<std::string> commands;
  const std::string file = shell_word(path), tables = "fathom report " + file;
  const auto add_memory = [&] {
    for (std::string& command : memory_commands(report, problem.memory_problem, tables))
      if (std::ranges::find(commands, command) == commands.end()) commands.push_back(std::move(command));
  };
  const bool leaks =
      report.heap && std::ranges::any_of(report.heap->verdicts, [](const HeapVerdict& verdict) {
        return verdict.kind == HeapVerdictKind::kLeak && verdict.confidence != Confidence::kLow;
      });
  if (leaks) commands.push_back("fathom leaks " + file);
  // A program that has nothing to do waits for that: its memory is the problem.
  if (problem.kind == ProblemKind::kIdle || problem.kind == ProblemKind::kSleep) add_memory();
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
    case ProblemKind::kUnended:
    case ProblemKind::kRunQueue:
      if (report.waits) commands.push_back(tables + " --waits");
      break;
    default:
      break;
  }
  add_memory();
  if (report.tree.metric == model::Metric::kCpu && report.tree.total > 0)
    commands.push_back("fathom flamegraph " + file);
  if (report.stacks_waited_ns > 0 && report.tree.metric != model::Metric::kOffCpu)
    commands.push_back(tables + " --metric off-cpu");
  const auto add_once = [&](const std::string& command) {
    if (std::ranges::find(commands, command) == commands.end()) commands.push_back(command);
  };
  if (problem.kind == ProblemKind::kCpuAndMemory && report.memory) add_once(tables + " --memory");
  const auto& memory = problem.pressure.memory;
  if (memory && memory->some >= kProblemThresholds.stalled && report.memory) add_once(tables + " --memory");
  if (problem.kind == ProblemKind::kMixed && report.waits) add_once(tables + " --waits");
  if (report.heap) add_once(tables + " --heap");
  commands.push_back(tables + " --all");
  return commands;
}

}  // namespace fathom::present
