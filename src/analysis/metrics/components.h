// How much of the growth of a process's memory its own metrics explain, component by component, and which components they
// rule out. Pure.
//
// A slope has an interval of 95 % (analysis/memory/growth.h). A component explains growth when its own is certain; it is
// ruled out when even the upper end of its interval is below a twentieth of what the memory grows at least.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/memory/growth.h"
#include "analysis/metrics/component_rules.h"

namespace fathom::analysis {

// One series of the program's metrics. Points in order of time.
struct MetricSeries {
  std::string name;  // with its labels
  bool is_counter = false;
  std::vector<TimedValue> points;
};

// A counter's increase since its first point: if the value drops, its program restarted the counter, so the
// whole new value counts.
std::vector<TimedValue> since_first(std::span<const TimedValue> counter);

enum class ComponentVerdict : std::uint8_t {
  kNotTold,   // too few values, or the memory does not grow: there is nothing to explain
  kExplains,  // it grows, and is so much of the growth
  kRuledOut,  // it does not grow, or far too little
  kUnclear,   // it may grow or not
  kGrows,     // a number of objects grows: their size in bytes is unknown
};

// What was recorded of the heap of a crate that owns a component: live at the end, allocated in it or below it.
struct CrateHeap {
  std::string crate;
  double live_bytes = 0, error_bytes = 0;  // half of the interval of 95 %
};

struct ComponentGrowth {
  MetricMeaning meaning = MetricMeaning::kBytes;
  std::string component;
  std::vector<std::string> crates;
  std::vector<CrateHeap> heap;      // of those of `crates` that have any; where the heap was recorded
  std::size_t series = 0;           // that are summed
  double first = 0, last = 0;       // bytes, or things
  std::uint64_t unusual_bytes = 0;  // ComponentRule::unusual_bytes
  std::optional<Slope> slope;
  ComponentVerdict verdict = ComponentVerdict::kNotTold;
  // Of kExplains: its share of the memory's growth, with an interval from both slopes. Can be above 1: the rest shrinks.
  double share = 0, share_low = 0, share_high = 0;
};

struct Components {
  std::optional<Slope> memory;  // of the process's anonymous memory, over the same time
  double memory_last = 0;       // bytes
  double seconds = 0;           // from the first to the last scrape
  // Bytes first, those that explain most first; then numbers of things.
  std::vector<ComponentGrowth> components;
  std::vector<ComponentGrowth> whole;  // of the allocator: live, active, resident, retained, metadata
  double explained = 0;                // sum of the shares of components that explain
  bool empty() const { return components.empty() && whole.empty(); }
  std::vector<const ComponentGrowth*> unusual() const;  // components that hold that much
};

// `memory`: the anonymous memory of the process, on the same clock.
Components explain_growth(std::span<const MetricSeries> series, std::span<const TimedValue> memory,
                          const ComponentRules& rules = ComponentRules::built_in());

}  // namespace fathom::analysis
