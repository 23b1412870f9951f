// What the user asks of `fathom watch`: which processes, and where their readings go.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/group_option.h"
#include "cli/metrics_option.h"
#include "linux/process/group.h"

namespace fathom::cli {

struct WatchArguments {
  std::vector<std::string> targets;
  std::vector<int> pids;
  std::vector<std::string> names;
  GroupArguments groups;
  std::optional<process::Group> group;  // the one that they name
  bool once = false, json = false, maps = false;
  std::string maps_order;               // --sort; empty: by what is resident, or by change
  std::optional<double> maps_change_s;  // --change: between two readings of the mappings
  double interval_s = 1;
  std::string log;
  std::string listen, token_file;
  std::string flight;  // where the flight recording goes
  bool flight_heap = false;
  MetricsArguments metrics;
};

// `arguments` outlives the app.
void add_watch_options(CLI::App& app, WatchArguments& arguments);

// The targets that are names, and not numbers.
std::vector<std::string> watched_names(const WatchArguments& arguments);

// The processes that run now, each once, and `arguments.group`. kNotFound if a name has none, unless the metrics are served: then watch
// waits for it. kUsage if nothing is named, or several kinds of targets are.
Result<std::vector<std::int32_t>> find_watched(WatchArguments& arguments);

}  // namespace fathom::cli
