#include "linux/perf/sampler.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <iterator>
#include <set>
#include <thread>

#include "linux/perf/event.h"
#include "linux/perf/side_band.h"
#include "linux/process/threads.h"

namespace fathom::sources {
namespace {

perf_event_attr sampling_attributes(const PerfSamplerOptions& options, bool with_kernel) {
  perf_event_attr attributes = base_attributes();
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  attributes.freq = 1;
  attributes.sample_freq = options.frequency_hz;
  attributes.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  attributes.sample_regs_user = RecordDecoder::kUserRegisters;
  attributes.sample_stack_user = options.stack_bytes;
  attributes.inherit = 1;
  attributes.watermark = 1;
  if (with_kernel) {
    attributes.sample_type |= PERF_SAMPLE_CALLCHAIN;
    attributes.exclude_callchain_user = 1;
  } else {
    attributes.exclude_kernel = 1;
  }
  attributes.exclude_hv = 1;
  attributes.context_switch = options.switches;
  if (options.start_on_exec) {
    attributes.disabled = 1;
    attributes.enable_on_exec = 1;
  }
  report_tasks(attributes);
  return attributes;
}

// An event that does nothing but own the ring of its CPU: it is attached to ourselves, so that the ring does
// not depend on which of the target's threads ends first.
Result<Fd> open_ring_owner(int cpu, std::size_t ring_bytes) {
  perf_event_attr attributes = base_attributes();
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.watermark = 1;
  attributes.wakeup_watermark = static_cast<std::uint32_t>(ring_bytes / 8);
  return open_event(attributes, 0, cpu, "ring owner");
}

// One event for each thread and CPU takes one descriptor each, and the usual soft limit is 1024.
void allow_descriptors(std::size_t count) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count) return;
  limit.rlim_cur = std::min<rlim_t>(count, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);  // if that is refused, opening reports it, with the remedy
}

}  // namespace

Result<PerfSampler> PerfSampler::open(int pid, const PerfSamplerOptions& options) {
  if (options.stack_bytes == 0 || options.stack_bytes % 8 != 0 || options.stack_bytes > kMaxStackBytes)
    return fail(ErrorKind::kUsage,
                fmt::format("stack size {}: a multiple of 8 up to {}", options.stack_bytes, kMaxStackBytes));
  const std::vector<int> cpus = options.cpus.empty() ? online_cpus() : options.cpus;
  auto threads = process::read_thread_ids(pid);
  if (!threads) return tl::unexpected(threads.error());
  allow_descriptors((threads->size() + 16) * cpus.size() + 256);

  // Whether the kernel side is allowed depends on settings, capabilities and security modules: try.
  bool with_kernel = true;
  if (auto probe =
          open_event(sampling_attributes(options, true), pid, cpus.front(), "samples with kernel side");
      !probe) {
    if (probe.error().kind != ErrorKind::kPermission) return tl::unexpected(probe.error());
    with_kernel = false;
  }
  const perf_event_attr attributes = sampling_attributes(options, with_kernel);

  // A ring that holds fewer than two records loses every other one.
  const std::size_t least_bytes = std::bit_ceil(std::size_t{2} * (options.stack_bytes + 1024));
  auto rings =
      RingSet::open(RecordDecoder(attributes), std::max(std::bit_floor(options.ring_bytes), least_bytes),
                    least_bytes, open_ring_owner, cpus);
  if (!rings) return tl::unexpected(rings.error());
  PerfSampler sampler(std::move(*rings), attributes, with_kernel);
  if (auto added = sampler.add_threads(pid); !added) return tl::unexpected(added.error());
  return sampler;
}

Result<> PerfSampler::add_threads(int pid) {
  // A thread that starts meanwhile either inherits its events, and then the ring reports its start, or its
  // creator had none yet, and it needs its own. Having both would count it twice.
  constexpr int kMaxRounds = 10;
  std::set<int> covered;
  for (int round = 0; round < kMaxRounds; ++round) {
    auto tids = process::read_thread_ids(pid);
    if (!tids) return tl::unexpected(tids.error());
    const auto is_covered = [&](int tid) { return covered.count(tid) != 0; };
    if (std::all_of(tids->begin(), tids->end(), is_covered)) return {};
    if (round > 0) {
      // The record is written shortly after the thread can be seen in /proc.
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      rings_.drain(early_);
      for (const Event& event : early_) {
        if (const auto* started = std::get_if<ThreadStarted>(&event)) covered.insert(started->tid);
      }
    }
    for (int tid : *tids) {
      if (is_covered(tid)) continue;
      if (auto added = add_thread(tid); !added) {
        if (added.error().kind != ErrorKind::kNotFound) return added;
        continue;  // it has ended
      }
      covered.insert(tid);
    }
  }
  return {};
}

Result<> PerfSampler::add_thread(int tid) {
  for (int cpu : rings_.cpus())
    if (auto added = add_event(tid, cpu, attributes_); !added) return added;
  return {};
}

Result<> PerfSampler::add_event(int tid, int cpu, const perf_event_attr& attributes) {
  auto event = open_event(attributes, tid, cpu, fmt::format("samples of thread {}", tid));
  if (!event) return tl::unexpected(event.error());
  if (auto redirected = redirect_output(event->get(), rings_.fd_of(cpu)); !redirected) return redirected;
  events_.push_back(std::move(*event));
  return {};
}

Result<> PerfSampler::add_cpu(int cpu, std::span<const int> tids) {
  if (rings_.fd_of(cpu) >= 0) return {};
  allow_descriptors(events_.size() + tids.size() + 256);
  if (auto added = rings_.add_cpu(cpu, open_ring_owner); !added) return added;
  perf_event_attr attributes = attributes_;  // the program was executed long ago
  attributes.disabled = attributes.enable_on_exec = 0;
  Result<> first_refusal;
  for (const int tid : tids) {
    auto added = add_event(tid, cpu, attributes);
    // One that has ended, or may not be sampled: the others may.
    if (!added && added.error().kind != ErrorKind::kNotFound && first_refusal)
      first_refusal = std::move(added);
  }
  return first_refusal;
}

void PerfSampler::drain(std::vector<Event>& out) {
  out.insert(out.end(), std::move_iterator(early_.begin()), std::move_iterator(early_.end()));
  early_.clear();
  rings_.drain(out);
}

void PerfSampler::stop() {
  for (const Fd& event : events_) ::ioctl(event.get(), PERF_EVENT_IOC_DISABLE, 0);  // inherited ones as well
}

}  // namespace fathom::sources
