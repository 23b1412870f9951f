// The selected samples by thread, process and module, and the series that were recorded with them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/core/call_tree.h"

namespace fathom::analysis {

struct ThreadRow {
  std::int32_t tid = 0;
  std::int32_t pid = 0;
  std::string name;
  std::uint64_t samples = 0;  // and waits, for metrics that have them
  std::int64_t value = 0;     // in the tree's unit
  std::uint64_t cpu_ns = 0;   // exact, of the whole recording; 0 if unknown
  // Exact too, when waiting was recorded: together the thread's life inside the recording.
  std::uint64_t ran_ns = 0, waited_ns = 0, queued_ns = 0;
  std::uint64_t waits = 0, preemptions = 0;
  double from_s = 0;  // life inside the recording, from its start
  double to_s = 0;
};

struct ProcessRow {
  std::int32_t pid = 0;
  std::int32_t parent_pid = 0;
  std::string name;
  std::string executable;
  std::uint64_t threads = 0;
  std::uint64_t samples = 0;
  std::int64_t value = 0;
  std::uint64_t cpu_ns = 0;
};

struct ModuleRow {
  std::uint32_t module = 0;  // row of CallTree::modules
  std::int64_t self = 0;
  std::int64_t total = 0;  // weight of the samples that have it anywhere
  double frames = 0;       // weight of its frames, and of those that have no name
  double unnamed_frames = 0;
  std::int64_t unnamed_self = 0;  // of `self`: in functions without a name
};

struct SeriesRow {
  std::string name;
  std::string unit;
  std::int32_t pid = 0;
  std::uint64_t points = 0;
  double first = 0, last = 0, least = 0, most = 0;
};

// Threads and processes that the selection takes and that have samples or CPU time; the largest first.
std::vector<ThreadRow> thread_table(const model::Profile& profile, const Selection& selection);
std::vector<ProcessRow> process_table(const model::Profile& profile, const Selection& selection);
// Largest self first.
std::vector<ModuleRow> module_table(const CallTree& tree);
// By name and pid; series without a point are left out.
std::vector<SeriesRow> series_table(const model::Profile& profile, const Selection& selection);

}  // namespace fathom::analysis
