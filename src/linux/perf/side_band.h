// What happens around the samples, on the whole machine: processes and threads that start and end, programs
// that are exec'ed, names, and executable mappings. For the privileged engine; needs CAP_PERFMON or
// perf_event_paranoid <= 0. System-wide as the target's children must be followed from their first
// instruction; filter by pid above.
//
//   auto side_band = SideBand::open();
//   for (int fd : side_band->fds()) epoll_add(fd);
//   ... side_band->drain(events);
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/result.h"
#include "linux/events.h"
#include "linux/perf/ring_set.h"

namespace fathom::sources {

class SideBand {
 public:
  // Enabled from the first moment. One dummy event per online CPU with a ring of `ring_bytes`; each record
  // wakes a reader up at once.
  static Result<SideBand> open(std::size_t ring_bytes = 256 * 1024);

  // Opens one event and closes it: what a CPU that is switched on later will need.
  static Result<> rehearse();

  // A CPU that was switched on, or off, since open().
  Result<> add_cpu(int cpu);
  void retire_cpu(int cpu);
  // The kernel has taken the event from an online CPU: that was switched off and on again since, as all but one are where
  // the machine was suspended. Between two calls its clock must have gone on.
  bool has_stopped(int cpu);

  std::vector<int> fds() const { return rings_.fds(); }
  // Appends, in time order (see RingSet::drain). Losses and throttling are among the events.
  void drain(std::vector<SideBandEvent>& out);
  std::uint64_t lost() const { return rings_.lost(); }
  std::size_t memory_bytes() const { return rings_.memory_bytes(); }

  // The event of `cpu`, -1 if there is none: sampling events of that CPU may be redirected to its ring so
  // that their throttling is seen (redirect_output in event.h). They must have CLOCK_MONOTONIC as their
  // clock, as in base_attributes(). Samples that they should write are ignored here.
  int output_fd(int cpu) const { return rings_.fd_of(cpu); }

 private:
  explicit SideBand(RingSet rings) : rings_(std::move(rings)) {}
  RingSet rings_;
  std::map<int, std::uint64_t> enabled_ns_;  // of each CPU's event, at the last look
  std::vector<Event> scratch_;
};

// The attributes of such an event: what it reports of the tasks that it follows. Used by the sampler, too.
void report_tasks(perf_event_attr& attributes);

}  // namespace fathom::sources
