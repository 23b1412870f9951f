#include "record/session/memory/memory_recording.h"

#include <string>
#include <utility>

namespace fathom::session {

MemoryRecording::MemoryRecording(const RecordOptions& options, model::Profile& profile,
                                 model::Builder& builder, ProcessTable& processes)
    : options_(options),
      profile_(profile),
      processes_(processes),
      series_(profile),
      rare_readings_(profile),
      resources_(profile) {
  if (options.memory || options.heap != Heap::kNone) snapshots_.emplace(profile, builder, processes);
  if (!options.metrics_url.empty()) metrics_.emplace(options.metrics_url, profile);
}

void MemoryRecording::sample(std::uint64_t now_ns) {
  if (!options_.memory) return;
  sample_series(now_ns);
  const auto own = processes_.pids_with_own_row();
  rare_readings_.look(now_ns, own);
  resources_.look(now_ns, own);
}

// Memory of processes that share a row is not reported, so it is read only if all of it counts.
void MemoryRecording::sample_series(std::uint64_t now_ns) {
  const auto own = processes_.pids_with_own_row();
  series_.sample(now_ns, options_.until_resident_bytes ? processes_.pids() : own, own);
  if (!metrics_) return;
  metrics_->start();
  if (!own.empty()) metrics_->look(options_.pids.empty() ? own.front() : options_.pids.front());
}

void MemoryRecording::read_compositions(std::uint64_t now_ns, HeapRecordings* heaps) {
  if (snapshots_) snapshots_->sample(now_ns, processes_.pids_with_own_row(), heaps);
}

void MemoryRecording::make_compositions_due() {
  if (snapshots_) snapshots_->make_due();
}

void MemoryRecording::finish_compositions(std::uint64_t now_ns, HeapRecordings* heaps) {
  if (snapshots_) snapshots_->finish(now_ns, processes_.pids_with_own_row(), heaps);
}

void MemoryRecording::finish(std::uint64_t end_ns) {
  if (!options_.memory) return;
  sample_series(end_ns);
  const auto own = processes_.pids_with_own_row();
  rare_readings_.finish(end_ns, own);
  resources_.finish(end_ns, own, profile_.meta.facts);
  rare_readings_.put(profile_.meta.facts);
}

void MemoryRecording::account() {
  if (!snapshots_) return;
  for (std::string& note : snapshots_->take_notes()) profile_.quality.notes.push_back(std::move(note));
  if (std::string cost = snapshots_->cost(); !cost.empty())
    profile_.meta.facts["memory_maps"] = std::move(cost);
}

}  // namespace fathom::session
