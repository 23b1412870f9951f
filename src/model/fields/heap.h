// Fields of the rows of the heap. Sums and variances are two fields each.
#pragma once

#include "model/fields/field.h"
#include "model/heap.h"

namespace fathom::model {

template <class Visitor, RowOf<Heap>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"process", ""}, row.process...);
  field({"mode", ""}, row.mode...);
  field({"from_start",
         "traced before its first instruction: there are no earlier blocks",
         {.bit = 1, .shares_next = true}},
        row.from_start...);
  field({"switched_off",
         "at the end the tracer recorded nothing, because it had no heartbeat of the profiler",
         {.bit = 2, .shares_next = true}},
        row.switched_off...);
  field({"each_block", "lifetimes of single blocks were recorded", {.bit = 4, .shares_next = true}},
        row.each_block...);
  field({"image_ended", "the program executed another one, and what was live counts as freed", {.bit = 8}},
        row.image_ended...);
  field({"peak_bytes", ""}, row.peak_bytes...);
  field({"peak_blocks", ""}, row.peak_blocks...);
  field({"mean_bytes", "between samples, at the end; 0: exact"}, row.mean_bytes...);
  field({"start_ns", "when the hooks were in"}, row.start_ns...);
  field({"end_ns", "of the last slice"}, row.end_ns...);
  field({"earlier_frees", "frees of blocks allocated before `start_ns`; 0 if sampled"}, row.earlier_frees...);
  field({"earlier_rss_bytes", "anonymous memory resident at `start_ns`; 0: unknown"},
        row.earlier_rss_bytes...);
  field({"peak_ns", "when most bytes were live"}, row.peak_ns...);
  field({"events", "allocations, frees and changes that arrived"}, row.events...);
  field({"lost_ring_full", "events without room"}, row.lost_ring_full...);
  field({"lost_no_ring", "events of threads without a ring"}, row.lost_no_ring...);
  field({"lost_throwing", "blocks of operator new that only its slow path could return"},
        row.lost_throwing...);
  field({"lost_set_full", "samples without room in the set of sampled blocks"}, row.lost_set_full...);
  field({"lost_damaged", "rings given up because their content made no sense"}, row.lost_damaged...);
  field({"nested", "calls inside another recorded call or in a signal handler"}, row.nested...);
  field({"unwalked", "allocations without a stack"}, row.unwalked...);
  field({"incomplete", "allocations whose stack does not reach the start of the thread"}, row.incomplete...);
  field({"unseen_frees", "addresses handed out again without a free in between"}, row.unseen_frees...);
  field({"waited_ns", "time that threads of the target waited for room"}, row.waited_ns...);
  field({"merged_sites", "allocations counted without their stack, because there were too many sites"},
        row.merged_sites...);
  field({"invalid_frees",
         "frees of blocks freed shortly before and not handed out since; exact only",
         {.since = 5}},
        row.invalid_frees...);
  field({"lost_blocks", "blocks whose lifetime is unknown", {.since = 5}}, row.lost_blocks...);
  field({"dropped_blocks", "live when the program executed another one", {.since = 7}},
        row.dropped_blocks...);
  field({"dropped_bytes", "of these", {.since = 7}}, row.dropped_bytes...);
  field({"chosen", "of blocks that a filter chose while the file was read", {.stored = Stored::kNever}},
        row.chosen...);
}

template <class Visitor, RowOf<HeapAllocator>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"label", "`jemalloc 5.3.0`", kDifference}, row.label...);
  field({"module", "that contains it", kDifference}, row.module...);
}

template <class Visitor, RowOf<HeapHook>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"allocator", "", kDifference}, row.allocator...);
  field({"function", "", kDifference}, row.function...);
  field({"note", "why it was not hooked, or what is incomplete", kDifference}, row.note...);
  field({"kind", ""}, row.kind...);
}

template <class Visitor, RowOf<HeapOutage>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"heap", ""}, row.heap...);
  field({"start_ns", "", kDifference}, row.start_ns...);
  field({"end_ns", "", {.stored = Stored::kLength}}, row.end_ns...);
}

template <class Visitor, RowOf<HeapSlice>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"heap", ""}, row.heap...);
  field({"start_ns", "the end of the slice before it", kDifference}, row.start_ns...);
  field({"end_ns", "", {.stored = Stored::kLength}}, row.end_ns...);
  field({"peak_ns", "when most bytes were live in it", {.stored = Stored::kAround}}, row.peak_ns...);
  field({"peak_bytes", ""}, row.peak_bytes...);
  field({"live_bytes", "at its end"}, row.live_bytes...);
  field({"live_blocks", "at its end"}, row.live_blocks...);
}

template <class Visitor, RowOf<HeapSite>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"heap", ""}, row.heap...);
  field({"stack", "that allocates; 0: not walked", kDifference}, row.stack...);
  field({"allocator", ""}, row.allocator...);
  field({"thread", "that allocates; none if threads were not distinguished"},
        or_none(row.thread, kNoThread)...);
  field({"end", "how the walk of the stack ended"}, row.end...);
}

template <class Visitor, RowOf<HeapRow>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"slice", "", kDifference}, row.slice...);
  field({"site", "", kDifference}, row.site...);
  field({"allocated_blocks", ""}, row.allocated.blocks...);
  field({"allocated_bytes", "as requested"}, row.allocated.bytes...);
  field({"freed_blocks", "blocks of this site, freed by any thread"}, row.freed.blocks...);
  field({"freed_bytes", ""}, row.freed.bytes...);
  field({"temporary_blocks", "freed by their thread before its next allocation; exact only"},
        row.temporary.blocks...);
  field({"temporary_bytes", ""}, row.temporary.bytes...);
  field({"short_lived_blocks", "freed within 1 ms"}, row.short_lived.blocks...);
  field({"short_lived_bytes", ""}, row.short_lived.bytes...);
  field({"allocated_variance_blocks", "0 if exact, like every variance"}, row.allocated_variance.blocks...);
  field({"allocated_variance_bytes", ""}, row.allocated_variance.bytes...);
  field({"freed_variance_blocks", ""}, row.freed_variance.blocks...);
  field({"freed_variance_bytes", ""}, row.freed_variance.bytes...);
  field({"churn_variance", "of the bytes both allocated and freed in this slice"}, row.churn_variance...);
}

template <class Visitor, RowOf<HeapSummary>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"site", "", kDifference}, row.site...);
  field({"peak_blocks", "of this site, at the peak of its heap"}, row.peak.blocks...);
  field({"peak_bytes", ""}, row.peak.bytes...);
  field({"peak_variance_blocks", ""}, row.peak_variance.blocks...);
  field({"peak_variance_bytes", ""}, row.peak_variance.bytes...);
  field({"longest_ns", "longest lifetime of a freed block"}, row.longest_ns...);
}

template <class Visitor, RowOf<HeapHistogram>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"site", "", kDifference}, row.site...);
  field(
      {"kind", "sizes in bytes of allocated blocks, lifetimes in ns of freed ones, ages in ns of live ones"},
      row.kind...);
  field({"bucket", "bucket n has values from 2^(n-1) to below 2^n; bucket 0: the value 0"}, row.bucket...);
  field({"blocks", ""}, row.sum.blocks...);
  field({"bytes", ""}, row.sum.bytes...);
}

template <class Visitor, RowOf<HeapUse>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"site", "", kDifference}, row.site...);
  field({"live_usable", "bytes that the allocator reserves for the blocks live at the end; 0: unknown"},
        row.live_usable...);
  field({"wrong_size_blocks", "freed with a size of another size class"}, row.wrong_size.blocks...);
  field({"wrong_size_bytes", ""}, row.wrong_size.bytes...);
  field({"foreign_blocks", "freed through another allocator"}, row.foreign.blocks...);
  field({"foreign_bytes", ""}, row.foreign.bytes...);
  field({"twice_blocks", "freed once more before they were handed out again", {.since = 11}},
        row.twice.blocks...);
  field({"twice_bytes", "", {.since = 11}}, row.twice.bytes...);
}

template <class Visitor, RowOf<HeapReturn>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"site", "", kDifference}, row.site...);
  field({"calls", "of madvise that returned memory which stays mapped"}, row.given_back.blocks...);
  field({"bytes", "of their ranges"}, row.given_back.bytes...);
}

// lives_block.cpp stores them, in sections.
template <class Visitor, RowOf<HeapBlock>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"site", ""}, row.site...);
  field({"address", ""}, row.address...);
  field({"size", "as requested"}, row.size...);
  field({"allocated_ns", ""}, row.allocated_ns...);
  field({"lifetime_ns", "0: live at the end"}, row.lifetime_ns...);
  field({"first_slice", "in which it was allocated, counted from 0 within its heap"}, row.first_slice...);
  field({"last_slice", "in which it was freed"}, or_none(row.last_slice, HeapBlock::kLive)...);
  field({"freed_by", "thread that freed it"}, or_none(row.freed_by, kNoThread)...);
  field({"mean_bytes", "between samples; 0: exact"}, row.mean_bytes...);
  field({"temporary", "freed by its thread before the next allocation"}, row.temporary...);
}

}  // namespace fathom::model
