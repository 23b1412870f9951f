// Reads a program's metrics repeatedly on its own thread: the server's delays never reach the reader of the
// newest result.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "linux/metrics/http_get.h"
#include "linux/metrics/read_text.h"

namespace fathom::metrics {

// One number of one scrape.
struct ScrapedValue {
  std::string name;  // "reth_jemalloc_allocated", "near_x{shard=\"0\"}"
  bool is_counter = false;
  std::string unit;  // "bytes", "seconds", "count"
  double value = 0;
};

struct Scrape {
  std::uint64_t time_ns = 0;  // CLOCK_MONOTONIC, when the answer was there
  std::string problem;        // why there are no values; empty: there are
  std::vector<ScrapedValue> values;
  std::size_t malformed_lines = 0, dropped_samples = 0;
};

// Gauges, counters and what has no type; not histograms and summaries, nor what is no number. Pure. At most `most`; each
// name is there once.
std::vector<ScrapedValue> values_of(const ReadMetrics& metrics, std::size_t most = 5'000);

struct ScraperOptions {
  Url url;
  std::uint64_t interval_ns = 5'000'000'000;
  std::uint64_t later_interval_ns = 0;        // after the first 60 scrapes; 0: the same
  std::uint64_t deadline_ns = 5'000'000'000;  // of one scrape
};

class Scraper {
 public:
  // The first scrape begins at once. Its thread blocks all signals.
  static Result<std::unique_ptr<Scraper>> start(ScraperOptions options);
  ~Scraper();
  Scraper(const Scraper&) = delete;
  Scraper& operator=(const Scraper&) = delete;

  // null: there was none yet.
  std::shared_ptr<const Scrape> newest() const;
  // Waits for the first one, for the deadline of one at most.
  std::shared_ptr<const Scrape> first() const;

 private:
  class Thread;
  explicit Scraper(std::unique_ptr<Thread> thread);
  std::unique_ptr<Thread> thread_;
};

// The requested format: OpenMetrics or Prometheus' text.
std::string_view accepted();

}  // namespace fathom::metrics
