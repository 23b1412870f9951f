#include "record/bpf/cpu_sampling.h"

#include <bpf/libbpf.h>

#include "bpf_skeleton/fathom_bpf.skel.h"
#include "linux/perf/event.h"

namespace fathom::sources {

void CpuSampling::configure(fathom_bpf& skeleton) {
  skeleton_ = &skeleton;
  bpf_program__set_autoload(skeleton.progs.sample_cpu, true);
  bpf_map__set_max_entries(skeleton.maps.cpu_seen, SEEN_SLOTS);
}

// Per CPU, for all processes: an event of one process is armed and disarmed at each of its context switches,
// which was measured to cost ten times as much as the program's look at processes that are not recorded.
Result<> CpuSampling::add_cpu(int cpu, int output_fd) {
  perf_event_attr attributes = base_attributes();
  if (event_ == "cycles") {
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.config = PERF_COUNT_HW_CPU_CYCLES;
  } else {
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  }
  attributes.freq = 1;
  attributes.sample_freq = frequency_hz_;
  attributes.exclude_idle = 1;
  attributes.disabled = 1;
  return events_.add(cpu, attributes, skeleton_->progs.sample_cpu, event_, output_fd);
}

// The kernel turns the rate of a clock event into a period when the event is made, and takes only periods from then on
// (perf_swevent_init_hrtimer); a counter keeps its rate.
bool CpuSampling::set_frequency(std::uint32_t frequency_hz) {
  if (frequency_hz == 0) return false;
  if (!events_.set_period(event_ == "cycles" ? frequency_hz : 1'000'000'000 / frequency_hz)) return false;
  frequency_hz_ = frequency_hz;
  return true;
}

cpu_counters CpuSampling::counters() const {
  cpu_counters sum{};
  for (const auto& value : values_of_cpus<cpu_counters>(skeleton_->maps.cpu_counters)) {
    sum.samples += value.samples;
    sum.lost_ring_full += value.lost_ring_full;
    sum.stacks_sent += value.stacks_sent;
    sum.stacks_not_sent += value.stacks_not_sent;
    sum.kernel_truncated += value.kernel_truncated;
    sum.runs += value.runs;
    sum.run_ns += value.run_ns;
  }
  return sum;
}

}  // namespace fathom::sources
