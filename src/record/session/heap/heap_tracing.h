// The heap of one process while it is recorded: finds its allocators, has the tracer placed and hooked in,
// collects what it sends on a thread of its own, fills the profile, and has it taken out again.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "attach/inject/tracer/tracer.h"
#include "linux/process/inner_threads.h"
#include "linux/process/maps.h"
#include "record/heap/collector.h"
#include "record/heap/summary_in_parts.h"
#include "record/session/heap/heap_tables.h"
#include "record/session/heap/heap_target.h"
#include "record/session/heap/mapped_memory.h"
#include "record/session/heap/sampling_interval.h"
#include "record/session/heap/tracer_tables.h"
#include "record/session/record_options.h"
#include "record/session/tracking/process_table.h"
#include "record/session/tracking/stack_resolver.h"

namespace fathom::session {

struct HeapTracingOptions {
  Heap mode = Heap::kSampled;
  std::uint32_t interval_bytes = 512 * 1024;
  bool interval_fixed = false;  // RecordOptions::heap_interval_fixed
  bool mappings = false;        // memory calls will be reported: see take()
  bool each_block = false;      // the life of every block, too
  bool lossless = false;        // RecordOptions::heap_lossless
  bool from_start = false;      // the process has not run its first instruction yet
  std::string symbol_directory;
  bool no_probe = false;        // RecordOptions::heap_no_probe
  std::function<bool()> hurry;  // RecordOptions::hurry
};

// Where the rows go and how they are found.
struct HeapContext {
  model::Profile& profile;
  model::Builder& builder;
  ProcessTable& processes;  // knows the process and its mappings; modules have kept their tables
  StackResolver& stacks;
  std::function<Result<>()> write;  // what is in the profile, so that rows of blocks can be cleared
};

class HeapTracing {
 public:
  // All in `context` outlives the tracing. An error: the process is as it was. That no allocator can be traced
  // is none: is_blind().
  static Result<std::unique_ptr<HeapTracing>> start(std::int32_t pid, const HeapTracingOptions& options,
                                                    const HeapContext& context);
  ~HeapTracing();  // end()
  HeapTracing(const HeapTracing&) = delete;
  HeapTracing& operator=(const HeapTracing&) = delete;

  std::int32_t pid() const { return pid_; }
  bool ended() const { return ended_; }
  // Nothing in it can be traced: it has a row with that state, no tracer was placed, and it has ended.
  bool is_blind() const { return blind_; }
  // As ProcessTable counts them, when the tracer was placed.
  std::uint32_t programs_executed() const { return programs_executed_; }
  // Some twenty times a second: shows the tracer new mappings, gives addresses of new stacks their names.
  void refresh();
  // Calls of any process that took or gave back address space, in time order.
  void take(std::span<const EventSink::MemoryCall> calls);
  // Once a second: what the slices of time since the last call hold goes into the profile. `cut`: the open slice as well.
  void publish(bool cut = false);
  // Takes the tracer out and fills in what is left.
  void end();
  // The same in two steps: the hooks go, and what was written until then is taken; then all of the tracer goes, for which
  // threads of the target have to be waited for, since `begun_ns`.
  void stop();
  void take_out(std::uint64_t begun_ns);
  // The process has executed another program: ends without touching it, and what was live is gone.
  void end_image();
  // visit(address, size, allocator, Weight): the blocks that are live and known now. In parts, so that the
  // rings are not left alone for long: blocks that come and go meanwhile may be in it or not.
  template <class Visit>
  void for_each_live(const Visit& visit) {
    for (std::size_t part = 0; part < sources::heap::LiveSet::kShards; ++part) {
      const std::lock_guard guard(lock_);
      collector_->for_each_live_of(
          part, [&](std::uint64_t block, std::uint64_t size, const sources::heap::Weight& weight) {
            visit(std::uint64_t{TRACER_BLOCK_ADDRESS(block)}, size, allocator_row(block), weight);
          });
    }
  }
  // The program's own mappings, if memory calls are recorded; else null.
  const MappedMemory* mapped() const { return mapped_ ? &*mapped_ : nullptr; }
  // The tracer's own memory in the process.
  std::span<const tracer_own_mapping> own_mappings();
  // The row of the C library's allocator; row 0 if it is not traced.
  model::HeapAllocatorId libc_allocator() const;
  // What of the tracer is in the process although it has ended, and why.
  const inject::Remains& remains() const { return remains_; }
  // What the user should know, each once: allocators that are not traced, and why.
  std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }
  // How the sampling interval was changed; empty where it was not.
  std::string interval_changes() const;
  std::uint64_t interval_change_count() const { return interval_.changes(); }
  const inject::Stops& stops() const { return stops_; }
  const HeapTarget& target() const { return target_; }

 private:
  HeapTracing(std::int32_t pid, const HeapTracingOptions& options, const HeapContext& context);
  Result<> place();
  Result<> hook();
  void find_allocators();
  void take_target_notes();
  model::Heap add_heap();
  void add_rows(const std::vector<inject::PlannedHook>& planned);
  void add_unseen_rows();
  void tell_allocators();
  void expect_tracer_code();
  model::HeapAllocatorId allocator_row(std::uint64_t block) const {
    const std::uint32_t number = TRACER_BLOCK_ALLOCATOR(block);
    return number < allocator_rows_.size() ? allocator_rows_[number] : model::HeapAllocatorId{};
  }
  void hook_new_modules();
  void look_for_reloads();
  void finish_collecting(bool image_ended);
  std::uint64_t blocks_nowhere() const;
  void note_refused();
  void take_out_of_forked();
  void collect();  // the thread
  void wait_for_next_round(std::chrono::milliseconds pause);
  // How far behind a time may be where a sequence orders the events: it is moved forward so often.
  static constexpr auto kAdvancePause = std::chrono::milliseconds(1);
  struct Drained {
    std::uint64_t events;
    bool hurry, stopped;
  };
  Drained drain(std::uint64_t until_ns);
  void drain_last();
  void resolve_new();
  void resolve_threads(std::vector<std::int32_t> threads);
  void resolve_stack(sources::heap::NewStack& stack);
  sources::heap::ProcessBounds bounds() const;
  void order_mean(std::uint32_t mean);
  void cut_slice(bool last);
  std::unordered_set<std::int32_t> gone_threads();
  enum class SliceEnd : std::uint8_t { kWhenLong, kNow, kLast };
  void write_slices(SliceEnd end);
  void take_blocks();
  void write_live_blocks();
  model::ThreadId thread_of(std::uint32_t tid) const;

  std::int32_t pid_;
  HeapTracingOptions options_;
  HeapContext context_;
  SamplingInterval interval_;  // as ordered; what the shared memory says is the target's word
  process::InnerThreads inner_threads_;
  symbolize::DebugFiles debug_files_;
  HeapTarget target_;
  std::vector<model::HeapAllocatorId> allocator_rows_;  // of target_.allocators
  std::vector<std::string> notes_;
  std::optional<inject::Tracer> tracer_;
  // One hook of each module, to see whether it still stands: a library that was loaded again has none.
  std::vector<inject::PlannedHook> witnesses_;
  std::unique_ptr<TracerTables> tables_;
  std::optional<HeapTables> rows_;
  std::optional<MappedMemory> mapped_;
  inject::Stops stops_;
  inject::Remains remains_;
  bool ended_ = false, blind_ = false, is_in_ = false, taken_out_ = false;
  std::size_t unseen_told_ = 0, found_by_code_told_ = 0;  // of target_
  std::uint32_t programs_executed_;

  // Shared with the collecting thread, under `lock_`.
  std::mutex lock_;
  std::optional<sources::heap::Collector> collector_;
  std::vector<sources::heap::Slice> slices_;  // that are not in the profile yet
  std::vector<sources::heap::NewStack> new_stacks_;
  std::vector<std::int32_t> new_threads_;
  std::size_t waiting_words_ = 0;  // of new_stacks_
  bool stacks_full_ = false;       // no more of them are reported
  std::vector<process::MapEntry> maps_at_stop_;
  std::atomic<bool> stop_{false};
  std::thread thread_;

  std::unordered_map<std::uint32_t, model::ThreadId> thread_rows_;
  std::size_t stack_rows_ = 0, frame_rows_ = 0;  // that its stacks took in the profile
  std::uint64_t stacks_refused_ = 0, threads_refused_ = 0, unknown_threads_ = 0;
  std::uint64_t last_allocations_ = 0, last_publish_ns_ = 0;
  std::uint64_t start_ns_ = 0, next_summary_ns_ = 0;
};

}  // namespace fathom::session
