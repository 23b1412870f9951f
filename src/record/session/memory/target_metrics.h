// The target's own metrics, as series: a thread asks for them once a second (linux/metrics/scraper.h), and no look waits for it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "linux/metrics/scraper.h"
#include "model/profile.h"
#include "record/session/memory/metric_series.h"

namespace fathom::session {

class TargetMetrics {
 public:
  // `profile` outlives it. `url`: as metrics::parse_url reads it.
  TargetMetrics(std::string url, model::Profile& profile) : url_(std::move(url)), profile_(profile) {}

  // Starts the thread, once. What fails is a note.
  void start();
  // Adds what is new, as series of `pid`.
  void look(std::int32_t pid);

 private:
  std::string url_;
  model::Profile& profile_;
  bool started_ = false;
  MetricSeries series_{profile_};
  std::unique_ptr<metrics::Scraper> scraper_;
};

}  // namespace fathom::session
