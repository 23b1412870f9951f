#include "record/session/memory/target_metrics.h"

#include <fmt/format.h>

#include "record/session/notes.h"

namespace fathom::session {

void TargetMetrics::start() {
  if (std::exchange(started_, true)) return;
  auto url = metrics::parse_url(url_);
  if (!url) return note_once(profile_.quality, "metrics: " + url.error().message);
  auto scraper = metrics::Scraper::start({std::move(*url), 1'000'000'000, 5'000'000'000});
  if (!scraper) return note_once(profile_.quality, "metrics: " + scraper.error().message);
  scraper_ = std::move(*scraper);
}

void TargetMetrics::look(std::int32_t pid) {
  if (!scraper_) return;
  const auto newest = scraper_->newest();
  if (newest == nullptr) return;
  if (!newest->problem.empty()) note_once(profile_.quality, "metrics: " + newest->problem);
  series_.add(*newest, pid);
  if (series_.left_out() != 0)
    note_once(profile_.quality, fmt::format("metrics: of {} numbers {} were recorded",
                                            series_.series() + series_.left_out(), series_.series()));
}

}  // namespace fathom::session
