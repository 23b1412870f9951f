#include "session/heap/heap_recordings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "inject/detach_guardian.h"

namespace fathom::session {

HeapRecordings::HeapRecordings(const RecordOptions& options, const HeapContext& context)
    : context_(context), guardian_(options.guardian) {
  options_.mode = options.heap;
  options_.interval_bytes = options.heap_interval_bytes;
  options_.mappings = options.heap_mappings;
  options_.each_block = options.heap_each_block;
  options_.symbol_directory = options.symbol_directory;
}

Result<> HeapRecordings::trace(std::int32_t pid, bool from_start) {
  options_.from_start = from_start;
  if (guardian_ != nullptr) guardian_->watch(pid);
  auto started = HeapTracing::start(pid, options_, context_);
  if (!started) return tl::unexpected<Error>(started.error());
  heaps_.push_back(std::move(*started));
  return {};
}

// A process that executes another program has lost the tracer with the old one.
void HeapRecordings::refresh() {
  for (auto& heap : heaps_) {
    const std::int32_t pid = heap->pid();
    if (heap->ended() || context_.processes.programs_executed(pid) == heap->programs_executed()) {
      heap->refresh();
      continue;
    }
    heap->end();
    if (!context_.processes.read_from_proc(pid)) continue;
    auto& notes = context_.profile.quality.notes;
    if (auto traced = trace(pid, false); traced)
      notes.push_back(fmt::format(
          "heap: process {} executed another program: its first milliseconds are not traced", pid));
    else
      notes.push_back(fmt::format("heap: process {} executed another program, which is not traced: {}", pid,
                                  traced.error().message));
    return;  // the list has changed
  }
}

HeapTracing* HeapRecordings::find(std::int32_t pid) {
  for (const auto& heap : heaps_)
    if (heap->pid() == pid && !heap->ended()) return heap.get();
  return nullptr;
}

void HeapRecordings::take(std::span<const EventSink::MemoryCall> calls) {
  for (const auto& heap : heaps_) heap->take(calls);
}

void HeapRecordings::publish() {
  for (const auto& heap : heaps_) heap->publish();
}

void HeapRecordings::end() {
  for (const auto& heap : heaps_) heap->end();
}

std::string HeapRecordings::describe_stops() const {
  inject::Stops all;
  for (const auto& heap : heaps_) {
    const inject::Stops& stops = heap->stops();
    all.one_thread += stops.one_thread;
    all.longest_ns = std::max(all.longest_ns, stops.longest_ns);
    all.all_threads += stops.all_threads;
    all.all_threads_ns = std::max(all.all_threads_ns, stops.all_threads_ns);
  }
  return fmt::format(
      "all threads stood still for at most {:.1f} ms in {} stops; one thread was borrowed for at most {:.1f} "
      "ms "
      "in {} stops",
      static_cast<double>(all.all_threads_ns) * 1e-6, all.all_threads,
      static_cast<double>(all.longest_ns) * 1e-6, all.one_thread);
}

void HeapRecordings::account(model::Quality& quality) {
  quality.target_stops = quality.target_stop_ns = 0;
  for (const auto& heap : heaps_) {
    for (std::string& note : heap->take_notes()) quality.notes.push_back(std::move(note));
    const inject::Stops& stops = heap->stops();
    quality.target_stops += stops.one_thread + stops.all_threads;
    quality.target_stop_ns = std::max({quality.target_stop_ns, stops.longest_ns, stops.all_threads_ns});
  }
  // Once: whoever has ended says no more.
  const bool ended = std::ranges::all_of(heaps_, [](const auto& heap) { return heap->ended(); });
  if (ended && !heaps_.empty() && !std::exchange(stops_told_, true))
    quality.notes.push_back("heap: " + describe_stops());
}

RecordOutcome::HeapOutcome HeapRecordings::outcome() const {
  RecordOutcome::HeapOutcome outcome;
  const model::HeapTables& tables = context_.profile.heap;
  std::map<std::uint32_t, double> live;  // by heap, at the end of its last slice
  for (const model::HeapSlice& slice : tables.slices) live[slice.heap.value] = slice.live_bytes;
  for (const auto& [heap, bytes] : live) outcome.live_bytes += bytes;
  for (const model::Heap& heap : tables.heaps) {
    outcome.events += heap.events;
    outcome.lost += heap.lost_ring_full + heap.lost_no_ring + heap.lost_throwing + heap.lost_set_full;
  }
  outcome.stops = describe_stops();
  return outcome;
}

}  // namespace fathom::session
