// What fathom top shows of a recording: the costs of functions in each interval, taken from its rows before they go into the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/top_screen.h"
#include "model/metric.h"
#include "record/session/companion.h"

namespace fathom::cli {

class TopCompanion final : public session::Companion {
 public:
  // Gives `screen`, which outlives it, a table after each interval.
  TopCompanion(TopScreen& screen, double interval_s)
      : screen_(screen), interval_ns_(static_cast<std::uint64_t>(interval_s * 1e9)) {}

  void step(const Lent& lent, std::uint64_t now_ns) override;
  // Rows leave the profile once a second, whatever the interval is.
  Save before_save(const Lent& lent, bool last) override;

  // Whether there is a table since the last call.
  bool take_fresh() { return std::exchange(fresh_, false); }

 private:
  struct Sums {
    double self = 0, total = 0;
  };
  using Book = std::map<std::pair<std::string, std::string>, Sums>;  // by function and module

  void cut_to_interval(model::Wait& wait) const;
  void collect(model::Profile& profile, const std::vector<model::Wait>& open);
  void collect_allocations(model::Profile& profile);
  static double add(const model::Profile& profile, model::Metric metric, double unit, Book& book);
  TopTable table(const Lent& lent, std::uint64_t end_ns) const;

  TopScreen& screen_;
  std::uint64_t interval_ns_, began_ns_ = 0, from_ns_ = 0;
  std::uint64_t latest_ns_ = 0;  // the end of the latest row so far
  std::size_t samples_seen_ = 0, waits_seen_ = 0, heap_rows_seen_ = 0;
  Book cpu_, waits_, allocations_;
  double cpu_ns_ = 0, waited_ns_ = 0, allocated_bytes_ = 0;
  bool fresh_ = false;
};

}  // namespace fathom::cli
