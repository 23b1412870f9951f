#include "present/exports/perfetto_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <unordered_map>

#include "analysis/core/call_tree.h"
#include "analysis/core/waits.h"
#include "analysis/core/words.h"
#include "base/stable_sort.h"
#include "model/marks.h"
#include "present/exports/perfetto_stacks.h"

namespace fathom::present {
namespace {

using model::Metric;

// Fields of TracePacket.
enum Field : std::uint32_t {
  kClockSnapshot = 6,
  kTimestamp = 8,
  kSequence = 10,
  kTrackEvent = 11,
  kInternedData = 12,
  kSequenceFlags = 13,
  kDefaults = 59,
  kTrackDescriptor = 60,
  kPerfSample = 66,
};
enum EventType : std::uint32_t { kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4 };
constexpr std::uint64_t kRealtime = 1, kMonotonic = 3;  // numbers of clocks

class PerfettoWriter {
 public:
  PerfettoWriter(const model::Profile& profile, const PerfettoOptions& options)
      : profile_(profile),
        options_(options),
        pieces_(profile, options.fold_generics, options.selection.tracer),
        processes_(profile.processes.size()),
        threads_(profile.threads.size()) {}

  Result<std::string> write() {
    write_head();
    write_samples();
    write_waits();
    write_spans();
    write_marks();
    write_live_heap();
    write_series();
    if (events_ != 0) write_comments();
    if (events_ == 0)
      return fail(ErrorKind::kNotFound, "no samples, waits or series in this selection",
                  "fathom report FILE shows what the file holds");
    return std::move(out_);
  }

 private:
  void packet(WireWriter& body, bool first = false) {
    body.number(kSequence, 1);
    if (const std::string pieces = pieces_.take_pieces(); !pieces.empty()) body.bytes(kInternedData, pieces);
    body.number(kSequenceFlags, first ? 3 : 2);  // interned data: reset; needed
    put_wire_varint(out_, std::uint64_t{1} << 3 | 2);
    put_wire_varint(out_, body.view().size());
    out_ += body.view();
  }

  // Every time is of CLOCK_MONOTONIC; the snapshot says what time of day that was.
  void write_head() {
    WireWriter clocks;
    clocks.message(1, WireWriter().number(1, kMonotonic).number_or_zero(2, profile_.meta.start_ns));
    if (profile_.meta.start_unix_ns != 0)
      clocks.message(1, WireWriter().number(1, kRealtime).number(2, profile_.meta.start_unix_ns));
    clocks.number(2, kMonotonic);
    const std::string event = analysis::printable(
        profile_.meta.event.empty() ? std::string_view("samples") : std::string_view(profile_.meta.event));
    WireWriter timebase;
    if (profile_.meta.frequency_hz != 0) timebase.number(2, profile_.meta.frequency_hz);
    timebase.number(4, 1).bytes(10, event);  // counted by a clock of the processor
    WireWriter defaults;
    defaults.message(12, WireWriter().message(1, timebase)).number(58, kMonotonic);
    WireWriter body;
    body.message(kClockSnapshot, clocks).message(kDefaults, defaults);
    packet(body, true);
  }

  analysis::Selection selection(Metric metric) const {
    analysis::Selection of = options_.selection;
    of.metric = metric;
    return of;
  }

  // Numbers of tracks: any, but each once.
  std::uint64_t process_track(model::ProcessId id) {
    std::uint64_t& known = processes_[id.value];
    if (known != 0) return known;
    known = ++last_track_;
    const model::Process& process = profile_.processes[id.value];
    const std::string name = analysis::printable(profile_.strings[process.name]);
    WireWriter body;
    body.message(kTrackDescriptor, WireWriter().number(1, known).message(
                                       3, WireWriter().number(1, number_of(process.pid)).bytes(6, name)));
    packet(body);
    return known;
  }

  std::uint64_t thread_track(model::ThreadId id) {
    std::uint64_t& known = threads_[id.value];
    if (known != 0) return known;
    const model::Thread& thread = profile_.threads[id.value];
    const std::uint64_t parent = process_track(thread.process);
    known = ++last_track_;
    const std::string name = analysis::printable(analysis::thread_name(profile_, id));
    WireWriter body;
    body.message(kTrackDescriptor,
                 WireWriter().number(1, known).number(5, parent).message(
                     4, WireWriter()
                            .number(1, number_of(profile_.processes[thread.process.value].pid))
                            .number(2, number_of(thread.tid))
                            .bytes(5, name)));
    packet(body);
    return known;
  }

  static std::uint64_t number_of(std::int32_t id) { return static_cast<std::uint64_t>(std::int64_t{id}); }

  void write_samples() {
    const analysis::Filter filter(profile_, selection(Metric::kCpu));
    std::map<std::uint16_t, std::uint64_t> counts;  // by CPU: the counter's value, which only grows
    analysis::ValueBudget budget;
    for (const model::Sample& sample : profile_.samples) {
      if (!filter.takes(sample)) continue;
      thread_track(sample.thread);
      const model::Thread& thread = profile_.threads[sample.thread.value];
      std::uint64_t& count = counts[sample.cpu];
      count += static_cast<std::uint64_t>(std::max<std::int64_t>(budget.take(sample.value), 0));
      WireWriter row;
      row.number_or_zero(1, sample.cpu)
          .number(2, number_of(profile_.processes[thread.process.value].pid))
          .number(3, number_of(thread.tid))
          .number(4, pieces_.stack(sample.stack))
          .number(6, count);
      WireWriter body;
      body.number_or_zero(kTimestamp, sample.time_ns).message(kPerfSample, row);
      packet(body);
      ++events_;
    }
  }

  // A thread waits for one thing at a time. What overlaps by mistake begins where the last one ended.
  void write_waits() {
    const analysis::Waits waits(profile_, selection(Metric::kOffCpu));
    std::vector<std::uint32_t> order(waits.rows().size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    stable_sort_rows(order, {}, [&](std::uint32_t i) {
      const model::Wait& wait = waits.wait(waits.rows()[i]);
      return std::pair(wait.thread.value, wait.start_ns);
    });
    model::ThreadId thread = model::kNoThread;
    std::uint64_t free_from = 0;
    for (const std::uint32_t i : order) {
      const analysis::SelectedWait& row = waits.rows()[i];
      const model::Wait& wait = waits.wait(row);
      if (wait.thread != thread) free_from = 0;
      thread = wait.thread;
      // The parts of a wait that lie outside of the window are cut off at its edges.
      const std::uint64_t whole_end = wait.start_ns + wait.waited_ns;
      const std::uint64_t start =
          std::max(std::max(wait.start_ns, profile_.meta.start_ns + options_.selection.from_ns.value_or(0)),
                   free_from);
      const std::uint64_t woken = start + std::min(row.waited_ns, UINT64_MAX - start);
      const std::uint64_t queue = std::max(woken, std::max(whole_end, free_from));
      const std::uint64_t ran = queue + std::min(row.queued_ns, UINT64_MAX - queue);
      const std::uint64_t track = thread_track(thread);
      const std::uint64_t flow = wait.waker == model::kNoThread || row.waited_ns == 0 ? 0 : ++last_flow_;
      if (row.waited_ns != 0) {
        slice(track, start, woken, analysis::frame_of(row.cause), waits, row, flow);
        free_from = woken;
      }
      if (flow != 0) wake(thread_track(wait.waker), woken, flow, wait);
      if (row.queued_ns != 0) {
        slice(track, queue, ran, analysis::frame_of(row.queue_cause), waits, row, 0);
        free_from = ran;
      }
    }
  }

  // Spans of a thread on tracks below it. Slices of a track are nested; a span that overlaps another in part has another track.
  void write_spans() {
    std::map<std::uint32_t, std::vector<const model::Span*>> threads;
    for (const model::Span& span : profile_.spans) {
      const bool wanted = span.thread == model::kNoThread || !options_.selection.pid ||
                          profile_.processes[profile_.threads[span.thread.value].process.value].pid ==
                              *options_.selection.pid;
      // add_spans() puts spans of an unknown clock after the end.
      const bool is_placed = span.thread != model::kNoThread || span.start_ns < profile_.meta.end_ns;
      if (wanted && is_placed && takes(span.start_ns)) threads[span.thread.value].push_back(&span);
    }
    for (auto& [thread, spans] : threads) {
      stable_sort_rows(spans, [](const model::Span* a, const model::Span* b) {
        return std::pair(a->start_ns, UINT64_MAX - a->end_ns) <
               std::pair(b->start_ns, UINT64_MAX - b->end_ns);
      });
      struct Lane {
        std::uint64_t track;
        std::vector<std::uint64_t> open;  // ends, the innermost last
      };
      std::vector<Lane> lanes;
      const auto close = [&](Lane& lane, std::uint64_t until) {
        for (; !lane.open.empty() && lane.open.back() <= until; lane.open.pop_back())
          emit(lane.open.back(), WireWriter().number(9, kEnd).number(11, lane.track));
      };
      constexpr std::size_t kMostLanes = 64;
      for (const model::Span* span : spans) {
        Lane* fitting = nullptr;
        for (Lane& lane : lanes) {
          close(lane, span->start_ns);
          if (fitting == nullptr && (lane.open.empty() || lane.open.back() >= span->end_ns)) fitting = &lane;
        }
        if (fitting == nullptr && lanes.size() == kMostLanes) continue;
        if (fitting == nullptr) {
          const bool of_thread = thread != model::kNoThread.value;
          lanes.push_back({named_track("spans", of_thread ? thread_track({thread}) : 0), {}});
          fitting = &lanes.back();
        }
        WireWriter event;
        event.number(9, kBegin).number(11, fitting->track);
        event.number(10, pieces_.event_name(analysis::printable(profile_.strings[span->name])));
        event.bytes(22, "span");
        emit(span->start_ns, event);
        fitting->open.push_back(span->end_ns);
      }
      for (Lane& lane : lanes) close(lane, UINT64_MAX);
    }
  }

  // Phases of the recording, each from its mark to the next one, on a track of their own.
  void write_marks() {
    std::uint64_t track = 0;
    for (const model::Phase& phase : model::phases_of(profile_)) {
      const auto at = [&](double s) { return profile_.meta.start_ns + static_cast<std::uint64_t>(s * 1e9); };
      const std::uint64_t from = at(phase.from_s), to = phase.to_s ? at(*phase.to_s) : profile_.meta.end_ns;
      if (!takes(from) || to < from) continue;
      if (track == 0) track = named_track("marks", 0);
      WireWriter event;
      event.number(9, kBegin).number(11, track);
      event.number(10, pieces_.event_name(analysis::printable(phase.name))).bytes(22, "mark");
      emit(from, event);
      emit(to, WireWriter().number(9, kEnd).number(11, track));
    }
  }

  std::uint64_t named_track(std::string_view name, std::uint64_t parent) {
    const std::uint64_t track = ++last_track_;
    WireWriter descriptor;
    descriptor.number(1, track).bytes(2, name);
    if (parent != 0) descriptor.number(5, parent);
    WireWriter body;
    body.message(kTrackDescriptor, descriptor);
    packet(body);
    return track;
  }

  // A trace has no field for them: an event at the start, on a track of its own.
  void write_comments() {
    if (options_.comments.empty()) return;
    const std::uint64_t track = ++last_track_;
    WireWriter body;
    body.message(kTrackDescriptor, WireWriter().number(1, track).bytes(2, "quality of the recording"));
    packet(body);
    WireWriter event;
    event.number(9, kInstant).number(11, track).number(10, pieces_.event_name("quality"));
    for (std::size_t i = 0; i < options_.comments.size(); ++i)
      annotate(event, i == 0 ? "quality" : fmt::format("note {}", i), options_.comments[i]);
    emit(profile_.meta.start_ns + options_.selection.from_ns.value_or(0), event);
  }

  void slice(std::uint64_t track, std::uint64_t start, std::uint64_t end, std::string_view name,
             const analysis::Waits& waits, const analysis::SelectedWait& row, std::uint64_t flow) {
    const model::Wait& wait = waits.wait(row);
    WireWriter event;
    event.number(9, kBegin).number(11, track).number(10, pieces_.event_name(name));
    event.bytes(22, "wait").number(56, pieces_.stack(wait.stack));
    annotate(event, "for", waits.causes().label(wait));
    if (wait.waker != model::kNoThread)
      annotate(event, "ended by",
               fmt::format("{} {}", analysis::thread_name(profile_, wait.waker),
                           profile_.threads[wait.waker.value].tid));
    if (row.weight > 1) annotate(event, "stands for", fmt::format("{} waits of this thread", row.weight));
    emit(start, event);
    WireWriter closing;
    closing.number(9, kEnd).number(11, track);
    if (flow != 0) closing.fixed(48, flow);  // it ends here
    emit(end, closing);
  }

  // What the waker did, on its own track; an arrow leads from it to the end of the wait.
  void wake(std::uint64_t track, std::uint64_t time, std::uint64_t flow, const model::Wait& wait) {
    WireWriter event;
    event.number(9, kInstant).number(11, track).number(10, pieces_.event_name("wakes another thread"));
    event.bytes(22, "wake").fixed(47, flow).number(56, pieces_.stack(wait.waker_stack));
    annotate(event, "wakes",
             fmt::format("{} {}", analysis::thread_name(profile_, wait.thread),
                         profile_.threads[wait.thread.value].tid));
    emit(time, event);
  }

  static void annotate(WireWriter& event, std::string_view name, std::string_view value) {
    event.message(4, WireWriter().bytes(10, name).bytes(6, analysis::printable(value)));
  }

  void emit(std::uint64_t time, const WireWriter& event) {
    WireWriter body;
    body.number_or_zero(kTimestamp, time).message(kTrackEvent, event);
    packet(body);
    ++events_;
  }

  // 0: the process is not in the profile, or not selected.
  std::uint64_t process_track_of(std::int32_t pid) {
    for (std::uint32_t i = 0; i < profile_.processes.size(); ++i)
      if (profile_.processes[i].pid == pid) return process_track({i});
    return 0;
  }

  std::uint64_t counter_track(std::uint64_t parent, std::string_view name, std::string_view unit) {
    const std::uint64_t track = ++last_track_;
    WireWriter counter;
    if (unit == "bytes" || unit == "ns" || unit == "count")
      counter.number(3, unit == "ns" ? 1 : unit == "count" ? 2 : 3);
    else
      counter.bytes(6, analysis::printable(unit));
    WireWriter body;
    body.message(kTrackDescriptor, WireWriter()
                                       .number(1, track)
                                       .bytes(2, analysis::printable(name))
                                       .number(5, parent)
                                       .message(8, counter));
    packet(body);
    return track;
  }

  void count(std::uint64_t track, std::uint64_t time, double value) {
    if (!takes(time) || !std::isfinite(value)) return;
    WireWriter event;
    event.number(9, kCounter).number(11, track).fixed(44, std::bit_cast<std::uint64_t>(value));
    emit(time, event);
  }

  bool takes(std::uint64_t time) const {
    const std::uint64_t at = time > profile_.meta.start_ns ? time - profile_.meta.start_ns : 0;
    return at >= options_.selection.from_ns.value_or(0) && at < options_.selection.to_ns.value_or(UINT64_MAX);
  }
  bool takes_process(std::int32_t pid) const {
    return !options_.selection.pid || *options_.selection.pid == pid;
  }

  void write_live_heap() {
    std::vector<std::uint64_t> tracks(profile_.heap.heaps.size());
    for (const model::HeapSlice& slice : profile_.heap.slices) {
      const model::Heap& heap = profile_.heap.heaps[slice.heap.value];
      if (!takes_process(profile_.processes[heap.process.value].pid)) continue;
      std::uint64_t& track = tracks[slice.heap.value];
      if (track == 0) track = counter_track(process_track(heap.process), name_of(slice.heap), "bytes");
      count(track, slice.end_ns, slice.live_bytes);
    }
  }

  // A process that maps memory by itself has a second heap for that.
  std::string name_of(model::HeapId heap) const {
    for (const model::HeapSite& site : profile_.heap.sites)
      if (site.heap == heap &&
          profile_.strings[profile_.heap.allocators[site.allocator.value].label] == model::kMappedByProgram)
        return "live, mapped by the program";
    return "live heap";
  }

  void write_series() {
    for (const model::Series& series : profile_.series) {
      if (!takes_process(series.pid) || series.points.empty()) continue;
      const std::uint64_t track = counter_track(process_track_of(series.pid), profile_.strings[series.name],
                                                profile_.strings[series.unit]);
      for (const model::Point& point : series.points) count(track, point.time_ns, point.value);
    }
  }

  const model::Profile& profile_;
  const PerfettoOptions& options_;
  PerfettoStacks pieces_;
  std::vector<std::uint64_t> processes_, threads_;  // tracks by row; 0: not described yet
  std::uint64_t last_track_ = 0, last_flow_ = 0, events_ = 0;
  std::string out_;
};

}  // namespace

Result<std::string> write_perfetto(const model::Profile& profile, const PerfettoOptions& options) {
  return PerfettoWriter(profile, options).write();
}

}  // namespace fathom::present
