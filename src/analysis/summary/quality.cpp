// The verdict on a recording: how much is missing, how much has no name, and what to do about it.
#include <algorithm>
#include <tuple>

#include "analysis/core/interval.h"
#include "analysis/core/tracer_frames.h"
#include "analysis/stacks/kept_look.h"
#include "analysis/summary/report.h"
#include "base/stable_sort.h"
#include "model/facts.h"
#include "model/still_recorded.h"

namespace fathom::analysis {
namespace {

// Of the stacks; of the CPU time, or of the frames: less is no finding.
constexpr double kCutFrom = 0.01, kUnnamedFrom = 0.05;

double ratio(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// Nothing: unknown, or the file is damaged.
std::optional<double> stolen_share(const model::SamplingFacts& facts) {
  const auto percent = facts.stolen_percent;
  return percent && *percent >= 0 && *percent <= 100 ? std::optional(*percent / 100) : std::nullopt;
}

constexpr double kThrottled_s = 0.004;  // the event rests until the next tick

Finding few_received(const model::Profile& profile, const QualityView& view) {
  Finding finding{.kind = FindingKind::kFewReceived,
                  .share = *view.received_share,
                  .count = static_cast<std::uint64_t>(profile.quality.expected_samples)};
  const double missing = view.sample_check.missing;
  if (!(missing > 0)) return finding;
  const double throttled =
      static_cast<double>(profile.quality.lost_throttled) * kThrottled_s * profile.meta.frequency_hz;
  finding.by_host = view.sample_check.stolen / missing;
  finding.by_late_timer = view.sample_check.late / missing;
  finding.by_throttling = std::min(1.0, throttled / missing);
  return finding;
}

void judge_loss(const model::Profile& profile, QualityView& view) {
  const model::Quality& quality = profile.quality;
  if (quality.truncated)
    view.findings.push_back({.kind = FindingKind::kTruncated,
                             .count = model::is_still_recorded(profile) ? kStillRecorded
                                      : profile.meta.engine == "import" ? kFileIsCut
                                                                        : kRecorderEnded});
  if (view.lost_share > 0.01) {
    const bool disk = quality.lost_disk > quality.lost_ring_full + quality.lost_stack;
    view.findings.push_back(
        {.kind = disk ? FindingKind::kLostToDisk : FindingKind::kLostToRing, .share = view.lost_share});
  }
  if (quality.lost_throttled > 0)
    view.findings.push_back({.kind = FindingKind::kThrottled, .count = quality.lost_throttled});
  const auto facts = model::facts_of<model::SamplingFacts>(profile.meta);
  view.sample_check = check({.taken = static_cast<double>(quality.samples + view.lost),
                             .expected = quality.expected_samples,
                             .frequency_hz = static_cast<double>(profile.meta.frequency_hz),
                             .runs = facts.cpu_runs,
                             .ended_threads = facts.ended_threads.value_or(0),
                             .cpus = model::facts_of<model::OriginFacts>(profile.meta).cpus.value_or(1),
                             .stolen_share = stolen_share(facts).value_or(0)});
  if (view.received_share && view.sample_check.verdict == SampleCheck::Verdict::kTooFew)
    view.findings.push_back(few_received(profile, view));
}

// Imported rows have counts, where they do not have times.
std::uint64_t received(const model::Profile& profile) {
  if (profile.meta.engine != "import" || !model::facts_of<model::ImportFacts>(profile.meta).unit.empty())
    return profile.quality.samples;
  // Values of other metrics are times and bytes.
  bool has_cpu = false;
  for (const model::Sample& sample : profile.all_samples())
    has_cpu = has_cpu || sample.metric == model::Metric::kCpu;
  std::uint64_t sum = 0;
  for (const model::Sample& sample : profile.all_samples())
    if (sample.value > 0 && (!has_cpu || sample.metric == model::Metric::kCpu))
      sum = sum + std::min(static_cast<std::uint64_t>(sample.value), UINT64_MAX - sum);
  return sum;
}

void judge_stacks(QualityView& view) {
  if (!view.complete_share || 1 - *view.complete_share <= kCutFrom || view.early_ends.empty()) return;
  const EarlyEndRow& worst = view.early_ends.front();
  view.findings.push_back({.kind = FindingKind::kCutStacks,
                           .share = 1 - *view.complete_share,
                           .module = worst.module,
                           .end = worst.reason});
}

RunTime run_time_of(std::string_view executable) {
  const std::string_view name = executable.substr(executable.rfind('/') + 1);
  if (name == "node" || name == "nodejs") return RunTime::kNode;
  if (name == "deno") return RunTime::kDeno;
  if (name == "java") return RunTime::kJava;
  if (name.starts_with("python3")) return RunTime::kPython;
  if (name == "dotnet") return RunTime::kDotnet;
  return RunTime::kUnknown;
}

// Of the process that has most samples with code in them that was made at run time and has no name.
RunTime run_time_of_nameless_code(const model::Profile& profile) {
  std::vector<char> nameless(profile.stacks.size());
  for (std::size_t i = 1; i < profile.stacks.size(); ++i) {
    const model::Stack& stack = profile.stacks[i];
    const model::Frame& frame = profile.frames[stack.frame.value];
    nameless[i] =
        nameless[stack.parent.value] != 0 ||
        (frame.line_count == 0 && profile.modules[frame.module.value].kind == model::ModuleKind::kAnonymous);
  }
  std::vector<std::uint64_t> samples(profile.processes.size());
  for (const model::Sample& sample : profile.all_samples())
    if (nameless[sample.stack.value] != 0) ++samples[profile.threads[sample.thread.value].process.value];
  const auto most = std::ranges::max_element(samples);
  if (most == samples.end() || *most == 0) return RunTime::kUnknown;
  return run_time_of(profile.strings[profile.processes[most - samples.begin()].executable]);
}

void judge_names(const model::Profile& profile, const CallTree& tree, const std::vector<ModuleRow>& modules,
                 QualityView& view) {
  // A frame without a name that only passes through, as the start of a thread in a stripped library, hides nothing.
  const bool of_self = tree.metric == model::Metric::kCpu;
  const auto unnamed_of = [&](const ModuleRow& row) {
    return of_self ? static_cast<double>(row.unnamed_self) : row.unnamed_frames;
  };
  double frames = 0, unnamed_frames = 0, unnamed = 0;
  const ModuleRow* worst = nullptr;
  for (const ModuleRow& row : modules) {
    frames += row.frames;
    unnamed_frames += row.unnamed_frames;
    unnamed += unnamed_of(row);
    if (unnamed_of(row) > (worst == nullptr ? 0 : unnamed_of(*worst))) worst = &row;
  }
  view.unnamed_share = frames <= 0 ? 0 : unnamed_frames / frames;
  const double whole = of_self ? static_cast<double>(tree.total) : frames;
  const double share = whole <= 0 ? 0 : unnamed / whole;
  if (worst == nullptr) return;
  TreeModule module = tree.modules[worst->module];
  // One function of generated code may be all that a program runs, below many frames with names.
  constexpr double kMuchOfTime = 0.15;
  const bool runs_generated =
      module.kind == model::ModuleKind::kAnonymous &&
      static_cast<double>(worst->self) >= kMuchOfTime * static_cast<double>(tree.total);
  if (share <= kUnnamedFrom && !runs_generated) return;
  // Nothing names what a file of another tool has without an address.
  if (profile.meta.engine == "import" && std::ranges::none_of(profile.frames, [&](const model::Frame& frame) {
        const model::Module& row = profile.modules[frame.module.value];
        return frame.address.value != 0 && profile.strings[row.name] == module.name;
      }))
    module.kind = model::ModuleKind::kNames;
  view.findings.push_back({.kind = FindingKind::kUnnamed,
                           .share = share,
                           .of_self = of_self,
                           .module = module.name,
                           .module_kind = module.kind,
                           .symbols = module.symbols});
  if (module.kind == model::ModuleKind::kAnonymous)
    view.findings.back().run_time = run_time_of_nameless_code(profile);
}

// Not those that are known for having woken one of them.
std::size_t recorded_processes(const model::Profile& profile) {
  std::vector<char> recorded(profile.processes.size());
  for (const model::Thread& thread : profile.threads)
    if (thread.cpu_ns != 0 || thread.ran_ns != 0 || thread.waited_ns != 0 || thread.queued_ns != 0)
      recorded[thread.process.value] = 1;
  for (const model::Sample& sample : profile.all_samples())
    recorded[profile.threads[sample.thread.value].process.value] = 1;
  return static_cast<std::size_t>(std::ranges::count(recorded, 1));
}

// Of a recording that has none of these no remedy is known, and nothing to warn of.
std::optional<std::pair<CostCause, std::uint64_t>> dear_part(const model::Profile& profile) {
  constexpr std::uint32_t kHigh_hz =
      1500;  // the usual rate is 999 Hz: little more is no cause, and no remedy
  constexpr std::size_t kManyProcesses = 100;
  const auto exact = [](const model::Heap& heap) { return heap.mode == model::HeapMode::kExact; };
  if (std::ranges::any_of(profile.heap.heaps, exact)) return {{CostCause::kExactHeap, 0}};
  if (profile.meta.frequency_hz > kHigh_hz) return {{CostCause::kRate, profile.meta.frequency_hz}};
  if (const std::size_t processes = recorded_processes(profile); processes > kManyProcesses)
    return {{CostCause::kManyProcesses, processes}};
  return std::nullopt;
}

// Only what it costs while it records disturbs what is measured, and grows with the rate.
void judge_cost(const model::Profile& profile, const CallTree& tree, QualityView& view) {
  view.own_cost = own_cost_of(profile);
  if (!view.own_cost) return;
  const double target_s = tree.metric == model::Metric::kCpu && profile.meta.frequency_hz != 0
                              ? static_cast<double>(tree.total) / profile.meta.frequency_hz
                              : 0;
  const double own_s = view.own_cost->recording_s;
  const auto cause = dear_part(profile);
  if (target_s > 1 && own_s > 0.05 * target_s && cause)
    view.findings.push_back({.kind = FindingKind::kProfilerCost,
                             .share = own_s / target_s,
                             .count = cause->second,
                             .seconds = own_s,
                             .cost = cause->first});
}

void judge_machine(const model::Profile& profile, QualityView& view) {
  view.stolen_share = stolen_share(model::facts_of<model::SamplingFacts>(profile.meta));
  if (view.stolen_share > 0.1)
    view.findings.push_back({.kind = FindingKind::kStolen, .share = *view.stolen_share});
}

// Only a verdict on threads that are stuck depends on it, and no number.
constexpr double kLookImportance = 0.02;

void judge_look(const model::Profile& profile, QualityView& view) {
  const auto missed = profile.meta.facts.find(stacks::kLookMissedFact);
  if (missed == profile.meta.facts.end()) return;
  if (missed->second == "unfinished") view.findings.push_back({.kind = FindingKind::kLookUnfinished});
  if (missed->second == "names") view.findings.push_back({.kind = FindingKind::kLookUnnamed});
}

// Which part of the numbers a finding makes worth less.
double importance_of(const Finding& finding, const model::Profile& profile) {
  switch (finding.kind) {
    case FindingKind::kTruncated:
      return 1;
    case FindingKind::kFewReceived:
      return 1 - finding.share;
    case FindingKind::kThrottled: {
      const double length_s = profile.duration_s();
      return length_s > 0 ? static_cast<double>(finding.count) * kThrottled_s / length_s : 0;
    }
    case FindingKind::kUnnamed:
      return finding.share / 2;  // it is shown, if not by name
    case FindingKind::kLookUnfinished:
    case FindingKind::kLookUnnamed:
      return kLookImportance;
    default:
      return finding.share;
  }
}

// A share that was found in few samples may be none worth a word.
bool is_certain(const Finding& finding, const model::Quality& quality, const CallTree& tree,
                std::uint64_t early) {
  if (finding.kind == FindingKind::kCutStacks)
    return wilson_interval(finding.share, static_cast<double>(quality.complete + early)).low > kCutFrom;
  if (finding.kind == FindingKind::kUnnamed && finding.module_kind != model::ModuleKind::kAnonymous)
    return wilson_interval(finding.share, tree.effective_samples).low > kUnnamedFrom;
  return true;
}

}  // namespace

std::optional<OwnCostView> own_cost_of(const model::Profile& profile) {
  const auto facts = model::facts_of<model::CostFacts>(profile.meta);
  if (!facts.start_us || !facts.recording_us || !facts.naming_us) return std::nullopt;
  const auto seconds = [](std::uint64_t us) { return static_cast<double>(us) * 1e-6; };
  return OwnCostView{seconds(*facts.start_us), seconds(*facts.recording_us), seconds(*facts.naming_us)};
}

QualityView judge_quality(const model::Profile& profile, const CallTree& tree,
                          const std::vector<ModuleRow>& modules,
                          const std::optional<model::Unsampled>& unsampled) {
  const model::Quality& quality = profile.quality;
  QualityView view;
  view.samples = received(profile);
  view.lost = quality.lost_ring_full + quality.lost_stack + quality.lost_disk;
  view.lost_share = ratio(view.lost, quality.samples + view.lost);
  if (quality.expected_samples > 0) {
    view.received_share = static_cast<double>(quality.samples) / quality.expected_samples;
  }
  std::uint64_t early = 0;
  const auto tracer = tracer_module(profile);
  for (const model::EarlyEnd& end : quality.early_ends) {
    if (tracer && end.module == *tracer) continue;  // its samples are left out, and reported separately
    early += end.count;
    view.early_ends.push_back(
        {end.reason, std::string(profile.strings[profile.modules[end.module.value].name]), end.count});
  }
  std::sort(view.early_ends.begin(), view.early_ends.end(), [](const EarlyEndRow& a, const EarlyEndRow& b) {
    return std::tie(b.count, a.module, a.reason) < std::tie(a.count, b.module, b.reason);
  });
  if (quality.complete + early > 0) view.complete_share = ratio(quality.complete, quality.complete + early);
  judge_loss(profile, view);
  judge_stacks(view);
  judge_names(profile, tree, modules, view);
  judge_cost(profile, tree, view);
  judge_machine(profile, view);
  judge_look(profile, view);
  if (unsampled)
    view.findings.push_back(
        {.kind = FindingKind::kNotSampled, .share = unsampled->share, .seconds = unsampled->cpu_s});
  for (Finding& finding : view.findings) {
    finding.importance = std::clamp(importance_of(finding, profile), 0.0, 1.0);
    finding.is_certain = is_certain(finding, quality, tree, early);
  }
  stable_sort_rows(view.findings.begin(), view.findings.end(), [](const Finding& a, const Finding& b) {
    return std::tuple(b.is_certain, b.importance) < std::tuple(a.is_certain, a.importance);
  });
  return view;
}

}  // namespace fathom::analysis
