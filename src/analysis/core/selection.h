// Which samples a report looks at. What is left out is counted, so that recorded = shown + filtered + lost
// holds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/core/stack_choice.h"
#include "model/profile.h"

namespace fathom::analysis {

// What the values of heap metrics count.
enum class HeapUnit : std::uint8_t {
  kOfMetric,  // bytes, but for heap-allocations and short lives, which are counted
  kBytes,
  kBlocks,
};

// Sizes of blocks by powers of two, as model::HeapHistogram counts them: buckets `first` up to, without it, `end`.
struct SizeBuckets {
  std::uint8_t first = 0, end = 65;
};

struct Selection {
  model::Metric metric = model::Metric::kCpu;
  std::optional<std::string> thread = {};  // exact name, or a thread id in digits
  std::optional<std::int32_t> pid = {};
  std::optional<std::uint64_t> from_ns = {};  // from the start of the recording
  std::optional<std::uint64_t> to_ns = {};    // exclusive
  HeapUnit heap_unit = HeapUnit::kOfMetric;
  // Heap: whether containers at the leaf (container_frames.h) are taken away as the allocator's own
  // frames always are. Not said: in tables of who wanted the memory, but not in stacks.
  std::optional<bool> fold_containers = {};
  bool fold_plumbing = true;  // false: no frame is taken away, not even the allocator's own
  std::shared_ptr<const StackChoice> stacks = {};  // of the same profile; nullptr: all
  // Heap: only sites that asked for blocks of these sizes, with all that they asked for. Threads of one name, and stacks that
  // differ in the allocator's own calls alone, are one site here.
  std::optional<SizeBuckets> asked_sizes = {};
  bool tracer = false;     // CPU samples in fathom's own heap tracer (tracer_frames.h) are taken, too
  bool fold_idle = false;  // waits that are no problem (idle.h) become one frame per thread
};

// Answers for one profile which samples are selected; threads are looked up once. `profile` outlives it.
class Filter {
 public:
  Filter(const model::Profile& profile, const Selection& selection);
  bool takes(const model::Sample& sample) const { return takes_all(sample) && !is_tracers(sample.stack); }
  // Would be taken, if it were not time of fathom's heap tracer.
  bool is_left_to_tracer(const model::Sample& sample) const {
    return is_tracers(sample.stack) && takes_all(sample);
  }
  // Those of the tracer, too.
  bool takes_all(const model::Sample& sample) const {
    return concerns(sample) && sample.time_ns >= from_ns_ && sample.time_ns < to_ns_ &&
           threads_[sample.thread.value] != 0 && takes_stack(sample.stack);
  }
  // Of the same metric, whether taken or not.
  bool concerns(const model::Sample& sample) const {
    return sample.metric == metric_ ||
           (metric_ == model::Metric::kWall &&
            (sample.metric == model::Metric::kCpu || sample.metric == model::Metric::kOffCpu));
  }
  bool takes_thread(model::ThreadId thread) const { return threads_[thread.value] != 0; }
  bool takes_stack(model::StackId stack) const {
    return stacks_ == nullptr || stacks_->takes(stacks_->marks[stack.value]);
  }
  bool takes_time(std::uint64_t time_ns) const { return time_ns >= from_ns_ && time_ns < to_ns_; }
  bool is_before(std::uint64_t time_ns) const { return time_ns < from_ns_; }
  // How much of [start, start + length) lies in the window. The end must fit into 64 bits.
  std::uint64_t inside(std::uint64_t start_ns, std::uint64_t length_ns) const {
    const std::uint64_t first = start_ns < from_ns_ ? from_ns_ : start_ns;
    const std::uint64_t end = start_ns + length_ns < to_ns_ ? start_ns + length_ns : to_ns_;
    return end > first ? end - first : 0;
  }

 private:
  bool is_tracers(model::StackId stack) const { return !tracers_.empty() && tracers_[stack.value] != 0; }

  model::Metric metric_;
  std::uint64_t from_ns_ = 0;
  std::uint64_t to_ns_ = UINT64_MAX;
  std::vector<char> threads_;
  std::vector<char> tracers_;  // by stack; empty: none is left out
  std::shared_ptr<const StackChoice> stacks_;
};

// Lets values through as long as all of them together fit into 64 bits, and cuts what does not: sums over any
// number of them cannot overflow afterwards. Values of real recordings never come near; those of broken files
// do.
class ValueBudget {
 public:
  std::int64_t take(std::int64_t value) {
    const std::int64_t taken = value < -left_ ? -left_ : value > left_ ? left_ : value;
    left_ -= taken < 0 ? -taken : taken;
    return taken;
  }

 private:
  std::int64_t left_ = INT64_MAX;
};

// The metrics that have samples, waits or heap rows, in the order of the enum. Waits give off-cpu and wall.
std::vector<model::Metric> metrics_in(const model::Profile& profile);

// CPU time that one sample of metric cpu stands for; 0 if the rate is unknown. 1 for imported clock events,
// whose values are nanoseconds already.
double sample_period_ns(const model::Profile& profile);

// What the values count: the metric's unit, unless an importer learnt better from its input
// (meta.facts["unit"]).
std::string unit_of(const model::Profile& profile, model::Metric metric);
// The same where the selection may ask for another one: "bytes" or "blocks" of heap metrics.
std::string unit_of(const model::Profile& profile, const Selection& selection);

}  // namespace fathom::analysis
