// Fields of the rows that say what happened when: samples, waits, page faults, calls, memory, series.
#pragma once

#include "model/fields/field.h"
#include "model/profile.h"

namespace fathom::model {

template <class Visitor, RowOf<Sample>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"time_ns", ""}, row.time_ns...);
  field({"value", "in the unit of the metric: samples, nanoseconds, bytes or allocations"}, row.value...);
  field({"thread", ""}, row.thread...);
  field({"stack", ""}, row.stack...);
  field({"cpu", ""}, row.cpu...);
  field({"metric", ""}, row.metric...);
  field({"end", "how the walk of the stack ended ([format.md](format.md))"}, row.end...);
}

template <class Visitor, RowOf<WaitObject>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"kind", ""}, row.kind...);
  field({"name", "of a file, a mapping or a peer", kDifference}, row.name...);
  field({"address", "of a futex word or a page; the descriptor of a poll; the pid of a process", kDifference},
        row.address...);
  field({"pid", "process of the address or descriptor; 0 for files", kDifference}, row.pid...);
}

// waits_block.cpp stores them by thread and stack, in an order of its own.
template <class Visitor, RowOf<Wait>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"start_ns", "not before the recording"}, row.start_ns...);
  field({"waited_ns", "until it was woken; 0 if it was preempted"}, row.waited_ns...);
  field({"queued_ns", "from then until it had a CPU"}, row.queued_ns...);
  field({"thread", ""}, row.thread...);
  field({"stack", ""}, row.stack...);
  field({"waker", "the thread that woke it"}, or_none(row.waker, kNoThread)...);
  field({"waker_stack", "0: not walked"}, row.waker_stack...);
  field({"object", "what it waited for"}, row.object...);
  field({"system_call", "its number"}, or_none(row.system_call, -1)...);
  field(
      {"argument",
       "of a futex call its operation, of reads and writes the bytes, of a page fault the offset in the file"},
      row.argument...);
  field({"result", "what the call returned, if it reads, writes, syncs or polls"},
        or_none(row.result, Wait::kNoResult)...);
  field({"weight", "number of waits of this thread that it represents, including itself"}, row.weight...);
  field({"state", ""}, row.state...);
  field({"throttled", "preempted by the CPU quota of its control group"}, row.throttled...);
  field({"end", "how the walk of the stack ended"}, row.end...);
  field({"began_before", "it was waiting when the recording began"}, row.began_before...);
  field({"unfinished", "it was still waiting when the recording ended"}, row.unfinished...);
}

template <class Visitor, RowOf<Fault>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"time_ns", "", kDifference}, row.time_ns...);
  field({"thread", "", kDifference}, row.thread...);
  field({"stack", "", kDifference}, row.stack...);
  field({"object", "a mapped file, or memory without one", kDifference}, row.object...);
  field({"offset", "of the page in the file; without a file, its address", kDifference}, row.offset...);
  field({"weight", "number of faults that it represents, including itself", kDifference}, row.weight...);
  field({"major",
         "the page was read from a disk",
         {.stored = Stored::kDifference, .bit = 0x100, .shares_next = true}},
        row.major...);
  field({"end", "how the walk of the stack ended", kDifference}, row.end...);
}

template <class Visitor, RowOf<Calls>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"time_ns", "when it was counted up", kDifference}, row.time_ns...);
  field({"function", "", kDifference}, row.function...);
  field({"process", "", kDifference}, row.process...);
  field({"stack", "its leaf is the function; 0: not walked, or lost", kDifference}, row.stack...);
  field({"calls", "that began since the previous row of the same function, stack and process"}, row.calls...);
  field({"counted_only", "neither walked nor timed, because of the limit or lack of room"},
        row.counted_only...);
  field({"returned", "calls that began in the recording and ended"}, row.returned...);
  field({"total_ns", "of those that returned"}, row.total_ns...);
  field({"longest_ns", "so far, not only of this row"}, row.longest_ns...);
  field({"sized", "calls with a size"}, row.sized...);
  field({"bytes", "of these"}, row.bytes...);
  field(
      {"timed", "the ends of the function are probed", {.bit = 0x100, .shares_next = true, .inverted = true}},
      row.timed...);
  field({"end", "how the walk of the stack ended"}, row.end...);
}

template <class Visitor, RowOf<Span>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"start_ns", "", kDifference}, row.start_ns...);
  field({"end_ns", "", {.stored = Stored::kLength}}, row.end_ns...);
  field({"name", "of its kind", kDifference}, row.name...);
  field({"thread", "none if it ran on no thread, on several, or on one that was not recorded", kDifference},
        or_none(row.thread, kNoThread)...);
  field({"source", ""}, row.source...);
  field(
      {"span_id",
       "rows with the same one, name and source are one span that was entered several times; 0: a span of its own",
       kDifference},
      row.id...);
  field({"parent", "`span_id` of the span that it belongs to; 0: unknown", kDifference}, row.parent...);
}

template <class Visitor, RowOf<MemoryRange>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"time_ns", "rows of one time and process are one composition", kDifference}, row.time_ns...);
  field({"process", "", kDifference}, row.process...);
  field({"kind", ""}, row.kind...);
  field({"name", "path, thread or mapping; may be empty", kDifference}, row.name...);
  field({"allocator", "of kind `allocator`"}, row.allocator...);
  field({"ranges", "number of mappings, or parts of them"}, row.ranges...);
  field({"virtual_bytes", ""}, row.virtual_bytes...);
  field({"rss_bytes", "add up to the RSS of the process"}, row.rss_bytes...);
  field({"anonymous_bytes", "of `rss_bytes`: neither of a file nor shared"}, row.anonymous_bytes...);
  field({"swap_bytes", ""}, row.swap_bytes...);
  field({"huge_bytes", "of `rss_bytes`: on transparent huge pages; of kind `huge file`: all"},
        row.huge_bytes...);
  field({"live_blocks", "blocks of a traced allocator in it"}, row.live_blocks...);
  field({"live_bytes", "of these, as requested"}, row.live_bytes...);
  field({"live_resident_bytes", "of these, resident"}, row.live_resident_bytes...);
  field({"live_resident_variance", "of the estimate, if the heap was sampled"},
        row.live_resident_variance...);
  field({"live_is_bound",
         "pages were not examined: `live_resident_bytes` is an upper bound",
         {.shares_next = true}},
        row.live_is_bound...);
  field({"shared_out",
         "blocks of another allocator are in the same memory, which was divided in proportion",
         {.bit = 2}},
        row.shared_out...);
}

template <class Visitor, RowOf<Series>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"name", ""}, row.name...);
  field({"unit", ""}, row.unit...);
  field({"pid", ""}, row.pid...);
  field({"points", "`[time_ns, value]`", {.stored = Stored::kNever}},
        row.points...);  // a block of their own has them
}

template <class Visitor, RowOf<EarlyEnd>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"reason", "why the walk ended"}, row.reason...);
  field({"module", "in which it ended"}, row.module...);
  field({"count", "", {.joined = Joined::kSum}}, row.count...);
}

}  // namespace fathom::model
