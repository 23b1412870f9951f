// The readings of one process so far, and what follows from them: changes, slopes, rates, the time to the
// limit. Pure; gets the times. Bounded: 600 readings of memory and counts, and 120 values of each of the 64 largest lines.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/memory/growth.h"
#include "analysis/metrics/components.h"
#include "analysis/summary/resource_growth.h"
#include "tools/watch/look.h"

namespace fathom::watch {

struct LineView {
  analysis::MemoryLine line;
  std::optional<std::int64_t>
      change;  // since the composition before; nullopt: there was none, or no such line
  std::optional<analysis::Slope> slope;  // bytes a second, over the values that are kept
  std::vector<double> values;            // the last ones, oldest first
};

// What the program's own metrics say.
struct MetricsView {
  std::string source;   // where they are read
  std::string problem;  // why there are none now; empty: there are
  analysis::Components components;
};

// Resident memory rose by much in the last seconds, whatever the slope over all looks says.
struct RecentRise {
  std::uint64_t bytes = 0;
  double seconds = 0;  // in which it rose: at most 10
  std::optional<double>
      left_s{};  // until the limit is reached at this rate; nullopt: no limit is known, or in over an hour
};

// Descriptors, threads or children that only become more, by the same judge as that of recordings.
struct CountGrowth {
  analysis::CountedResource resource = analysis::CountedResource::kDescriptors;
  double per_s = 0;
  std::uint64_t now = 0, limit = 0;  // 0: no limit is known
  std::optional<double> left_s{};    // until it is reached at this rate
};

// What is shown of one process after a look.
struct View {
  std::int32_t pid = 0;
  std::string name;
  Look look;
  std::optional<std::int64_t> rss_change;
  std::optional<analysis::Slope> rss_slope, anonymous_slope;
  std::optional<RecentRise> recent_rise;
  std::vector<CountGrowth> growing_counts;
  std::vector<double> rss_values;
  std::vector<LineView> lines;
  double composition_age_s = 0;
  std::optional<double> minor_faults_per_s, major_faults_per_s;
  std::optional<double> pressure_some;  // share of the time since the last reading in which some task waited
  std::optional<sources::MemoryLimit> limit;    // the one with the least room
  std::optional<analysis::TimeLeft> time_left;  // to it; nullopt: not growing
  double own_cpu_share = 0;                     // of one CPU, since the look before
  std::uint64_t own_rss = 0;
  std::vector<std::string> missing;
  std::optional<MetricsView> metrics;  // where the program's own metrics are read, too
};

class History {
 public:
  History(std::int32_t pid, std::string name) : pid_(pid), name_(std::move(name)) {}
  // The process executed another program or renamed itself: this is its name from now on.
  void set_name(std::string name) { name_ = std::move(name); }
  // `own_cpu_ns`: of this program since it started.
  View add(Look look, std::uint64_t own_cpu_ns, std::uint64_t own_rss, std::vector<std::string> missing);
  // The process is ending: it has given all of its memory back, and is still there for a moment. Such a look says nothing of the
  // memory that it had.
  bool is_of_an_ending_process(const Look& look) const { return look.figures.rss == 0 && last_rss() != 0; }
  std::uint64_t last_rss() const {
    return looks_.empty() ? 0 : static_cast<std::uint64_t>(looks_.back().rss);
  }

 private:
  struct Point {
    double time_s;
    double rss, anonymous;
  };
  static constexpr std::size_t kMostLooks = 600, kMostValues = 120, kMostLines = 64;
  void add_composition(const Composition& composition);
  void add_counts(const Look& look);
  std::vector<CountGrowth> growing_counts(const Look& look) const;
  std::optional<RecentRise> recent_rise(const sources::MemoryLimit* limit) const;

  std::int32_t pid_;
  std::string name_;
  std::deque<Point> looks_;
  std::optional<Look> before_;
  std::uint64_t own_cpu_before_ns_ = 0;
  std::uint64_t composed_ns_ = 0;  // the newest composition that was added
  using Key = std::pair<std::string, std::string>;
  std::map<Key, std::deque<analysis::TimedValue>> lines_;
  std::vector<LineView> shown_;  // of the newest composition
  std::map<analysis::CountedResource, std::deque<analysis::TrendPoint>> counts_;
};

}  // namespace fathom::watch
