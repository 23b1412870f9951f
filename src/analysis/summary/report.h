// What there is to say about a recording: the tables, the facts and the verdict on its quality, as data.
// The sentences of it are written by present/sentences; terminal text and JSON are two ways of writing all of it
// down.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/core/breakdown.h"
#include "analysis/core/call_tree.h"
#include "analysis/core/functions.h"
#include "analysis/core/stack_groups.h"
#include "analysis/heap/allocator_cpu.h"
#include "analysis/heap/heap_groups.h"
#include "analysis/memory/rss_breakdown.h"
#include "analysis/stacks/look.h"
#include "analysis/summary/call_rows.h"
#include "analysis/summary/heap_report.h"
#include "analysis/summary/hot_spot.h"
#include "analysis/summary/resident.h"
#include "analysis/summary/sample_count.h"
#include "analysis/waits/wait_report.h"
#include "base/result.h"
#include "model/unsampled.h"

namespace fathom::analysis {

struct ReportOptions {
  Selection selection = {};
  SortBy sort = SortBy::kSelf;
  bool fold_generics = false;
  std::vector<std::string> callers = {};  // patterns: callers of these functions
  std::vector<std::string> callees = {};  // patterns: what these functions called
  std::optional<HeapGrouping> heap_by = {};
  std::optional<GroupBy> group_by = {};
  std::optional<Subsystems> subsystems = {};  // instead of group_by
  std::optional<TreeDirection> tree = {};     // the call tree, too
  // Of the call tree and of the chains of callers and callees: calls of less are left out. 0: every call, nothing folded.
  double least_share = 0.01;
};

// How busy the target was.
struct Activity {
  double duration_s = 0;        // of the selected time; 0 if unknown
  std::optional<double> cpu_s;  // used by the selected threads
  bool watched = true;          // false: memory only; CPU use and the number of threads are unknown
  bool exact = false;           // from the scheduler; otherwise samples divided by the rate
  std::uint32_t cpus = 0;       // of the machine; 0 if unknown
  // 1.5: one and a half CPUs on average. Unknown where samples stand for more time than there was: they are too few.
  std::optional<double> cpus_used() const {
    if (!cpu_s || !(duration_s > 0)) return std::nullopt;
    const double used = *cpu_s / duration_s;
    if (!exact && cpus != 0 && used > 1.5 * cpus) return std::nullopt;
    return used;
  }
  bool idle() const { return cpus_used() && *cpus_used() < 0.1; }
};

struct EarlyEndRow {
  model::WalkEnd reason{};  // base/abi/walk.h
  std::string module;
  std::uint64_t count = 0;
};

// Something that makes the numbers worth less.
enum class FindingKind : std::uint8_t {
  kTruncated,       // the recording has no end; count: EndMissing
  kLostToDisk,      // share of the samples
  kLostToRing,      // likewise
  kThrottled,       // count: times
  kFewReceived,     // share of those expected, count: those
  kCutStacks,       // share of all; module and end: of most of them
  kUnnamed,         // share of all frames; module, module_kind, symbols: of most of them
  kProfilerCost,    // while it recorded: share of what was measured; seconds; cost: what it is for
  kStolen,          // share of the busy time that the host of a virtual machine took away
  kLookUnfinished,  // the look at all threads near the end took too long, or the target ended meanwhile
  kLookUnnamed,     // names are missing in it
  kNotSampled,      // share of the CPU time; seconds: of it. Report::unsampled says why
};
// What is dear in a recording, each with a remedy that helps.
enum class CostCause : std::uint8_t {
  kExactHeap,
  kRate,           // count: Hz
  kManyProcesses,  // count: of them
};
// Runtimes that generate code at run time and can write a perf map if configured.
enum class RunTime : std::uint8_t { kUnknown, kNode, kDeno, kJava, kPython, kDotnet };

// Why a recording has no end.
enum EndMissing : std::uint8_t { kRecorderEnded, kStillRecorded, kFileIsCut };

struct Finding {
  FindingKind kind{};
  double share = 0;
  bool of_self = false;  // kUnnamed: the share is of CPU time, else of the frames
  std::uint64_t count = 0;
  double seconds = 0;
  std::string module = {};
  model::WalkEnd end = {};
  model::ModuleKind module_kind = {};
  model::SymbolSource symbols = {};
  CostCause cost = {};
  RunTime run_time = {};  // kUnnamed of code made at run time
  // kFewReceived: the known causes, as shares of the missing samples. Each 0 to 1.
  double by_host = 0, by_late_timer = 0, by_throttling = 0;
  double importance = 0;   // 0 to 1: the part of the numbers that it makes worth less
  bool is_certain = true;  // false: so few were seen that it may be chance
};

// The profiler's own CPU time by purpose, if the recording has it; the rest was spent completing the file.
struct OwnCostView {
  double start_s = 0;      // until the first moment that is recorded
  double recording_s = 0;  // from then to the end
  double naming_s = 0;     // looking up names, with idle priority, whenever
  bool operator==(const OwnCostView&) const = default;
};

// The quality of the whole recording; the shares of names are those of the selected samples.
struct QualityView {
  std::uint64_t samples = 0;             // received; a row of an imported file may stand for many
  std::uint64_t lost = 0;                // samples: ring full, stack missing, disk
  double lost_share = 0;                 // of what should have arrived
  std::optional<double> received_share;  // of the samples expected from CPU time and rate
  SampleCheck sample_check;  // of that share: how much of it is chance, and what explains the rest
  std::optional<double> complete_share;  // walks that reached the start of their thread
  std::vector<EarlyEndRow> early_ends;   // most frequent first
  double unnamed_share = 0;              // of all frames in all selected samples
  std::optional<double> stolen_share;    // of the busy time of a virtual machine: its host took it away
  std::optional<OwnCostView> own_cost;
  std::vector<Finding>
      findings;  // most important first, what may be chance last; empty: nothing to complain about
};

// Unset if the recording does not have it.
std::optional<OwnCostView> own_cost_of(const model::Profile& profile);

struct NeighboursOf {
  std::string pattern;
  Neighbours around;
  CallRows chains;  // of callers or callees; shares are those of the function's total
};

struct Report {
  const model::Profile* profile = nullptr;  // outlives the report
  Selection selection;
  SortBy sort = SortBy::kSelf;
  CallTree tree;
  Activity activity;
  // Of the selection's CPU time: what could not be sampled. Idle is what the clock says, never what samples do not show.
  std::optional<model::Unsampled> unsampled;
  QualityView quality;
  std::vector<FunctionRow> functions;
  std::vector<ThreadRow> threads;
  std::vector<ProcessRow> processes;
  std::vector<ModuleRow> modules;
  std::vector<SeriesRow> series;
  std::vector<NeighboursOf> callers;
  std::vector<NeighboursOf> callees;
  std::optional<TreeDirection> direction;  // of call_rows, which are there where asked for
  CallRows call_rows;
  double least_share = 0;
  // Where the selection takes stacks by their functions: the tree's total if it took all.
  std::optional<std::int64_t> whole;
  std::optional<WaitReport> waits;  // where waiting was recorded, whatever the metric
  // Without `waits`: off-CPU time that is known by stack alone, as servers and other tools have it. It has no moments and no causes.
  std::int64_t stacks_waited_ns = 0;
  std::optional<HeapReport> heap;         // where the heap was traced, whatever the metric
  std::optional<HeapGroups> heap_groups;  // of heap metrics, where asked for
  std::optional<StackGroups> groups;      // where asked for
  HotPath hot_path;                       // of CPU samples
  // Of CPU samples: what allocating and freeing took, whether the heap was recorded or not.
  std::optional<AllocatorCpu> allocator_cpu;
  std::optional<ResidentMemory> resident;
  // What a look at all threads found to be stuck that is so at the end (keep_unmoved()); no verdicts: nothing, or there was none.
  stacks::Look stuck;
  std::optional<RssBreakdown> memory;  // what memory was made of at the end of the selection
};

// Fails when a pattern matches nothing or too much, or when the selection leaves nothing of a recording that
// has samples.
Result<Report> make_report(const model::Profile& profile, const ReportOptions& options);

// "cpu" where the recording has it, else the first metric that it has, else "cpu". Of a recording with
// nothing but the heap: heap-peak if it was traced from the start, else heap-live.
model::Metric default_metric(const model::Profile& profile);
// The same of the heap alone, which must not be empty.
model::Metric default_heap_metric(const model::Profile& profile);

// The total of a tree of `selection` if it took all stacks.
std::int64_t total_without_choice(const model::Profile& profile, const Selection& selection);

// How many samples there are in a tree: a row of an imported file may stand for many.
std::uint64_t samples_in(const CallTree& tree);

// Parts of make_report.
Activity measure_activity(const model::Profile& profile, const Selection& selection, const CallTree& tree);
std::optional<model::Unsampled> find_unsampled(const model::Profile& profile, const Selection& selection,
                                               const Activity& activity, const CallTree& tree);
QualityView judge_quality(const model::Profile& profile, const CallTree& tree,
                          const std::vector<ModuleRow>& modules,
                          const std::optional<model::Unsampled>& unsampled = {});

}  // namespace fathom::analysis
