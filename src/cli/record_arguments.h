// What the user asks of `fathom record`, `fathom triage` and `fathom top`, and whether it fits together. record_option_list.h
// declares the options. Nothing is started or written here; record_command.cpp does that with what was settled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/group_option.h"
#include "cli/metrics_option.h"
#include "cli/record_moments.h"
#include "linux/process/group.h"
#include "record/session/record_options.h"

namespace fathom::cli {

// What perf and samply call things, for those who have it in their fingers.
struct Habits {
  bool stacks = false, whole_machine = false, save_only = false, names = false;
  std::string call_graph;
  std::vector<std::int32_t> tids;
};

struct RecordArguments {
  Habits habits;
  GroupArguments groups;
  std::optional<process::Group> group;  // the one that they name
  std::string typed = "fathom record";  // the command, for remedies
  session::RecordOptions options;
  MetricsArguments metrics;
  std::string marks;
  std::vector<std::string> span_functions;  // NAME=FUNCTION
  std::vector<std::string> spans;           // files and folders
  std::vector<std::int32_t> pids;
  std::string name;
  std::string engine = "auto";
  std::vector<std::string> sources;  // --sources as it was typed; empty: not given
  std::string heap;
  double duration_s = 0;
  bool cpu = false, off_cpu = false, no_off_cpu = false, memory = false, no_memory = false, mappings = false,
       no_mappings = false, no_children = false;
  bool triage = false, flamegraph = false, report = false, leaks = false, quiet = false, dry_run = false,
       lossless = false, open = false;
  std::vector<std::string> suppressions;
  std::vector<std::string> events;  // as they were typed
  std::vector<std::string> probes;  // as they were typed
  bool probe_limit_given = false;
  bool flight = false, flight_freeze = false, flight_brake = false;
  std::uint64_t each_bytes = 0;
  std::size_t repeat = 0;  // 0: one recording, as ever
  std::string against;
  double stable_points = 0;  // 0: it does not stop by itself
  double baseline_s = 0;     // how long to observe the target's work before
  std::string work;          // a counter of --scrape; empty: calls that read and write
  BeginCondition begin;
  std::string around;       // a command that runs while it is recorded; empty: none
  bool continuous = false;  // fathom serve, with these targets
};

// Finds the target, and turns the words of the options into `arguments.options`. Says on standard error what was chosen, unless
// quiet. kUsage where two of them contradict each other, kNotFound where there is no such target.
Result<> settle(RecordArguments& arguments);

}  // namespace fathom::cli
