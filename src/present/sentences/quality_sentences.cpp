#include "present/sentences/quality_sentences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "analysis/core/words.h"
#include "base/abi/walk.h"
#include "base/stable_sort.h"
#include "model/idle_samples.h"
#include "present/sentences/amount_words.h"
#include "present/sentences/heap_sentences.h"
#include "present/sentences/hot_spot_sentences.h"
#include "present/sentences/report_sentences.h"
#include "present/sentences/symbol_words.h"

namespace fathom::present {

using namespace analysis;  // this folder puts into words what lies there

namespace {

constexpr std::array<std::string_view, WALK_END_COUNT> kWalkEnds{
    "stack not walked",
    "reached the start of the thread",
    "an address outside all known mappings",
    "code without an unwind rule or frame pointer",
    "an unwind rule that needs more registers than a sample has",
    "stack memory that could not be read",
    "the stack pointer did not move",
    "deeper than the frame limit",
    "the copied part of the stack ended",
    "sampled before the mappings were known",
    "kernel thread: no user stack",
    "exiting: its memory was already released",
    "an exception was being propagated, and saved registers were overwritten",
    "deeper than the frame limit: the middle is left out",
};

std::string name_of(const std::string& module) {
  return module.empty() ? "code outside all modules" : printable(module);
}

// What makes a run time write names where they are looked for, /tmp/perf-PID.map, as its manual says; of others it is not
// known whether they can.
std::string remedy_for_made_code(RunTime run_time) {
  switch (run_time) {
    case RunTime::kNode:
      return "node --perf-basic-prof writes the names of its functions to /tmp/perf-PID.map";
    case RunTime::kDeno:
      return "deno run --v8-flags=--perf-basic-prof writes the names of its functions to /tmp/perf-PID.map";
    case RunTime::kJava:
      return "java -XX:+PreserveFramePointer, and during the recording jcmd PID Compiler.perfmap (JDK 17 and later), which writes method names to /tmp/perf-PID.map";
    case RunTime::kPython:
      return "python3 -X perf (3.12 and later) writes the names of its functions to /tmp/perf-PID.map";
    case RunTime::kDotnet:
      return "DOTNET_PerfMapEnabled=1 in the environment of the program writes its names to /tmp/perf-PID.map";
    case RunTime::kUnknown:
      break;
  }
  return "if the runtime that generated this code can write a perf map (/tmp/perf-PID.map), fathom reads the names from it";
}

std::string remedy_for_names(const Finding& finding) {
  switch (finding.module_kind) {
    case model::ModuleKind::kKernel:
      return "kernel names need root, CAP_SYSLOG, or sysctl kernel.kptr_restrict=0";
    case model::ModuleKind::kAnonymous:
      return remedy_for_made_code(finding.run_time);
    case model::ModuleKind::kUnknown:
    case model::ModuleKind::kNames:  // there is no address to look up
      return "";
    default:
      return fmt::format(
          "names for {}: pass its unstripped binary or debug file with --symbols DIR (to fathom report as well); the -dbgsym package and debuginfod-find have it",
          printable(finding.module));
  }
}

std::string remedy_for_cost(const Finding& finding) {
  switch (finding.cost) {
    case CostCause::kExactHeap:
      return "--heap, which samples; --heap=exact records every call";
    case CostCause::kRate:
      return fmt::format("a lower rate than {} Hz (-F 999)",
                         with_commas(static_cast<std::int64_t>(finding.count)));
    case CostCause::kManyProcesses:
      return "--cpu alone, which costs less per new process; --no-children if they do not matter";
  }
  return "";
}

// Reports each cause of at least a tenth of the missing samples; below half a rest remains.
std::string cause_of_few(const Finding& finding) {
  constexpr double kWorthAWord = 0.1, kMost = 0.5;
  std::string text;
  double known = 0;
  const auto add = [&](double part, std::string_view what) {
    if (part < kWorthAWord) return;
    known += part;
    text += fmt::format("{}{} of those missing {}", text.empty() ? "" : ", ", rounded_percent(part), what);
  };
  add(finding.by_throttling, "because the kernel throttled the event");
  add(finding.by_host, "because the host took the CPUs away");
  add(finding.by_late_timer, "because it ran for microseconds at a time and the timer fires late");
  if (text.empty()) return "the cause is unknown";
  return text + (known < kMost ? "; the cause of the rest is unknown" : "");
}

std::string side_text(const SideQuality& side) {
  std::vector<std::string> parts;
  const auto lost_of = [&](std::uint64_t lost, std::uint64_t kept, std::string_view what) {
    if (lost + kept != 0)
      parts.push_back(fmt::format("{} of {} {} lost", with_commas(static_cast<std::int64_t>(lost)),
                                  with_commas(static_cast<std::int64_t>(lost + kept)), what));
  };
  if (side.imported != 0)
    parts.push_back(
        side.imported == side.runs
            ? "imported; losses are unknown"
            : fmt::format("{} of {} runs imported; their losses are unknown", side.imported, side.runs));
  if (side.imported != side.runs) {
    lost_of(side.lost, side.samples, "samples");
    lost_of(side.lost_waits, side.waits, "waits");
    lost_of(side.lost_heap_events, side.heap_events, "events of the heap");
  }
  if (side.complete_share) parts.push_back(percent(*side.complete_share) + " of stacks complete");
  if (side.unnamed_share) parts.push_back(percent(*side.unnamed_share) + " of frames without a name");
  if (side.own_cost)
    parts.push_back(fmt::format("fathom used {} of a core", rounded_percent(*side.own_cost)));
  return parts.empty() ? "nothing was counted" : fmt::format("{}", fmt::join(parts, ", "));
}

// The part of the heap's events that it concerns, as far as that is known.
double importance_of(const HeapFinding& finding, const HeapReport& heap) {
  const auto events = static_cast<double>(std::max<std::uint64_t>(heap.counters.events, 1));
  const auto lost = static_cast<double>(heap.losses.exactness.lost());
  switch (finding.kind) {
    case HeapFindingKind::kLostEvents:
      return lost / (events + lost);
    case HeapFindingKind::kWithoutStack:
      return finding.number;
    case HeapFindingKind::kMergedSites:
    case HeapFindingKind::kUnseenFrees:
      return std::min(1.0, finding.number / events);
    case HeapFindingKind::kOutages:
    case HeapFindingKind::kNotTraced:
    case HeapFindingKind::kNotHooked:
      break;
  }
  return 0.5;  // how much passed unseen is not known
}

}  // namespace

Complaint complaint_of(const Finding& finding) {
  const std::string share = percent(finding.share);
  switch (finding.kind) {
    case FindingKind::kTruncated:
      if (finding.count == analysis::kFileIsCut)
        return {"The file is cut short: it ends early, so amounts may be too small and names may be missing.",
                "another copy of the file"};
      if (finding.count == analysis::kStillRecorded)
        return {
            "The recording is still running: this is what has been written so far, without waits that have not ended.",
            "run the same command again after the recording has ended"};
      return {"The recording has no last block: the recorder was killed, and the last second may be missing.",
              ""};
    case FindingKind::kLostToDisk:
      return {fmt::format("{} of the samples were lost, because they could not be written.", share),
              "free space on the disk of the recording"};
    case FindingKind::kLostToRing:
      return {fmt::format("{} of the samples were lost, because the ring to user space was full.", share),
              "a lower rate (-F 199), or a machine with a free CPU"};
    case FindingKind::kThrottled:
      return {fmt::format("The kernel throttled sampling {}.", counted(finding.count, "time")),
              "a lower rate (-F 499), or a larger kernel.perf_event_max_sample_rate"};
    case FindingKind::kFewReceived:
      return {fmt::format("fathom received {} of the {} samples expected from the CPU time used; {}.", share,
                          with_commas(static_cast<std::int64_t>(finding.count)), cause_of_few(finding)),
              "fathom doctor, which tries each engine"};
    case FindingKind::kCutStacks:
      return {fmt::format("{} of the stacks are cut short, mostly in {}: {}.", share, name_of(finding.module),
                          describe_walk_end(finding.end)),
              ""};
    case FindingKind::kUnnamed:
      return {finding.of_self
                  ? fmt::format("{} of CPU time is in functions without a name, most of it in {} ({}).",
                                share, name_of(finding.module), describe(finding.symbols))
                  : fmt::format("{} of all frames have no name, most of them in {} ({}).", share,
                                name_of(finding.module), describe(finding.symbols)),
              remedy_for_names(finding)};
    case FindingKind::kProfilerCost:
      return {fmt::format("The profiler itself used {} of CPU time while recording, {} of what it measured.",
                          seconds(finding.seconds), share),
              remedy_for_cost(finding)};
    case FindingKind::kStolen:
      return {
          fmt::format(
              "The host of this virtual machine took {} of its CPUs' busy time away: threads that seem to run were paused for that long.",
              share),
          "alternate the recordings you compare, or use a machine with dedicated CPUs"};
    case FindingKind::kLookUnfinished:
      return {
          "The look at all threads near the end did not finish, so a deadlock that began late may be missing from this report.",
          "fathom stacks -p PID, while the process runs"};
    case FindingKind::kLookUnnamed:
      return {
          "The look at all threads near the end lacks some names, which took too long to read, so it may not recognize every lock.",
          "a second recording: the names are on disk now"};
    case FindingKind::kNotSampled:
      return {fmt::format("{} of the CPU time ({}) could not be sampled.", seconds(finding.seconds), share),
              ""};
  }
  return {};
}

std::vector<Complaint> complaints_of(const Report& report) {
  std::vector<Complaint> complaints;
  for (const Finding& finding : report.quality.findings) {
    complaints.push_back(finding.kind == FindingKind::kNotSampled && report.unsampled
                             ? Complaint{unsampled_sentence(*report.unsampled), report.unsampled->remedy}
                             : complaint_of(finding));
    complaints.back().importance = finding.importance;
    complaints.back().is_certain = finding.is_certain;
  }
  if (report.heap)
    for (const HeapFinding& finding : report.heap->findings)
      complaints.push_back({text_of(finding, *report.heap),
                            finding.kind == HeapFindingKind::kNotTraced
                                ? "--heap-children, which traces those that execute a program"
                                : "",
                            importance_of(finding, *report.heap)});
  stable_sort_rows(complaints.begin(), complaints.end(), [](const Complaint& a, const Complaint& b) {
    return std::tuple(b.is_certain, b.importance) < std::tuple(a.is_certain, a.importance);
  });
  return complaints;
}

std::string expected_samples_text(const Report& report) {
  const SampleCheck& check = report.quality.sample_check;
  const bool more = check.verdict == SampleCheck::Verdict::kMore;
  std::string text = with_commas(static_cast<std::int64_t>(report.profile->quality.expected_samples + 0.5));
  if (!more && check.error >= 1)
    text += fmt::format(" ±{}", with_commas(static_cast<std::int64_t>(check.error + 0.5)));
  text += more ? " or more expected" : " expected";
  if (!more && report.quality.received_share)
    text += fmt::format(" ({})", percent(*report.quality.received_share));
  switch (check.verdict) {
    case SampleCheck::Verdict::kMore:
      return text + ": the kernel had not yet accounted for the last milliseconds of threads that ended";
    case SampleCheck::Verdict::kShortRuns:
      return text + fmt::format(": it ran for {} at a time, and the timer fires some microseconds late",
                                seconds(check.run_s));
    case SampleCheck::Verdict::kStolen:
      return text + ": the machine was paused in between";
    default:
      return text;
  }
}

std::string tracer_share_text(const CallTree& tree) {
  if (tree.tracer <= 0) return "";
  const double all = static_cast<double>(tree.tracer) + static_cast<double>(tree.total);
  return fmt::format("{} of its {}, {}", rounded_percent(static_cast<double>(tree.tracer) / all),
                     tree.metric == model::Metric::kWall ? "time" : "CPU time",
                     tree.unit == "samples" ? counted(static_cast<std::uint64_t>(tree.tracer), "sample")
                                            : amount(static_cast<double>(tree.tracer), tree.unit));
}

std::string own_cost_sentence(const model::Profile& profile) {
  const double all_s = static_cast<double>(profile.quality.profiler_cpu_ns) * 1e-9,
               length_s = profile.duration_s();
  if (!(all_s > 0) || !(length_s > 0)) return "";
  const auto cost = own_cost_of(profile);
  if (!cost)
    return fmt::format("fathom used {} of CPU time ({} of a core)", seconds(all_s),
                       rounded_percent(all_s / length_s));
  return fmt::format("fathom used {} of a core while recording, plus {} to start and to resolve symbols",
                     rounded_percent(cost->recording_s / length_s), seconds(cost->start_s + cost->naming_s));
}

std::string own_cost_parts(const Report& report) {
  const double all_s = static_cast<double>(report.profile->quality.profiler_cpu_ns) * 1e-9;
  const double length_s = report.profile->duration_s();
  const auto of_one = [&](double used_s) {
    return length_s > 0 ? fmt::format(" ({} of one)", percent(used_s / length_s)) : std::string();
  };
  const auto& cost = report.quality.own_cost;
  if (!cost) return all_s > 0 ? seconds(all_s) + " CPU" + of_one(all_s) : "";
  const double rest_s = all_s - cost->recording_s - cost->start_s - cost->naming_s;
  return fmt::format("{} of CPU time while recording{}, {} to start, {} to resolve symbols{}",
                     seconds(cost->recording_s), of_one(cost->recording_s), seconds(cost->start_s),
                     seconds(cost->naming_s),
                     rest_s >= 0.001 ? fmt::format(", {} to complete the file", seconds(rest_s)) : "");
}

std::string sentence_of(const DiffQuality& quality) {
  return fmt::format("base: {}; new: {}.", side_text(quality.base), side_text(quality.fresh));
}

std::string_view describe_walk_end(model::WalkEnd end) {
  return end < kWalkEnds.size() ? kWalkEnds[end] : std::string_view("an end that this version does not know");
}

std::string quality_sentence(const Report& report) {
  const model::Quality& quality = report.profile->quality;
  const QualityView& view = report.quality;
  std::vector<std::string> parts;
  const bool sampled = quality.expected_samples > 0;
  if (view.samples != 0 || sampled) {
    parts.push_back(counted(view.samples, "sample"));
    if (const auto idle = report.profile->meta.facts.find(model::kIdleSamplesFact);
        idle != report.profile->meta.facts.end())
      parts.push_back(idle->second + " more of idle CPUs left out");
    parts.push_back(number(view.lost) + " lost");
  }
  if (view.complete_share) parts.push_back(percent(*view.complete_share) + " of stacks complete");
  if (view.unnamed_share > 0.005) parts.push_back(percent(view.unnamed_share) + " of frames without a name");
  if (report.heap) {
    const std::string missing = text_of(report.heap->losses);
    // Files of other tools do not count events.
    const bool counts_events = report.heap->counters.events != 0 || report.profile->meta.engine != "import";
    if (!report.heap->is_blind() && (counts_events || !missing.empty()))
      parts.push_back(missing.empty()
                          ? counted(report.heap->counters.events, "event") + " of the heap, 0 lost"
                          : "of the heap " + missing);
  }
  std::string text = !parts.empty() ? fmt::format("{}", fmt::join(parts, ", "))
                     : report.heap  ? "the file does not count events"
                                    : "nothing was sampled";
  if (const std::string tracer = tracer_share_text(report.tree); !tracer.empty())
    text += "; fathom's own tracing in the target used " + tracer + ", left out";
  if (const std::string cost = own_cost_sentence(*report.profile); !cost.empty()) text += "; " + cost;
  return text + ".";
}

}  // namespace fathom::present
