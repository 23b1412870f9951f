// Attaching the event programs: to machine-wide events, and to the events of each CPU.
#include "base/abi/off_cpu_events.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "bpf_skeleton/fathom_bpf.skel.h"
#include "linux/perf/event.h"
#include "record/bpf/bpf_engine.h"

namespace fathom::sources {

Result<> BpfEngine::open_event(int cpu, const std::function<int(int cpu)>& output_fd) {
  perf_event_attr attributes = base_attributes();
  if (options_.event == "cycles") {
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.config = PERF_COUNT_HW_CPU_CYCLES;
  } else {
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  }
  attributes.freq = 1;
  attributes.sample_freq = options_.frequency_hz;
  attributes.exclude_idle = 1;
  attributes.disabled = 1;
  // Per CPU, for all processes: an event of one process is armed and disarmed at each of its context
  // switches, which was measured to cost ten times as much as the program's look at processes that are not
  // recorded.
  auto opened = sources::open_event(attributes, -1, cpu, options_.event);
  if (!opened) return tl::unexpected<Error>(opened.error());
  Fd fd = std::move(*opened);
  if (const int output = output_fd ? output_fd(cpu) : -1; output >= 0)
    (void)redirect_output(fd.get(), output);  // else throttling is only seen as missing samples
  bpf_link* link = bpf_program__attach_perf_event(skeleton_->progs.sample_cpu, fd.get());
  if (link == nullptr) return system_error("bpf: attaching to " + options_.event, errno);
  cpu_events_[cpu].links.push_back(link);
  cpu_events_[cpu].events.push_back(std::move(fd));
  return {};
}

// For all processes, as the timer is. An exact count of minor faults would be a walk for each page that a
// program ever touches.
Result<> BpfEngine::open_fault_events(int cpu) {
  for (const bool major : {true, false}) {
    perf_event_attr attributes = base_attributes();
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = major ? PERF_COUNT_SW_PAGE_FAULTS_MAJ : PERF_COUNT_SW_PAGE_FAULTS_MIN;
    attributes.sample_period = major ? 1 : MINOR_FAULTS_PER_EVENT;
    attributes.disabled = 1;
    auto opened = sources::open_event(attributes, -1, cpu, "page faults");
    if (!opened) return tl::unexpected<Error>(opened.error());
    Fd fd = std::move(*opened);
    bpf_link* link = bpf_program__attach_perf_event(skeleton_->progs.count_fault, fd.get());
    if (link == nullptr) return system_error("bpf: attaching to page faults", errno);
    cpu_events_[cpu].links.push_back(link);
    cpu_events_[cpu].events.push_back(std::move(fd));
  }
  return {};
}

Result<> BpfEngine::start(const std::function<int(int cpu)>& output_fd) {
  return start_on(online_cpus(), output_fd);
}

Result<> BpfEngine::rehearse() {
  const std::uint32_t nobody = 0;
  const int processes = bpf_map__fd(skeleton_->maps.processes);
  const tracked_process none{};
  if (bpf_map_update_elem(processes, &nobody, &none, BPF_ANY) != 0)
    return system_error("bpf: writing to a map", errno);
  (void)bpf_map_delete_elem(processes, &nobody);
  auto started = start_on({online_cpus().front()}, {});
  stop();
  return started;
}

Result<> BpfEngine::start_on(const std::vector<int>& cpus, const std::function<int(int cpu)>& output_fd) {
  __atomic_store_n(&skeleton_->bss->probes_ended, 0, __ATOMIC_SEQ_CST);  // a rehearsal ended, too
  std::vector<bpf_program*> programs = {skeleton_->progs.process_forked, skeleton_->progs.process_execed,
                                        skeleton_->progs.thread_exited};
  if (options_.off_cpu) {
    for (bpf_program* program :
         {skeleton_->progs.thread_born, skeleton_->progs.thread_execed, skeleton_->progs.thread_woken,
          skeleton_->progs.thread_ended, skeleton_->progs.thread_switched})
      programs.push_back(program);
  }
  for (bpf_program* program : programs) {
    bpf_link* link = bpf_program__attach(program);
    if (link == nullptr)
      return system_error(std::string("bpf: attaching ") + bpf_program__name(program), errno);
    links_.push_back(link);
  }
  if (options_.off_cpu) {  // a kernel without this tracepoint only cannot report which page a fault waited
                           // for
    if (bpf_link* link = bpf_program__attach(skeleton_->progs.page_faulted)) links_.push_back(link);
  }
  if (options_.mappings) {
    bpf_link* link = bpf_program__attach(skeleton_->progs.memory_changed);
    if (link == nullptr) return system_error("bpf: attaching memory_changed", errno);
    links_.push_back(link);
  }
  for (const int cpu : cpus) {
    if (auto added = add_cpu(cpu, output_fd); !added) return added;
  }
  if (options_.off_cpu) {
    newest_transfer_ns_ = monotonic_ns();
    watch_results();
  }
  return {};
}

Result<> BpfEngine::add_cpu(int cpu, const std::function<int(int cpu)>& output_fd) {
  if (options_.off_cpu)
    if (auto opened = open_fault_events(cpu); !opened) return opened;
  return options_.cpu ? open_event(cpu, output_fd) : Result<>();
}

void BpfEngine::remove_cpu(int cpu) {
  const auto events = cpu_events_.find(cpu);
  if (events == cpu_events_.end()) return;
  for (bpf_link* link : events->second.links) bpf_link__destroy(link);
  cpu_events_.erase(events);
}

// The program at the end of system calls runs for those of every process of the machine. So it is there only
// for the first two seconds, and while the target waits in calls that have a result: after a pause the first
// such waits, up to the next drain, have none.
void BpfEngine::watch_results() {
  constexpr std::uint64_t kPatienceNs = 2'000'000'000;
  const bool wanted = monotonic_ns() < newest_transfer_ns_ + kPatienceNs;
  if (wanted == (results_ != nullptr) || (wanted && results_refused_)) return;
  skeleton_->bss->results_wanted = wanted ? 1 : 0;
  if (wanted) {
    results_ = bpf_program__attach(skeleton_->progs.call_returned);
    results_refused_ = results_ == nullptr;
    if (results_refused_) skeleton_->bss->results_wanted = 0;
  } else {
    bpf_link__destroy(std::exchange(results_, nullptr));
  }
}

void BpfEngine::stop() {
  if (skeleton_ != nullptr) __atomic_store_n(&skeleton_->bss->probes_ended, 1, __ATOMIC_SEQ_CST);
  if (results_ != nullptr) bpf_link__destroy(std::exchange(results_, nullptr));
  for (void* link : links_) bpf_link__destroy(static_cast<bpf_link*>(link));
  links_.clear();
  remove_all_heap_probes();
  while (!cpu_events_.empty()) remove_cpu(cpu_events_.begin()->first);
}

}  // namespace fathom::sources
