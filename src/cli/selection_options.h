// The options with which every reading command chooses samples: --metric, --thread, --pid, --from, --until.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "base/result.h"
#include "profile/profile.h"
#include "report/selection.h"

namespace fathom::cli {

struct SelectionOptions {
  std::string metric;  // empty: the profile's first
  std::optional<std::string> thread;
  std::optional<std::int32_t> pid;
  std::optional<double> from_s;
  std::optional<double> until_s;
  std::string heap_unit;  // bytes, blocks; empty: as the metric
};

// `options` outlives `app`.
void add_selection_options(CLI::App& app, SelectionOptions& options);

// kUsage for a metric that does not exist and for times that make no sense.
Result<report::Selection> selection_from(const SelectionOptions& options, const profile::Profile& profile);

}  // namespace fathom::cli
