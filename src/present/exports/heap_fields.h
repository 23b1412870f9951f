// The fields of the rows of the heap by name, as recording_fields.h has those of the others.
#pragma once

#include "present/exports/recording_fields.h"

namespace fathom::present {

template <class Field>
void fields_of(const model::Heap& row, Field&& field) {
  field("process", row.process);
  field("mode", row.mode);
  field("from_start", row.from_start);
  field("mean_bytes", row.mean_bytes);
  field("start_ns", row.start_ns);
  field("end_ns", row.end_ns);
  field("earlier_frees", row.earlier_frees);
  field("earlier_rss_bytes", row.earlier_rss_bytes);
  field("peak_ns", row.peak_ns);
  field("peak_bytes", row.peak_bytes);
  field("peak_blocks", row.peak_blocks);
  field("events", row.events);
  field("lost_ring_full", row.lost_ring_full);
  field("lost_no_ring", row.lost_no_ring);
  field("lost_throwing", row.lost_throwing);
  field("lost_set_full", row.lost_set_full);
  field("lost_damaged", row.lost_damaged);
  field("nested", row.nested);
  field("unwalked", row.unwalked);
  field("incomplete", row.incomplete);
  field("unseen_frees", row.unseen_frees);
  field("invalid_frees", row.invalid_frees);
  field("waited_ns", row.waited_ns);
  field("merged_sites", row.merged_sites);
  field("switched_off", row.switched_off);
  field("each_block", row.each_block);
  field("chosen", row.chosen);
  field("lost_blocks", row.lost_blocks);
  field("image_ended", row.image_ended);
  field("dropped_blocks", row.dropped_blocks);
  field("dropped_bytes", row.dropped_bytes);
}
template <class Field>
void fields_of(const model::HeapAllocator& row, Field&& field) {
  field("label", row.label);
  field("module", row.module);
}
template <class Field>
void fields_of(const model::HeapHook& row, Field&& field) {
  field("allocator", row.allocator);
  field("function", row.function);
  field("note", row.note);
  field("kind", row.kind);
}
template <class Field>
void fields_of(const model::HeapOutage& row, Field&& field) {
  field("heap", row.heap);
  field("start_ns", row.start_ns);
  field("end_ns", row.end_ns);
}
template <class Field>
void fields_of(const model::HeapSlice& row, Field&& field) {
  field("heap", row.heap);
  field("start_ns", row.start_ns);
  field("end_ns", row.end_ns);
  field("peak_ns", row.peak_ns);
  field("peak_bytes", row.peak_bytes);
  field("live_bytes", row.live_bytes);
  field("live_blocks", row.live_blocks);
}
template <class Field>
void fields_of(const model::HeapSite& row, Field&& field) {
  field("heap", row.heap);
  field("stack", row.stack);
  field("allocator", row.allocator);
  field("thread", Optional<model::ThreadId>{row.thread, model::kNoThread});
  field("end", row.end);
}
// Sums and variances are two columns each.
template <class Field>
void fields_of(const model::HeapRow& row, Field&& field) {
  field("slice", row.slice);
  field("site", row.site);
  field("allocated_blocks", row.allocated.blocks);
  field("allocated_bytes", row.allocated.bytes);
  field("freed_blocks", row.freed.blocks);
  field("freed_bytes", row.freed.bytes);
  field("temporary_blocks", row.temporary.blocks);
  field("temporary_bytes", row.temporary.bytes);
  field("short_lived_blocks", row.short_lived.blocks);
  field("short_lived_bytes", row.short_lived.bytes);
  field("allocated_variance_blocks", row.allocated_variance.blocks);
  field("allocated_variance_bytes", row.allocated_variance.bytes);
  field("freed_variance_blocks", row.freed_variance.blocks);
  field("freed_variance_bytes", row.freed_variance.bytes);
  field("churn_variance", row.churn_variance);
}
template <class Field>
void fields_of(const model::HeapSummary& row, Field&& field) {
  field("site", row.site);
  field("peak_blocks", row.peak.blocks);
  field("peak_bytes", row.peak.bytes);
  field("peak_variance_blocks", row.peak_variance.blocks);
  field("peak_variance_bytes", row.peak_variance.bytes);
  field("longest_ns", row.longest_ns);
}
template <class Field>
void fields_of(const model::HeapHistogram& row, Field&& field) {
  field("site", row.site);
  field("kind", row.kind);
  field("bucket", row.bucket);
  field("blocks", row.sum.blocks);
  field("bytes", row.sum.bytes);
}
template <class Field>
void fields_of(const model::HeapUse& row, Field&& field) {
  field("site", row.site);
  field("live_usable", row.live_usable);
  field("wrong_size_blocks", row.wrong_size.blocks);
  field("wrong_size_bytes", row.wrong_size.bytes);
  field("foreign_blocks", row.foreign.blocks);
  field("foreign_bytes", row.foreign.bytes);
}
template <class Field>
void fields_of(const model::HeapReturn& row, Field&& field) {
  field("site", row.site);
  field("calls", row.given_back.blocks);
  field("bytes", row.given_back.bytes);
}
// table("name", rows) for each table of a recording. Lives of single blocks (HeapTables::blocks) are not among them: a reader has
// them only as far as they were asked for.
template <class Table>
void tables_of(const model::Profile& profile, Table&& table) {
  table("modules", profile.modules);
  table("functions", profile.functions);
  table("lines", profile.lines);
  table("frames", profile.frames);
  table("stacks", profile.stacks);
  table("processes", profile.processes);
  table("threads", profile.threads);
  table("samples", profile.samples);
  table("objects", profile.objects);
  table("waits", profile.waits);
  table("faults", profile.faults);
  table("calls", profile.calls);
  table("heaps", profile.heap.heaps);
  table("heap_allocators", profile.heap.allocators);
  table("heap_hooks", profile.heap.hooks);
  table("heap_outages", profile.heap.outages);
  table("heap_slices", profile.heap.slices);
  table("heap_sites", profile.heap.sites);
  table("heap_rows", profile.heap.rows);
  table("heap_summaries", profile.heap.summaries);
  table("heap_histograms", profile.heap.histograms);
  table("heap_uses", profile.heap.uses);
  table("heap_returns", profile.heap.returns);
  table("memory_ranges", profile.memory_ranges);
  table("series", profile.series);
}

}  // namespace fathom::present
