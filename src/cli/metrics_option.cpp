#include "cli/metrics_option.h"

#include <fmt/format.h>

namespace fathom::cli {

void add_metrics_options(CLI::App& app, MetricsArguments& arguments) {
  auto* metrics =
      app.add_option(
             "--scrape,--metrics", arguments.url,
             "also read the target's own metrics (Prometheus or OpenMetrics) and report which component grows: http://127.0.0.1:9001/metrics, or unix:PATH")
          ->type_name("URL");
  app.add_flag("--scrape-anywhere,--metrics-anywhere", arguments.anywhere,
               "with --scrape: allow the address of another machine")
      ->needs(metrics);
}

Result<metrics::Url> metrics_url(const MetricsArguments& arguments) {
  auto url = metrics::parse_url(arguments.url);
  if (!url) return within("--scrape", url.error());
  if (!url->address.is_loopback() && !arguments.anywhere)
    return fail(ErrorKind::kUsage,
                fmt::format("--scrape: {} is not on this machine", url->address.to_string()),
                "--scrape-anywhere, if that is meant");
  return url;
}

}  // namespace fathom::cli
