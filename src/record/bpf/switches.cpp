#include "record/bpf/switches.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <utility>

#include "base/arch/call_numbers.h"
#include "base/clock.h"
#include "bpf_skeleton/fathom_bpf.skel.h"
#include "linux/perf/event.h"
#include "record/bpf/kernel_tracepoints.h"
#include "record/bpf/load_error.h"

namespace fathom::sources {
namespace {

// Whether a table of programs that trace may take its elements one by one. Before, it could wait for itself there.
bool takes_elements_by_need() {
  return kernel_is_at_least(6, 1);  // "bpf: Introduce any context BPF specific memory allocator"
}

}  // namespace

void Switches::configure(fathom_bpf& skeleton) {
  skeleton_ = &skeleton;
  auto& programs = skeleton.progs;
  for (bpf_program* program :
       {programs.thread_switched, programs.thread_born, programs.thread_execed, programs.thread_woken,
        programs.thread_ended, programs.page_faulted, programs.call_returned, programs.count_fault})
    bpf_program__set_autoload(program, true);
  if (!options_.older_programs) bpf_map__set_max_entries(skeleton.maps.thread_accounts, ACCOUNTS);
  bpf_map__set_max_entries(skeleton.maps.crowded_accounts, CROWDED_ACCOUNTS);
  if (takes_elements_by_need()) bpf_map__set_map_flags(skeleton.maps.crowded_accounts, BPF_F_NO_PREALLOC);
  auto& settings = *skeleton.rodata;
  walks_when_over_ =
      options_.walks_when_over && !options_.older_programs && kernel_has_tracepoint("sched_exit_tp");
  bpf_program__set_autoload(programs.thread_resumed, walks_when_over_);
  settings.walks_when_over = walks_when_over_ ? 1 : 0;
  settings.thread_budget = std::max(1u, options_.thread_walks_per_second / 10);
  // Walks by length are four times as good: what stands for others are short waits.
  settings.cpu_budget = std::max(1u, options_.cpu_walks_per_second / (walks_when_over_ ? 40 : 10));
  settings.waker_threshold_ns = options_.waker_threshold_ns;
}

std::uint64_t Switches::kernel_memory_bytes() const {
  return (options_.older_programs ? 0 : ACCOUNTS * sizeof(thread_account)) +
         (takes_elements_by_need() ? 0 : CROWDED_ACCOUNTS * sizeof(thread_account));
}

Result<> Switches::attach() {
  auto& programs = skeleton_->progs;
  if (walks_when_over_) {
    if (auto link = attach_program(programs.thread_resumed))
      links_.push_back(std::move(*link));
    else
      skeleton_->bss->resumed_is_refused = 1;  // there is the older way, and a quarter of its budget
  }
  for (bpf_program* program : {programs.thread_born, programs.thread_execed, programs.thread_woken,
                               programs.thread_ended, programs.thread_switched}) {
    auto link = attach_program(program);
    if (!link) return tl::unexpected<Error>(link.error());
    links_.push_back(std::move(*link));
  }
  // A kernel without this tracepoint only cannot report which page a fault waited for.
  if (BpfLink link(bpf_program__attach(programs.page_faulted)); link != nullptr)
    links_.push_back(std::move(link));
  newest_transfer_ns_ = monotonic_ns();
  watch_results();
  return {};
}

// For all processes, as the timer is. An exact count of minor faults would be a walk for each page that a
// program ever touches.
Result<> Switches::add_cpu(int cpu, int /*output_fd*/) {
  for (const bool major : {true, false}) {
    perf_event_attr attributes = base_attributes();
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = major ? PERF_COUNT_SW_PAGE_FAULTS_MAJ : PERF_COUNT_SW_PAGE_FAULTS_MIN;
    attributes.sample_period = major ? 1 : MINOR_FAULTS_PER_EVENT;
    attributes.disabled = 1;
    if (auto added = fault_events_.add(cpu, attributes, skeleton_->progs.count_fault, "page faults", -1);
        !added)
      return added;
  }
  return {};
}

void Switches::detach() {
  results_.reset();
  links_.clear();
  fault_events_.clear();
}

void Switches::forget(std::int32_t pid) {
  bpf_map_delete_elem(bpf_map__fd(skeleton_->maps.key_distances), &pid);
}

void Switches::set_key_distance(std::int32_t pid, std::int32_t distance) {
  bpf_map_update_elem(bpf_map__fd(skeleton_->maps.key_distances), &pid, &distance, BPF_ANY);
}

void Switches::saw(const Waited& wait) {
  if (wait.state != 0 && call_has_result(wait.system_call))
    newest_transfer_ns_ = std::max(newest_transfer_ns_, wait.out_ns + wait.waited_ns + wait.queued_ns);
}

// The program at the end of system calls runs for those of every process of the machine. So it is there only
// for the first two seconds, and while the target waits in calls that have a result: after a pause the first
// such waits, up to the next drain, have none.
void Switches::watch_results() {
  constexpr std::uint64_t kPatienceNs = 2'000'000'000;
  if (links_.empty()) return;  // all has been detached, and the rest is drained
  const bool wanted = monotonic_ns() < newest_transfer_ns_ + kPatienceNs;
  if (wanted == (results_ != nullptr) || (wanted && results_refused_)) return;
  skeleton_->bss->results_wanted = wanted ? 1 : 0;
  if (wanted) {
    results_.reset(bpf_program__attach(skeleton_->progs.call_returned));
    results_refused_ = results_ == nullptr;
    if (results_refused_) skeleton_->bss->results_wanted = 0;
  } else {
    results_.reset();
  }
}

Switches::Counters Switches::counters() const {
  Counters sum;
  for (const auto& value : values_of_cpus<off_cpu_counters>(skeleton_->maps.off_cpu_counters)) {
    sum.switches += value.switches;
    sum.walks += value.walks;
    sum.walk_ns += value.walk_ns;
    sum.run_ns += value.run_ns + value.walk_ns;
    sum.lost_ring_full += value.lost_ring_full;
    sum.lost_accounts += value.lost_accounts;
    sum.lost_faults += value.lost_faults;
    sum.untold_switches += value.untold_switches;
  }
  return sum;
}

}  // namespace fathom::sources
