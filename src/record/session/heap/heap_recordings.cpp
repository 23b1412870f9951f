#include "record/session/heap/heap_recordings.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <map>
#include <utility>

#include "attach/inject/stop/launch.h"
#include "attach/inject/tracer/detach_guardian.h"
#include "base/clock.h"
#include "record/session/heap/program_loading.h"

namespace fathom::session {

HeapRecordings::HeapRecordings(const RecordOptions& options, const HeapContext& context, Source& source)
    : context_(context),
      guardian_(options.guardian),
      children_(options.heap_children),
      roots_(options.pids.begin(), options.pids.end()),
      source_(source) {
  options_.mode = options.heap;
  options_.interval_bytes = options.heap_interval_bytes;
  options_.interval_fixed = options.heap_interval_fixed;
  options_.mappings = options.heap_mappings;
  options_.lossless = options.heap_lossless;
  options_.each_block = options.heap_each_block;
  options_.symbol_directory = options.symbol_directory;
  options_.no_probe = options.heap_no_probe;
  options_.hurry = options.hurry;
}

Result<> HeapRecordings::trace(std::int32_t pid, bool from_start) {
  tried_.insert(pid);
  options_.from_start = from_start;
  if (listen(pid)) return {};
  if (guardian_ != nullptr) guardian_->watch(pid);
  auto started = HeapTracing::start(pid, options_, context_);
  if (!started) return tl::unexpected<Error>(started.error());
  heaps_.push_back(std::move(*started));
  return {};
}

// True: the process reports its own heap. Its probes only give sums of sampled blocks.
bool HeapRecordings::listen(std::int32_t pid) {
  if (options_.mode != Heap::kSampled || options_.each_block || options_.mappings) return false;
  auto probed = ProbedHeap::start(pid, options_, context_, source_.heap_probes());
  if (!probed) {
    context_.profile.quality.notes.push_back(fmt::format(
        "heap: process {} has {} probes of its own, and they are not used: {}; the tracer is placed in it",
        pid, probes::kHeapProvider, probed.error().message));
    return false;
  }
  if (*probed == nullptr) return false;
  probed_.push_back(std::move(*probed));
  return true;
}

ProbedHeap* HeapRecordings::find_probed(std::int32_t pid) {
  for (const auto& heap : probed_)
    if (heap->pid() == pid && !heap->ended()) return heap.get();
  return nullptr;
}

// The guardian lives as long as processes are stopped for us: if we are killed right then, it lets them go
// on.
Result<> HeapRecordings::hold_execs(std::int32_t pid, std::function<void()> drain) {
  roots_.insert(pid);
  auto guardian = inject::Guardian::of(pid);
  if (!guardian) return tl::unexpected<Error>(guardian.error());
  holder_ = source_.exec_holder();
  if (holder_ == nullptr) return {};
  held_ = holder_->held();
  holder_->hold(pid);
  holding_.emplace(std::move(*guardian));
  held_pid_ = pid;
  drain_ = std::move(drain);
  return {};
}

void HeapRecordings::refresh() {
  follow_held();
  follow_executed();
  if (children_) trace_children();
  for (auto& heap : heaps_) heap->refresh();
  for (auto& heap : probed_) heap->refresh();
}

// It stands before the first instruction of another program.
void HeapRecordings::follow_held() {
  while (holder_ != nullptr && holder_->held() != held_) {
    ++held_;
    const std::int32_t pid = held_pid_;
    if (HeapTracing* heap = find(pid)) heap->end_image();
    if (ProbedHeap* heap = find_probed(pid)) {
      heap->end();
      drain_();  // earlier reports of the program are still on their way
      heap->end_image();
    }
    auto held = inject::hold_at_entry(pid);
    drain_();
    Result<> traced;
    if (!held)
      traced = tl::unexpected<Error>(held.error());
    else if (context_.processes.read_from_proc(pid))
      traced = trace(pid, true);
    if (!traced)
      context_.profile.quality.notes.push_back(fmt::format(
          "heap: process {} executed another program, which is not traced: {}", pid, traced.error().message));
    if (held) (void)held->go();
  }
}

// A process that was not held has lost the tracer with the program that it was placed in.
void HeapRecordings::follow_executed() {
  for (std::size_t i = 0; i < heaps_.size(); ++i) {
    HeapTracing& heap = *heaps_[i];
    const std::int32_t pid = heap.pid();
    if ((heap.ended() && !heap.is_blind()) || pid == held_pid_) continue;
    if (!roots_.contains(pid) && children_ && ::kill(pid, 0) != 0) {
      heap.end();  // a child that is gone needs no thread of ours
      continue;
    }
    if (context_.processes.programs_executed(pid) == heap.programs_executed()) continue;
    heap.end_image();
    executed_.insert(pid);
  }
  for (const auto& heap : probed_) {
    const std::int32_t pid = heap->pid();
    if (heap->ended() || pid == held_pid_) continue;
    if (!roots_.contains(pid) && children_ && ::kill(pid, 0) != 0) {
      heap->end();
      continue;
    }
    if (context_.processes.programs_executed(pid) == heap->programs_executed()) continue;
    heap->end_image();
    executed_.insert(pid);
  }
  std::erase_if(executed_, [this](std::int32_t pid) { return trace_executed(pid); });
}

// true: that is done.
bool HeapRecordings::trace_executed(std::int32_t pid) {
  if (!context_.processes.read_from_proc(pid)) return true;
  if (is_still_loading(pid)) return false;
  auto& notes = context_.profile.quality.notes;
  if (auto traced = trace(pid, false); traced)
    notes.push_back(
        fmt::format("heap: process {} executed another program: its first milliseconds are not traced", pid));
  else
    notes.push_back(fmt::format("heap: process {} executed another program, which is not traced: {}", pid,
                                traced.error().message));
  return true;
}

bool HeapRecordings::is_still_loading(std::int32_t pid) {
  std::set<std::string_view> names;
  for (const CodeMapping& mapping : context_.processes.mappings(pid))
    if (mapping.module->kind == model::ModuleKind::kFile)
      names.insert(context_.profile.strings[context_.profile.modules[mapping.module->id.value].name]);
  const std::vector<std::string_view> all(names.begin(), names.end());
  const std::uint64_t now = monotonic_ns();
  if (now - loading_since_ns_.try_emplace(pid, now).first->second < loading_limit_ns(all)) return true;
  loading_since_ns_.erase(pid);
  return false;
}

// Forked processes are traced from the first program on that they execute: before, they run with the hooks
// and without the memory of the tracer of their parent.
void HeapRecordings::trace_children() {
  for (const std::int32_t pid : context_.processes.pids()) {
    if (tried_.contains(pid) || context_.processes.programs_executed(pid) == 0) continue;
    if (!context_.processes.read_from_proc(pid) || is_still_loading(pid)) continue;
    if (auto traced = trace(pid, false); !traced)
      context_.profile.quality.notes.push_back(
          fmt::format("heap: process {} is not traced: {}", pid, traced.error().message));
  }
}

// Forked processes with an unseen heap.
void HeapRecordings::name_untraced() {
  constexpr std::size_t kMostNames = 4;
  if (std::exchange(named_, true)) return;
  std::set<std::int32_t> traced;
  for (const auto& heap : heaps_) traced.insert(heap->pid());
  for (const auto& heap : probed_) traced.insert(heap->pid());
  std::size_t count = 0;
  std::vector<std::string_view> names;
  for (const model::Process& process : context_.profile.processes) {
    if (process.parent_pid == 0 || process.start_ns == 0 || traced.contains(process.pid) ||
        roots_.contains(process.pid))
      continue;
    ++count;
    const std::string_view name = context_.profile.strings[process.name];
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  if (count == 0) return;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNames); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", names[i]);
  if (names.size() > kMostNames) text += fmt::format(" and {} more names", names.size() - kMostNames);
  context_.profile.quality.notes.push_back(
      fmt::format("heap: {} forked {} not traced: {}{}", count, count == 1 ? "process was" : "processes were",
                  text, children_ ? "" : " (--heap-children traces those that execute a program)"));
}

HeapTracing* HeapRecordings::find(std::int32_t pid) {
  for (const auto& heap : heaps_)
    if (heap->pid() == pid && !heap->ended()) return heap.get();
  return nullptr;
}

void HeapRecordings::take(std::span<const EventSink::MemoryCall> calls) {
  for (const auto& heap : heaps_) heap->take(calls);
}

void HeapRecordings::take(std::span<const EventSink::HeapProbed> events) {
  for (const auto& heap : probed_) heap->take(events);
}

void HeapRecordings::publish(bool cut) {
  for (const auto& heap : heaps_) heap->publish(cut);
  for (const auto& heap : probed_) heap->publish(cut);
}

void HeapRecordings::end() {
  if (ExecHolder* holder = std::exchange(holder_, nullptr)) {
    holder->hold(0);
    if (holder->held() != held_) ::kill(held_pid_, SIGCONT);
    holding_.reset();
  }
  for (const auto& heap : heaps_) heap->stop();
  for (const auto& heap : probed_) heap->end();
  name_untraced();
}

void HeapRecordings::finish() {
  const std::uint64_t begun_ns = monotonic_ns();
  for (const auto& heap : heaps_) heap->take_out(begun_ns);
  for (const auto& heap : probed_) heap->finish();
}

std::string HeapRecordings::describe_stops() const {
  if (heaps_.empty() && !probed_.empty())
    return "no thread was stopped, and nothing was put into the program";
  inject::Stops all;
  for (const auto& heap : heaps_) {
    const inject::Stops& stops = heap->stops();
    all.one_thread += stops.one_thread;
    all.longest_ns = std::max(all.longest_ns, stops.longest_ns);
    all.all_threads += stops.all_threads;
    all.all_threads_ns = std::max(all.all_threads_ns, stops.all_threads_ns);
  }
  const auto times = [](std::uint64_t count) {
    return count == 1 ? std::string("once") : fmt::format("{} times", count);
  };
  return fmt::format(
      "fathom stopped all threads {}, for at most {:.1f} ms, and ran code of its own in one thread {}, for at most {:.1f} ms",
      times(all.all_threads), static_cast<double>(all.all_threads_ns) * 1e-6, times(all.one_thread),
      static_cast<double>(all.longest_ns) * 1e-6);
}

std::string HeapRecordings::describe_tracing() const {
  const model::Profile& profile = context_.profile;
  std::map<std::pair<std::string, std::string>, std::size_t> functions;  // by allocator and module
  for (const model::HeapHook& hook : profile.heap.hooks) {
    if (hook.kind == model::HookKind::kNone || hook.kind == model::HookKind::kProbe) continue;
    const model::HeapAllocator& allocator = profile.heap.allocators[hook.allocator.value];
    const model::StringId module = profile.modules[allocator.module.value].name;
    ++functions[{std::string(profile.strings[allocator.label]), std::string(profile.strings[module])}];
  }
  std::string text;
  for (const auto& [allocator, count] : functions)
    text += fmt::format("{}{} functions of {} ({})", text.empty() ? "" : ", ", count, allocator.first,
                        allocator.second);
  for (const auto& heap : probed_) text += (text.empty() ? "" : ", ") + heap->describe();
  return text;
}

std::vector<std::string> HeapRecordings::describe_unseen() const {
  std::vector<std::string> texts;
  for (const auto& heap : heaps_)
    for (const HeapTarget::UnseenOfModule& unseen : heap->target().unseen) {
      std::string text = text_of(unseen);
      if (std::ranges::find(texts, text) == texts.end()) texts.push_back(std::move(text));
    }
  return texts;
}

std::vector<std::string> HeapRecordings::describe_found_by_code() const {
  std::vector<std::string> texts;
  for (const auto& heap : heaps_)
    for (const std::string& text : heap->target().found_by_code)
      if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
  return texts;
}

void HeapRecordings::account(model::Quality& quality) {
  quality.target_stops = quality.target_stop_ns = 0;
  for (const auto& heap : heaps_) {
    for (std::string& note : heap->take_notes()) quality.notes.push_back(std::move(note));
    note_interval(*heap, quality);
    const inject::Stops& stops = heap->stops();
    // Of all threads: borrowing one thread is another kind of disturbance, reported by describe_stops().
    quality.target_stops += stops.all_threads;
    quality.target_stop_ns = std::max(quality.target_stop_ns, stops.all_threads_ns);
  }
  for (const auto& heap : probed_)
    for (std::string& note : heap->take_notes()) quality.notes.push_back(std::move(note));
  // Once: an ended process prints no more.
  const bool ended = std::ranges::all_of(heaps_, [](const auto& heap) { return heap->ended(); });
  if (ended && !heaps_.empty() && !std::exchange(stops_told_, true))
    quality.notes.push_back("heap: " + describe_stops());
}

// All notes are written when one of them changes: not with each change, but when their number has doubled.
void HeapRecordings::note_interval(const HeapTracing& heap, model::Quality& quality) {
  IntervalNote& told = interval_notes_[&heap];
  const std::uint64_t changes = heap.interval_change_count();
  if (changes == told.changes || (!heap.ended() && changes < 2 * told.changes)) return;
  std::erase(quality.notes, told.text);
  told = {changes, heap.interval_changes()};
  quality.notes.push_back(told.text);
}

RecordOutcome::HeapOutcome HeapRecordings::outcome() const {
  RecordOutcome::HeapOutcome outcome;
  const model::HeapTables& tables = context_.profile.heap;
  std::map<std::uint32_t, double> live;  // by heap, at the end of its last slice
  for (const model::HeapSlice& slice : tables.slices) live[slice.heap.value] = slice.live_bytes;
  for (const auto& [heap, bytes] : live) outcome.live_bytes += bytes;
  for (const model::Heap& heap : tables.heaps) {
    outcome.events += heap.events;
    outcome.waited_ns += heap.waited_ns;
    outcome.lost += heap.lost_ring_full + heap.lost_no_ring + heap.lost_throwing + heap.lost_set_full;
  }
  outcome.stops = describe_stops();
  return outcome;
}

}  // namespace fathom::session
