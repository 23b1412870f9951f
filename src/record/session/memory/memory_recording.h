// What the memory of the recorded processes does while they are recorded: series ten times a second, what it is made of now and then,
// rare readings, counts of what else processes hold, and the target's own metrics.
#pragma once

#include <cstdint>
#include <optional>

#include "model/profile.h"
#include "record/session/heap/heap_recordings.h"
#include "record/session/memory/memory_series.h"
#include "record/session/memory/memory_snapshots.h"
#include "record/session/memory/rare_readings.h"
#include "record/session/memory/resource_series.h"
#include "record/session/memory/target_metrics.h"
#include "record/session/record_options.h"
#include "record/session/tracking/process_table.h"

namespace fathom::session {

class MemoryRecording {
 public:
  // All outlive it.
  MemoryRecording(const RecordOptions& options, model::Profile& profile, model::Builder& builder,
                  ProcessTable& processes);

  // Ten times a second, if memory is recorded.
  void sample(std::uint64_t now_ns);
  // Readings of what memory is made of, where they are due. `heaps` may be null.
  void read_compositions(std::uint64_t now_ns, HeapRecordings* heaps);
  // The next read_compositions() reads and keeps one of each process.
  void make_compositions_due();

  // The end: a last reading of what lives, and then, when nothing is recorded any more, of the series.
  void finish_compositions(std::uint64_t now_ns, HeapRecordings* heaps);
  void finish(std::uint64_t end_ns);

  // Notes, and what it cost.
  void account();
  // Of all processes together, at the last sample.
  double resident_bytes() const { return series_.resident_bytes(); }

 private:
  void sample_series(std::uint64_t now_ns);

  const RecordOptions& options_;
  model::Profile& profile_;
  ProcessTable& processes_;
  MemorySeries series_;
  RareReadings rare_readings_;
  ResourceSeries resources_;
  std::optional<MemorySnapshots> snapshots_;
  std::optional<TargetMetrics> metrics_;
};

}  // namespace fathom::session
