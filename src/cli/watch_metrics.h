// The program's own metrics next to readings of its memory (fathom watch --scrape): what they explain of it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "cli/metrics_option.h"
#include "linux/metrics/scraper.h"
#include "tools/watch/history.h"
#include "tools/watch/metric_history.h"

namespace fathom::cli {

class WatchMetrics {
 public:
  // kUsage: more than one process is watched, or the address is none. `once`: waits for the first scrape.
  static Result<WatchMetrics> start(const MetricsArguments& arguments, double interval_s, bool once,
                                    std::size_t processes) {
    if (processes > 1)
      return fail(ErrorKind::kUsage, "--scrape belongs to one process, and several are watched",
                  "name one process");
    auto url = metrics_url(arguments);
    if (!url) return tl::unexpected<Error>(url.error());
    WatchMetrics metrics;
    metrics.source_ = url->text;
    const auto interval = static_cast<std::uint64_t>(std::llround(std::max(interval_s, 1.0) * 1e9));
    auto scraper = metrics::Scraper::start({.url = std::move(*url), .interval_ns = interval});
    if (!scraper) return tl::unexpected<Error>(scraper.error());
    metrics.scraper_ = std::move(*scraper);
    if (once) (void)metrics.scraper_->first();
    return metrics;
  }

  // Never waits: the newest scrape, whenever it was.
  void add_to(watch::View& view) {
    if (view.pid != pid_) history_.begin_anew();
    pid_ = view.pid;
    history_.add_memory(view.look.time_ns, static_cast<double>(view.look.figures.anonymous));
    view.metrics.emplace();
    view.metrics->source = source_;
    if (const auto newest = scraper_->newest()) {
      history_.add(*newest);
      view.metrics->problem = newest->problem;
    }
    view.metrics->components = history_.explain();
  }

 private:
  std::unique_ptr<metrics::Scraper> scraper_;
  std::string source_;
  watch::MetricHistory history_;
  std::int32_t pid_ = 0;  // the process that they are of
};

}  // namespace fathom::cli
