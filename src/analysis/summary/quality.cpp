// The verdict on a recording: how much is missing, how much has no name, and what to do about it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <tuple>

#include "abi/walk.h"
#include "analysis/core/words.h"
#include "analysis/summary/report.h"

namespace fathom::analysis {
namespace {

constexpr std::array<std::string_view, WALK_END_COUNT> kWalkEnds{
    "not a walked stack",
    "reached the start of the thread",
    "an address outside of every known mapping",
    "code without unwind rule and without frame pointer",
    "an unwind rule that needs more than sampling has",
    "stack memory that could not be read",
    "the stack pointer did not move",
    "deeper than the frames that are kept",
    "the copied part of the stack ended",
    "sampled before the mappings were known",
    "kernel thread: no user stack",
    "exiting: the memory was released already",
};

double ratio(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

void judge_loss(const model::Profile& profile, QualityView& view) {
  const model::Quality& quality = profile.quality;
  if (quality.truncated) {
    view.findings.push_back(
        {"The recording ended without its last block: the recorder was killed, and the last second "
         "may be missing.",
         ""});
  }
  if (view.lost_share > 0.01) {
    const bool disk = quality.lost_disk > quality.lost_ring_full + quality.lost_stack;
    view.findings.push_back(
        {fmt::format("{} of the samples were lost, {}.", percent(view.lost_share),
                     disk ? "because they could not be written" : "because the ring to user space was full"),
         disk ? "free space on the disk of the recording"
              : "a lower rate (-F 199), or a machine with a free CPU"});
  }
  if (quality.lost_throttled > 0) {
    view.findings.push_back(
        {fmt::format("The kernel throttled sampling {}.", counted(quality.lost_throttled, "time")),
         "a lower rate (-F 499), or a larger kernel.perf_event_max_sample_rate"});
  }
  if (view.received_share && *view.received_share < 0.9 && quality.expected_samples >= 100) {
    view.findings.push_back({fmt::format("Only {} of the {} samples arrived that its CPU time promised.",
                                         percent(*view.received_share),
                                         with_commas(static_cast<std::int64_t>(quality.expected_samples))),
                             "fathom doctor, which tries each engine"});
  }
}

void judge_stacks(QualityView& view) {
  if (!view.complete_share || *view.complete_share >= 0.99 || view.early_ends.empty()) return;
  const EarlyEndRow& worst = view.early_ends.front();
  view.findings.push_back(
      {fmt::format("{} of the stacks are cut short, mostly in {}: {}.", percent(1 - *view.complete_share),
                   worst.module.empty() ? "code of no module" : printable(worst.module), worst.reason),
       ""});
}

std::string remedy_for(const TreeModule& module) {
  const std::string name = printable(module.name);
  switch (module.kind) {
    case model::ModuleKind::kKernel:
      return "kernel names need root, CAP_SYSLOG, or sysctl kernel.kptr_restrict=0";
    case model::ModuleKind::kAnonymous:
      return "let the run time write /tmp/perf-PID.map (node --perf-basic-prof, java with perf-map-agent)";
    case model::ModuleKind::kUnknown:
      return "";
    default:
      return fmt::format(
          "names for {}: its unstripped twin or debug file through --symbols DIR, or its -dbgsym package",
          name);
  }
}

void judge_names(const CallTree& tree, const std::vector<ModuleRow>& modules, QualityView& view) {
  double frames = 0;
  double unnamed = 0;
  const ModuleRow* worst = nullptr;
  for (const ModuleRow& row : modules) {
    frames += row.frames;
    unnamed += row.unnamed_frames;
    if (row.unnamed_frames > (worst == nullptr ? 0 : worst->unnamed_frames)) worst = &row;
  }
  view.unnamed_share = frames <= 0 ? 0 : unnamed / frames;
  if (view.unnamed_share <= 0.05 || worst == nullptr) return;
  const TreeModule& module = tree.modules[worst->module];
  view.findings.push_back(
      {fmt::format("{} of all frames have no name, most of them in {} ({}).", percent(view.unnamed_share),
                   module.name.empty() ? "code of no module" : printable(module.name),
                   describe(module.symbols)),
       remedy_for(module)});
}

void judge_cost(const model::Profile& profile, const CallTree& tree, QualityView& view) {
  const double target_s = tree.metric == model::Metric::kCpu && profile.meta.frequency_hz != 0
                              ? static_cast<double>(tree.total) / profile.meta.frequency_hz
                              : 0;
  const double own_s = static_cast<double>(profile.quality.profiler_cpu_ns) * 1e-9;
  if (target_s > 1 && own_s > 0.05 * target_s) {
    view.findings.push_back({fmt::format("The profiler itself used {} of CPU time, {} of what it measured.",
                                         seconds(own_s), percent(own_s / target_s)),
                             profile.meta.frequency_hz > 99
                                 ? "a lower rate (-F 99)"
                                 : "a longer recording: its start costs the same however long it lasts"});
  }
}

void judge_machine(const model::Profile& profile, QualityView& view) {
  const auto fact = profile.meta.facts.find("stolen_percent");
  if (fact == profile.meta.facts.end()) return;
  const std::string& text = fact->second;
  double stolen = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), stolen).ec != std::errc{}) return;
  if (!(stolen >= 0 && stolen <= 100)) return;  // a damaged file
  view.stolen_share = stolen / 100;
  if (*view.stolen_share <= 0.1) return;
  view.findings.push_back(
      {fmt::format("The host of this virtual machine took {} of its CPUs' busy time away: threads that "
                   "seem to run stood still for so long.",
                   percent(*view.stolen_share)),
       "recordings made in turn, to compare; or a machine with CPUs of its own"});
}

}  // namespace

std::string_view describe_walk_end(model::WalkEnd end) {
  return end < kWalkEnds.size() ? kWalkEnds[end] : std::string_view("an end that this version does not know");
}

std::string_view describe(model::SymbolSource source) {
  switch (source) {
    case model::SymbolSource::kNone:
      return "stripped: no names";
    case model::SymbolSource::kDynsym:
      return "exported names only";
    case model::SymbolSource::kSymtab:
      return "all functions";
    case model::SymbolSource::kDwarf:
      return "functions, inlined calls, lines";
    case model::SymbolSource::kKallsyms:
      return "kernel symbols";
    case model::SymbolSource::kPerfMap:
      return "perf map";
    case model::SymbolSource::kPseudo:
      return "function bounds only";
  }
  return "unknown";
}

std::string_view to_string(model::SymbolSource source) {
  switch (source) {
    case model::SymbolSource::kNone:
      return "none";
    case model::SymbolSource::kDynsym:
      return "dynsym";
    case model::SymbolSource::kSymtab:
      return "symtab";
    case model::SymbolSource::kDwarf:
      return "dwarf";
    case model::SymbolSource::kKallsyms:
      return "kallsyms";
    case model::SymbolSource::kPerfMap:
      return "perf-map";
    case model::SymbolSource::kPseudo:
      return "pseudo";
  }
  return "unknown";
}

QualityView judge_quality(const model::Profile& profile, const CallTree& tree,
                          const std::vector<ModuleRow>& modules) {
  const model::Quality& quality = profile.quality;
  QualityView view;
  view.lost = quality.lost_ring_full + quality.lost_stack + quality.lost_disk;
  view.lost_share = ratio(view.lost, quality.samples + view.lost);
  if (quality.expected_samples > 0) {
    view.received_share = static_cast<double>(quality.samples) / quality.expected_samples;
  }
  std::uint64_t early = 0;
  for (const model::EarlyEnd& end : quality.early_ends) {
    early += end.count;
    view.early_ends.push_back({std::string(describe_walk_end(end.reason)),
                               std::string(profile.strings[profile.modules[end.module.value].name]),
                               end.count});
  }
  std::sort(view.early_ends.begin(), view.early_ends.end(), [](const EarlyEndRow& a, const EarlyEndRow& b) {
    return std::tie(b.count, a.module, a.reason) < std::tie(a.count, b.module, b.reason);
  });
  if (quality.complete + early > 0) view.complete_share = ratio(quality.complete, quality.complete + early);
  judge_loss(profile, view);
  judge_stacks(view);
  judge_names(tree, modules, view);
  judge_cost(profile, tree, view);
  judge_machine(profile, view);
  return view;
}

}  // namespace fathom::analysis
