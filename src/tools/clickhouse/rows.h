// A recording as rows of two tables: stacks by the hash of their names, and sums by time, metric, thread and stack. What a server
// can add up over hosts and hours has no addresses and no single events. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/profile.h"
#include "tools/clickhouse/wait_kind.h"
#include "tools/push/destination.h"

namespace fathom::clickhouse {

struct FrameRow {
  std::string function;   // "0x1234" for one without a name
  std::string module;     // short name of its file
  std::string source;     // "file.cpp:12"; empty if unknown
  std::uint8_t kind = 0;  // model::ModuleKind
  bool inlined = false;   // into the next frame
  bool operator==(const FrameRow&) const = default;
};

struct StackRow {
  std::uint64_t hash = 0;             // of the frames' texts; never 0
  std::vector<std::uint32_t> frames;  // rows of Rows::frames, leaf first; of a wait behind "[wait: futex]"
  std::optional<WaitKind> wait = {};  // of rows of off-cpu
};

struct SampleRow {
  std::string metric;  // model::MetricInfo::name, or one of those below
  std::string thread;
  // CPU time that 1 of the value stands for; 0: the value is in the metric's own unit. Of levels of the heap: mean bytes between samples.
  std::uint64_t period_ns = 0;
  std::uint64_t stack = 0;  // StackRow::hash; 0: none
  std::int64_t value = 0;
};
// Metrics of rows without a stack. They add up over hosts and hours like all others.
inline constexpr const char* kQualityPrefix = "quality.";
inline constexpr const char *kQualitySamples = "quality.samples", *kQualityExpected = "quality.expected",
                            *kQualityLost = "quality.lost";
// Bytes and blocks that were freed: they add up, and with what was allocated and what is live at the end of a time they say what was
// live at its start.
inline constexpr const char *kFreedBytes = "heap-freed", *kFreedBlocks = "heap-frees";
// What was live at the end of the window. Levels: of a host only those of its last window count.
inline constexpr const char *kLiveBytes = "heap-live", *kLiveBlocks = "heap-live-blocks";
inline bool is_level(std::string_view metric) {
  return metric == kLiveBytes || metric == kLiveBlocks;
}
// The metric is of the heap: what is chosen of it needs the others, too.
bool is_of_heap(std::string_view metric);
// How many waits the row of off-cpu with the same thread and stack is of.
inline constexpr const char* kWaitCount = "waits";
// One row for each window; its value is the number of rows of the window. It shows that the window arrived, and how often.
inline constexpr const char* kWindowMetric = "window";

// The thread of such a row of a store (push::Labels::of_store), and its period_ns are the nanoseconds of the window's start beyond the
// second: so the time that the server has of a store is known exactly.
inline constexpr const char* kStoreThread = "store";

// What one host recorded in one stretch of time.
struct WindowRows {
  std::uint64_t id = 0;  // the same whenever the same stretch of the same recording becomes rows
  std::uint64_t start_unix_ns = 0, length_ns = 0;
  std::uint8_t quality = 100;  // per cent of the samples expected that arrived
  std::vector<SampleRow> samples;
};

struct Rows {
  push::Labels labels;
  std::vector<FrameRow> frames;
  std::vector<StackRow> stacks;
  std::vector<WindowRows> windows;
};

struct TimeSpan {
  std::uint64_t from_unix_ns = 0, until_unix_ns = 0;
  bool operator==(const TimeSpan&) const = default;
};

// The row that ends a window.
SampleRow marker_of(const push::Labels& labels, const WindowRows& window);

// What is left of `whole`, in order. `covered` in any order. Less than 100 ms is no
// gap, and no overlap with what comes before and after.
std::vector<TimeSpan> gaps_of(const TimeSpan& whole, std::vector<TimeSpan> covered);
// Of the recording.
TimeSpan span_of(const model::Profile& profile);

// Only these parts of the recording, a window each; its counts of quality are shared out by time.
Result<Rows> rows_of_gaps(const model::Profile& profile, push::Labels labels,
                          const std::vector<TimeSpan>& gaps);

// Windows are `window_ns` long, about: the recording is cut into equal ones. A recording without times is one window.
// kUnsupported: a recording whose CPU values are neither samples nor times.
Result<Rows> rows_of(const model::Profile& profile, push::Labels labels,
                     std::uint64_t window_ns = 60'000'000'000);

}  // namespace fathom::clickhouse
