#include "tools/stacks/live/running_stacks.h"

#include <fmt/format.h>

#include <optional>
#include <variant>

#include "linux/perf/event.h"

namespace fathom::stacks {
namespace {

constexpr std::uint32_t kFrequencyHz = 999;
constexpr std::uint32_t kStackBytes = 48 * 1024;
// Holds one record; a thread is done with its first.
constexpr std::size_t kRingBytes = 64 * 1024;
constexpr std::size_t kMostThreads = 64;

perf_event_attr attributes_with(bool kernel) {
  perf_event_attr attributes = sources::base_attributes();
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  attributes.freq = 1;
  attributes.sample_freq = kFrequencyHz;
  attributes.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  attributes.sample_regs_user = sources::RecordDecoder::kUserRegisters;
  attributes.sample_stack_user = kStackBytes;
  attributes.exclude_hv = 1;
  if (kernel) {
    attributes.sample_type |= PERF_SAMPLE_CALLCHAIN;
    attributes.exclude_callchain_user = 1;
  } else {
    attributes.exclude_kernel = 1;
  }
  return attributes;
}

}  // namespace

Result<RunningStacks> RunningStacks::open(const std::vector<std::int32_t>& tids) {
  std::optional<RunningStacks> stacks;
  Error refusal{ErrorKind::kNotFound, "the threads have ended", ""};
  for (const bool kernel : {true, false}) {
    const perf_event_attr attributes = attributes_with(kernel);
    RunningStacks tried(attributes);
    for (const std::int32_t tid : tids) {
      if (tried.threads_.size() == kMostThreads) break;
      auto event = sources::open_event(attributes, tid, -1, fmt::format("samples of thread {}", tid));
      if (!event) {
        if (event.error().kind != ErrorKind::kNotFound) refusal = event.error();
        if (event.error().kind == ErrorKind::kPermission) break;
        continue;
      }
      auto ring = sources::PerfRing::map(event->get(), kRingBytes);
      if (!ring) {
        refusal = ring.error();
        break;
      }
      tried.threads_.emplace(tid, Thread{std::move(*event), std::move(*ring)});
    }
    if (!tried.threads_.empty()) return tried;
    if (refusal.kind != ErrorKind::kPermission) break;
  }
  return tl::unexpected<Error>(refusal);
}

std::vector<sources::CopiedStackSample> RunningStacks::take() {
  std::vector<sources::CopiedStackSample> samples;
  for (auto thread = threads_.begin(); thread != threads_.end();) {
    bool seen = false;
    thread->second.ring.drain([&](std::span<const std::byte> record) {
      auto event = decoder_.decode(record, 0);
      if (seen || !event || !*event) return;
      auto* sample = std::get_if<sources::CopiedStackSample>(&**event);
      if (sample == nullptr || sample->tid != thread->first) return;
      samples.push_back(std::move(*sample));
      seen = true;
    });
    thread = seen ? threads_.erase(thread) : std::next(thread);
  }
  return samples;
}

}  // namespace fathom::stacks
