#include "record/bpf/bpf_kernel_events.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/files.h"
#include "bpf_skeleton/fathom_bpf.skel.h"
#include "linux/perf/event.h"

namespace fathom::sources {

void BpfKernelEvents::configure(fathom_bpf& skeleton) {
  skeleton_ = &skeleton;
  bpf_program__set_autoload(skeleton.progs.kernel_event_counted, true);
  bpf_program__set_autoload(skeleton.progs.kernel_event_passed, true);
  const auto count = static_cast<std::uint32_t>(events_.size());
  bpf_map__set_max_entries(skeleton.maps.kernel_events_wanted, count);
  bpf_map__set_max_entries(skeleton.maps.kernel_event_states, count);
  bpf_map__set_max_entries(skeleton.maps.kernel_event_ring, KERNEL_EVENT_RING);
}

std::uint64_t BpfKernelEvents::kernel_memory_bytes() const {
  return KERNEL_EVENT_RING +
         events_.size() * (sizeof(kernel_event_wanted) + possible_cpus() * sizeof(kernel_event_state));
}

Result<> BpfKernelEvents::set_wanted() {
  const int map = bpf_map__fd(skeleton_->maps.kernel_events_wanted);
  for (std::uint32_t i = 0; i < events_.size(); ++i) {
    const NamedEvent& event = events_[i];
    kernel_event_wanted wanted{};
    constexpr std::uint32_t kWindowsPerSecond = 1'000'000'000 / KERNEL_EVENT_WINDOW_NS;
    if (event.period == 0) wanted.budget = std::max(1u, stacks_per_second_ / kWindowsPerSecond);
    wanted.field_offset = event.field.offset;
    wanted.field_size = event.field.size;
    wanted.field_signed = event.field.is_signed ? 1 : 0;
    if (bpf_map_update_elem(map, &i, &wanted, BPF_ANY) != 0) return system_error("bpf: an event", errno);
  }
  return {};
}

// A tracepoint has its program for all CPUs and processes, whichever event brought it there.
Result<> BpfKernelEvents::attach() {
  if (auto set = set_wanted(); !set) return set;
  last_sums_.reset();
  if (!ring_) {
    const auto keep = [](void* self, void* data, std::size_t size) {
      kernel_event_record record{};
      if (size < sizeof record) return 0;
      std::memcpy(&record, data, sizeof record);
      auto& events = *static_cast<BpfKernelEvents*>(self);
      if (record.event < events.events_.size()) events.taken_.push_back(record);
      return 0;
    };
    ring_.reset(ring_buffer__new(bpf_map__fd(skeleton_->maps.kernel_event_ring), keep, this, nullptr));
    if (!ring_) return system_error("bpf: the ring of events", errno);
  }
  const int any_cpu = online_cpus().front();
  for (std::size_t i = 0; i < events_.size(); ++i) {
    if (events_[i].type != PERF_TYPE_TRACEPOINT) continue;
    perf_event_attr attributes = base_attributes();
    attributes.type = PERF_TYPE_TRACEPOINT;
    attributes.config = events_[i].config;
    attributes.sample_period = 1;
    attributes.disabled = 1;
    auto opened = open_event(attributes, -1, any_cpu, events_[i].name);
    if (!opened) return tl::unexpected<Error>(opened.error());
    Passed passed{std::move(*opened), nullptr};
    LIBBPF_OPTS(bpf_perf_event_opts, options, .bpf_cookie = i);
    passed.link.reset(bpf_program__attach_perf_event_opts(skeleton_->progs.kernel_event_passed,
                                                          passed.event.get(), &options));
    if (passed.link == nullptr) return system_error("bpf: attaching to " + events_[i].name, errno);
    passed_.push_back(std::move(passed));
  }
  return {};
}

// For all processes, as the timer is.
Result<> BpfKernelEvents::add_cpu(int cpu, int output_fd) {
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const NamedEvent& event = events_[i];
    if (event.type == PERF_TYPE_TRACEPOINT) continue;
    perf_event_attr attributes = base_attributes();
    attributes.type = event.type;
    attributes.config = event.config;
    attributes.freq = event.frequency_hz != 0 ? 1 : 0;
    if (event.frequency_hz != 0)
      attributes.sample_freq = event.frequency_hz;
    else
      attributes.sample_period = std::max<std::uint64_t>(event.period, 1);
    attributes.disabled = 1;
    if (auto added = counted_.add(cpu, attributes, skeleton_->progs.kernel_event_counted, event.name,
                                  event.type == PERF_TYPE_HARDWARE ? output_fd : -1, i);
        !added)
      return added;
  }
  return {};
}

// The kernel takes 30 to 80 ms to let go of one tracepoint, which is seconds for all of "sched:*", and calls the programs of the
// others meanwhile. So what they count from here on is ignored.
void BpfKernelEvents::detach() {
  counted_.clear();
  if (ring_) (void)ring_buffer__consume(ring_.get());
  last_sums_ = read_sums();
}

std::vector<kernel_event_record> BpfKernelEvents::take() {
  if (ring_ && !last_sums_) (void)ring_buffer__consume(ring_.get());
  return std::exchange(taken_, {});
}

std::vector<KernelEventSums> BpfKernelEvents::sums() const {
  return last_sums_ ? *last_sums_ : read_sums();
}

std::vector<KernelEventSums> BpfKernelEvents::read_sums() const {
  std::vector<KernelEventSums> sums(events_.size());
  std::vector<kernel_event_state> cpus(possible_cpus());
  const int map = bpf_map__fd(skeleton_->maps.kernel_event_states);
  for (std::uint32_t i = 0; i < sums.size(); ++i) {
    if (bpf_map_lookup_elem(map, &i, cpus.data()) != 0) continue;
    for (const kernel_event_state& cpu : cpus) {
      sums[i].count += cpu.count;
      sums[i].value += cpu.value;
      sums[i].sent += cpu.sent;
      sums[i].lost += cpu.lost;
      sums[i].run_ns += cpu.run_ns;
    }
  }
  return sums;
}

void BpfKernelEvents::FreeRing::operator()(ring_buffer* ring) const {
  ring_buffer__free(ring);
}

}  // namespace fathom::sources
