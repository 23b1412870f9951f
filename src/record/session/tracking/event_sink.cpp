#include "record/session/tracking/event_sink.h"

#include <algorithm>

#include "base/abi/walk.h"

namespace fathom::session {
namespace {

constexpr std::size_t kMaxOrphans = 100'000;

// A walk that ended because there was nothing more to walk.
bool is_complete(std::uint8_t end) {
  return end == WALK_ROOT || end == WALK_KERNEL_THREAD || end == WALK_EXITING;
}

// The place of an event among the others of its batch: for a wait, when it was over.
struct EventTime {
  std::uint64_t operator()(const sources::Event& event) const {
    if (const auto* wait = std::get_if<sources::Waited>(&event))
      return wait->out_ns + wait->waited_ns + wait->queued_ns;
    return std::visit([](const auto& e) { return time_of(e); }, event);
  }
  template <class E>
  static std::uint64_t time_of(const E& event) {
    if constexpr (requires { event.time_ns; })
      return event.time_ns;
    else
      return 0;
  }
};
constexpr EventTime event_time;

model::WaitState wait_state(std::uint32_t state) {
  // enum of include/linux/sched.h; a killable or freezable wait has more bits set.
  if (state == 0) return model::WaitState::kPreempted;
  if (state & 1) return model::WaitState::kInterruptible;
  if (state & 2) return model::WaitState::kUninterruptible;
  if (state & 4) return model::WaitState::kStopped;
  if (state & 8) return model::WaitState::kTraced;
  return model::WaitState::kOther;
}

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

}  // namespace

EventSink::EventSink(model::Profile& profile, ProcessTable& processes, StackResolver& stacks,
                     std::size_t known_stacks)
    : profile_(profile),
      processes_(processes),
      resolver_(stacks),
      objects_(profile),
      known_stacks_(known_stacks) {}

void EventSink::take(Batch& batch) {
  std::size_t next = 0;
  const auto catch_up = [&](std::uint64_t time_ns) {
    while (next < batch.side_band.size() && sources::time_of(batch.side_band[next]) <= time_ns) {
      const auto& event = batch.side_band[next++];
      processes_.apply(event);
      if (const auto* lost = std::get_if<sources::Lost>(&event)) {
        profile_.quality.lost_records += lost->count;
        for (const std::int32_t pid : processes_.pids()) doubtful_[pid] = true;
      }
      if (const auto* throttled = std::get_if<sources::Throttled>(&event);
          throttled != nullptr && throttled->on)
        ++profile_.quality.lost_throttled;
    }
  };
  // Rings are drained one after the other; a stack comes before what it is the stack of, which is never
  // earlier.
  std::ranges::stable_sort(batch.samples, {}, event_time);
  const auto timed = [&](const auto& event) {
    catch_up(event.time_ns);
    on(event);
  };
  // A handler for each kind: a new kind of event does not compile until it has one.
  const Overloaded handlers{
      [&](const sources::StackSeen& event) { timed(event); },
      [&](const sources::StackCopied& event) { timed(event); },
      [&](const sources::StackSample& event) { timed(event); },
      [&](const sources::CopiedStackSample& event) { timed(event); },
      [&](const sources::MemoryCall& event) { timed(event); },
      [&](const sources::HeapProbed& event) { timed(event); },
      [&](const sources::PageFault& event) { timed(event); },
      [&](const sources::FatalSignal& event) { timed(event); },
      [&](const sources::ThreadWaitTime& event) { timed(event); },  // it may have begun in this batch
      [&](const sources::Waited& event) {
        catch_up(event.out_ns);
        on(event);
      },
      [&](const sources::ThreadCpuTime& event) {
        ended_threads_.push_back(event);
        processes_.walked_thread_ended(event.pid, event.tid, event.time_ns);
      },
      [&](const sources::Lost& event) { profile_.quality.lost_records += event.count; },
      // Sources sort these into the side band, or into waits.
      [](const sources::ProcessForked&) {},
      [](const sources::ProcessExeced&) {},
      [](const sources::ThreadStarted&) {},
      [](const sources::ThreadEnded&) {},
      [](const sources::ThreadNamed&) {},
      [](const sources::MemoryMapped&) {},
      [](const sources::ThreadSwitched&) {},
      [](const sources::Throttled&) {},
  };
  for (const sources::Event& event : batch.samples) std::visit(handlers, event);
  catch_up(UINT64_MAX);
  waits_without_stack_.clear();
  batch.samples.clear();
  batch.side_band.clear();
  update_early_ends();
}

void EventSink::know_stack(std::uint64_t id, const ResolvedStack& stack) {
  if (stacks_.size() >= known_stacks_) older_stacks_ = std::exchange(stacks_, {});
  stacks_[id] = stack;
}

const ResolvedStack* EventSink::find_stack(std::uint64_t id) {
  if (const auto known = stacks_.find(id); known != stacks_.end()) return &known->second;
  const auto older = older_stacks_.find(id);
  if (older == older_stacks_.end()) return nullptr;
  const ResolvedStack stack = older->second;
  know_stack(id, stack);
  return &stacks_[id];
}

void EventSink::on(const sources::StackSeen& event) {
  const ResolvedStack stack = resolver_.resolve(event);
  know_stack(event.stack_id, stack);
  if (event.end == WALK_NO_MAPPING) doubtful_[event.pid] = true;
  if (const auto waits = waits_without_stack_.find(event.stack_id); waits != waits_without_stack_.end()) {
    for (const std::size_t row : waits->second) {
      profile_.waits[row].stack = stack.stack;
      profile_.waits[row].end = stack.end;
    }
    waits_without_stack_.erase(waits);
  }
  const auto waiting = orphans_.find(event.stack_id);
  if (waiting == orphans_.end()) return;
  for (const auto& sample : waiting->second) add_sample(sample, stack);
  orphan_count_ -= waiting->second.size();
  orphans_.erase(waiting);
}

// Its mappings are known by now, as they were made before it.
void EventSink::on(const sources::StackCopied& event) {
  sources::StackSeen seen = event.seen;
  walker_.walk(event, seen);
  on(seen);
}

void EventSink::on(const sources::StackSample& event) {
  if (const ResolvedStack* stack = find_stack(event.stack_id)) {
    add_sample(event, *stack);
  } else if (orphan_count_ < kMaxOrphans) {
    orphans_[event.stack_id].push_back(event);
    ++orphan_count_;
  } else {
    ++profile_.quality.lost_stack;
  }
}

void EventSink::on(const sources::CopiedStackSample& event) {
  if (!processes_.is_recorded(event.pid)) return;  // a child that is not followed
  sources::StackSeen seen;
  sources::StackSample sample;
  walker_.walk(event, seen, sample);
  if (find_stack(seen.stack_id) == nullptr) on(seen);
  on(sample);
}

void EventSink::add_sample(const sources::StackSample& event, const ResolvedStack& stack) {
  model::Sample sample;
  sample.time_ns = event.time_ns;
  sample.value = event.value;
  sample.thread = processes_.thread_row(stack.pid, event.tid);
  sample.stack = stack.stack;
  sample.cpu = event.cpu;
  sample.metric = event.kind == sources::SampleKind::kCpu ? model::Metric::kCpu : model::Metric::kOffCpu;
  sample.end = stack.end;
  profile_.samples.push_back(sample);
  ++profile_.quality.samples;
  if (is_complete(stack.end))
    ++profile_.quality.complete;
  else
    ++early_ends_[{stack.end, stack.end_module.value}];
}

model::ThreadId EventSink::waker_row(const sources::Waited& event) {
  if (event.waker_tid == 0 || event.waker_pid == 0) return model::kNoThread;
  if (processes_.is_recorded(event.waker_pid)) return processes_.thread_row(event.waker_pid, event.waker_tid);
  return processes_.foreign_thread_row(event.waker_pid, event.waker_tid);
}

void EventSink::on(const sources::Waited& event) {
  const ResolvedStack* stack = find_stack(event.stack_id);
  model::Wait wait;
  wait.start_ns = event.out_ns;
  wait.waited_ns = event.waited_ns;
  wait.queued_ns = event.queued_ns;
  wait.thread = processes_.thread_row(event.pid, event.tid);
  // The kernel takes a thread apart after its end is reported, and may take its CPU away meanwhile: that is no time of its life.
  const model::Thread& thread = profile_.threads[wait.thread.value];
  if (thread.tid == event.tid && thread.end_ns != 0 && event.out_ns >= thread.end_ns) return;
  if (stack) {
    wait.stack = stack->stack;
    wait.end = stack->end;
  } else if (event.stack_id != 0) {  // 0: it ended before anybody looked where it stood
    waits_without_stack_[event.stack_id].push_back(profile_.waits.size());
  }
  if (const ResolvedStack* waker = find_stack(event.waker_stack_id)) wait.waker_stack = waker->stack;
  wait.waker = waker_row(event);
  wait.system_call = event.system_call;
  if (event.result) wait.result = *event.result;
  wait.weight = event.weight;
  wait.state = wait_state(event.state);
  wait.throttled = event.throttled;
  wait.began_before = event.began_before || event.out_ns <= profile_.meta.start_ns;
  wait.unfinished = event.unfinished;
  const auto found = objects_.find(event, processes_.shares_row(event.pid));
  wait.object = found.object;
  wait.argument = found.argument;
  profile_.waits.push_back(wait);
  ++profile_.quality.waits;
}

void EventSink::on(const sources::MemoryCall& event) {
  const ResolvedStack* stack = find_stack(event.stack_id);
  memory_calls_.push_back({event, stack == nullptr ? ResolvedStack{} : *stack});
}

void EventSink::on(const sources::HeapProbed& event) {
  const ResolvedStack* stack = find_stack(event.stack_id);
  heap_probed_.push_back({event, stack == nullptr ? ResolvedStack{} : *stack});
}

void EventSink::on(const sources::FatalSignal& event) {
  const ResolvedStack* stack = find_stack(event.stack_id);
  fatal_signals_.push_back({event, stack == nullptr ? ResolvedStack{} : *stack});
}

void EventSink::on(const sources::PageFault& event) {
  model::Fault fault;
  fault.time_ns = event.time_ns;
  fault.thread = processes_.thread_row(event.pid, event.tid);
  if (const ResolvedStack* stack = find_stack(event.stack_id)) {
    fault.stack = stack->stack;
    fault.end = stack->end;
  }
  const auto page = objects_.page(event.pid, event.address, event.time_ns, processes_.shares_row(event.pid));
  fault.object = page.object;
  fault.offset = page.argument;
  fault.weight = event.weight;
  fault.major = event.major;
  profile_.faults.push_back(fault);
}

void EventSink::on(const sources::ThreadWaitTime& event) {
  const auto unwalked = processes_.book_times(event);
  profile_.quality.unwalked_waits += unwalked.waits;
  profile_.quality.unwalked_ns += unwalked.ns;
}

void EventSink::finish() {
  profile_.quality.lost_stack += orphan_count_;
  orphans_.clear();
  orphan_count_ = 0;
}

void EventSink::update_early_ends() {
  if (early_ends_.empty()) return;
  auto& ends = profile_.quality.early_ends;
  ends.clear();
  for (const auto& [where, count] : early_ends_)
    ends.push_back({where.first, model::ModuleId{where.second}, count});
}

void EventSink::forget_ended(std::uint64_t before_ns) {
  processes_.forget_ended(before_ns);
  for (const std::int32_t pid : processes_.take_forgotten()) {
    objects_.forget(pid);
    walker_.forget(pid);
  }
}

std::vector<std::int32_t> EventSink::take_doubtful_processes() {
  std::vector<std::int32_t> pids;
  for (const auto& [pid, doubtful] : doubtful_) pids.push_back(pid);
  doubtful_.clear();
  return pids;
}

std::vector<sources::ThreadCpuTime> EventSink::take_ended_threads() {
  return std::exchange(ended_threads_, {});
}

}  // namespace fathom::session
