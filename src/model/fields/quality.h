// Fields of Quality, with their numbers as counters of the file.
#pragma once

#include "model/fields/field.h"
#include "model/profile.h"

namespace fathom::model {

constexpr Storage counter(unsigned number, Joined joined = Joined::kSum) {
  return {.joined = joined, .number = number};
}

template <class Visitor, RowOf<Quality>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"samples", "stored", counter(1)}, row.samples...);
  field({"filtered", "of these, outside of the window", counter(19)}, row.filtered...);
  field({"expected_samples", "CPU time of the target times the rate; 0: unknown", counter(2)},
        row.expected_samples...);
  field({"lost_ring_full", "samples dropped because a ring was full", counter(3)}, row.lost_ring_full...);
  field({"lost_stack", "samples whose stack never arrived", counter(4)}, row.lost_stack...);
  field({"lost_throttled", "how often the kernel throttled the event", counter(5)}, row.lost_throttled...);
  field({"lost_records", "records of mappings and names that the kernel dropped", counter(6)},
        row.lost_records...);
  field({"lost_disk", "samples that could not be written", counter(7)}, row.lost_disk...);
  field({"complete", "walks that reached the start of the thread", counter(8)}, row.complete...);
  field({"kernel_truncated", "kernel stacks deeper than the buffer", counter(9)}, row.kernel_truncated...);
  field({"early_ends", "walks that ended early, by reason and module"}, row.early_ends...);
  field({"table_overflows", "modules without unwind table because there was no room", counter(10)},
        row.table_overflows...);
  field({"profiler_cpu_ns", "CPU time of the profiler", counter(11)}, row.profiler_cpu_ns...);
  field({"profiler_rss_bytes", "its peak", counter(12, Joined::kGreatest)}, row.profiler_rss_bytes...);
  field({"bpf_ns", "time in the BPF programs, if the kernel measures it", counter(13)}, row.bpf_ns...);
  field({"bpf_runs", "", counter(14)}, row.bpf_runs...);
  field({"kernel_memory_bytes", "locked for tables and rings", counter(15)}, row.kernel_memory_bytes...);
  field({"target_stops", "how often all threads of the target were stopped", counter(16)},
        row.target_stops...);
  field({"target_stop_ns", "the longest", counter(17, Joined::kGreatest)}, row.target_stop_ns...);
  field({"waits", "rows stored", counter(20)}, row.waits...);
  field({"filtered_waits", "of these, outside of the window", counter(21)}, row.filtered_waits...);
  field({"unwalked_waits", "waits without a row, represented by the weight of others", counter(22)},
        row.unwalked_waits...);
  field({"unwalked_ns", "their time", counter(23)}, row.unwalked_ns...);
  field({"lost_waits", "waits whose row was lost", counter(24)}, row.lost_waits...);
  field({"switches", "of recorded threads", counter(25)}, row.switches...);
  field({"switch_ns", "time in the scheduler programs", counter(26)}, row.switch_ns...);
  field({"truncated", "the recording has no end: the recorder was killed", counter(18)}, row.truncated...);
  field({"notes", "what could not be seen, and why"}, row.notes...);
}

}  // namespace fathom::model
