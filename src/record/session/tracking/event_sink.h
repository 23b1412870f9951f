// Takes batches of events and turns them into rows of the profile: merges samples and side band by time, so
// that every address is looked up among the mappings that held when it was sampled; keeps the counts of what
// was complete, cut or lost.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/profile.h"
#include "record/session/tracking/copied_stack_walker.h"
#include "record/session/tracking/process_table.h"
#include "record/session/tracking/source.h"
#include "record/session/tracking/stack_resolver.h"
#include "record/session/waits/wait_objects.h"

namespace fathom::session {

class EventSink {
 public:
  // Every process has its own stacks, so most belong to ended processes. Those that did not recur while that
  // many others came are forgotten; the kernel remembers 131,072 by hash, so it sends nearly all of them
  // again if they recur.
  static constexpr std::size_t kKnownStacks = 250'000;

  EventSink(model::Profile& profile, ProcessTable& processes, StackResolver& stacks,
            std::size_t known_stacks = kKnownStacks);

  void take(Batch& batch);
  // A wait that user space has found by itself: in progress when the recording began or ended.
  void take(const sources::Waited& wait) { on(wait); }
  void take(const sources::ThreadWaitTime& times) { on(times); }
  // Forgets processes and threads that ended before this, and all data about them.
  void forget_ended(std::uint64_t before_ns);
  // Of a stack that has arrived.
  std::optional<ResolvedStack> stack_of(std::uint64_t id) {
    const ResolvedStack* stack = find_stack(id);
    return stack == nullptr ? std::nullopt : std::optional(*stack);
  }
  // For tests: how much is remembered in addition to the rows.
  std::size_t remembered() const {
    return stacks_.size() + older_stacks_.size() + orphans_.size() + doubtful_.size() +
           objects_.remembered() + walker_.remembered();
  }
  // At the end: samples whose stack never arrived are lost.
  void finish();

  // A walk left all known mappings, or records were lost: the mappings of these processes should be read
  // again.
  std::vector<std::int32_t> take_doubtful_processes();
  // Calls that took or gave back address space since the last call, in time order.
  struct MemoryCall {
    sources::MemoryCall call;
    ResolvedStack stack;  // empty: not walked, or lost
  };
  std::vector<MemoryCall> take_memory_calls() { return std::exchange(memory_calls_, {}); }
  // Likewise, the heap events of processes at their own probes.
  struct HeapProbed {
    sources::HeapProbed probed;
    ResolvedStack stack;  // empty: not walked, or lost
  };
  std::vector<HeapProbed> take_heap_probed() { return std::exchange(heap_probed_, {}); }
  // Likewise, the signals that ended programs.
  struct FatalSignal {
    sources::FatalSignal taken;
    ResolvedStack stack;  // empty: not walked, or lost
  };
  std::vector<FatalSignal> take_fatal_signals() { return std::exchange(fatal_signals_, {}); }
  // CPU time of threads that ended since the last call.
  std::vector<sources::ThreadCpuTime> take_ended_threads();

 private:
  void on(const sources::StackSeen& event);
  void on(const sources::StackCopied& event);
  void on(const sources::StackSample& event);
  void on(const sources::CopiedStackSample& event);
  void on(const sources::Waited& event);
  void on(const sources::MemoryCall& event);
  void on(const sources::HeapProbed& event);
  void on(const sources::FatalSignal& event);
  void on(const sources::ThreadWaitTime& event);
  void on(const sources::PageFault& event);
  model::ThreadId waker_row(const sources::Waited& event);
  void add_sample(const sources::StackSample& event, const ResolvedStack& stack);
  void update_early_ends();
  void know_stack(std::uint64_t id, const ResolvedStack& stack);
  // Valid until the next stack is known.
  const ResolvedStack* find_stack(std::uint64_t id);

  model::Profile& profile_;
  ProcessTable& processes_;
  StackResolver& resolver_;
  CopiedStackWalker walker_{processes_};
  WaitObjects objects_;
  std::size_t known_stacks_;
  std::unordered_map<std::uint64_t, ResolvedStack> stacks_, older_stacks_;  // by stack id
  std::unordered_map<std::uint64_t, std::vector<sources::StackSample>>
      orphans_;  // their stack is still to come
  std::size_t orphan_count_ = 0;
  // Rows of profile_.waits whose stack may still come in this batch: one that was looked at from outside began before.
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> waits_without_stack_;
  std::map<std::pair<std::uint8_t, std::uint32_t>, std::uint64_t> early_ends_;  // reason, module
  std::map<std::int32_t, bool> doubtful_;
  std::vector<sources::ThreadCpuTime> ended_threads_;
  std::vector<MemoryCall> memory_calls_;
  std::vector<HeapProbed> heap_probed_;
  std::vector<FatalSignal> fatal_signals_;
};

}  // namespace fathom::session
