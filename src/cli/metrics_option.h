// The options with which a command reads the target's own metrics.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/result.h"
#include "linux/metrics/http_get.h"

namespace fathom::cli {

struct MetricsArguments {
  std::string url;  // empty: not asked for
  bool anywhere = false;
};

void add_metrics_options(CLI::App& app, MetricsArguments& arguments);
// kUsage: no address, or one beyond loopback that was not asked for.
Result<metrics::Url> metrics_url(const MetricsArguments& arguments);

}  // namespace fathom::cli
