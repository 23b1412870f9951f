// Every table of a recording and every field of its rows, once: see fields/field.h.
#pragma once

#include <string_view>

#include "model/fields/code.h"
#include "model/fields/events.h"
#include "model/fields/heap.h"
#include "model/fields/quality.h"

namespace fathom::model {

struct Table {
  std::string_view name;  // in JSON and SQL
  std::string_view row;   // one of it, for messages
  std::string_view what;  // a row is ... for docs/recording-fields.md
};

// visitor(table, rows...) for each table of `profile`, or for the same table of several. Without the lifetimes of single blocks
// (HeapTables::blocks): a reader has only those that were requested.
template <class Visitor, RowOf<Profile>... P>
constexpr void tables_of(Visitor&& table, P&... profile) {
  table(Table{"modules", "module", "a file, the kernel, or code without a file"}, profile.modules...);
  table(Table{"functions", "function", "a name in a module"}, profile.functions...);
  table(Table{"lines", "line", "a line of a function in a source file"}, profile.lines...);
  table(Table{"frames", "frame", "a place in a module"}, profile.frames...);
  table(Table{"stacks", "stack", "a frame and the stack that called it"}, profile.stacks...);
  table(Table{"processes", "process", "a process"}, profile.processes...);
  table(Table{"threads", "thread", "a thread"}, profile.threads...);
  table(Table{"samples", "sample", "a sample"}, profile.samples...);
  table(Table{"objects", "object", "something that threads waited for"}, profile.objects...);
  table(Table{"waits", "wait", "a wait of a thread"}, profile.waits...);
  table(Table{"faults", "fault", "a page fault"}, profile.faults...);
  table(Table{"calls", "calls", "the counts of a probed function from one stack"}, profile.calls...);
  table(Table{"spans", "span", "a named piece of work"}, profile.spans...);
  table(Table{"heaps", "heap", "a process whose heap was traced"}, profile.heap.heaps...);
  table(Table{"heap_allocators", "allocator", "an allocator"}, profile.heap.allocators...);
  table(Table{"heap_hooks", "hook", "a hooked function of an allocator"}, profile.heap.hooks...);
  table(Table{"heap_outages", "heap outage", "a gap in which a heap was not recorded"},
        profile.heap.outages...);
  table(Table{"heap_slices", "heap slice", "a piece of the time of a heap"}, profile.heap.slices...);
  table(Table{"heap_sites", "heap site", "a stack that allocates"}, profile.heap.sites...);
  table(Table{"heap_rows", "heap row", "what happened to the blocks of a site in a slice"},
        profile.heap.rows...);
  table(Table{"heap_summaries", "heap summary", "a site over the whole recording"},
        profile.heap.summaries...);
  table(Table{"heap_histograms", "heap histogram", "a bucket of a histogram of a site"},
        profile.heap.histograms...);
  table(Table{"heap_uses", "heap use", "how the memory of a site's blocks is used"}, profile.heap.uses...);
  table(Table{"heap_returns", "heap return",
              "memory that a site returned to the kernel while it stayed mapped"},
        profile.heap.returns...);
  table(Table{"memory_ranges", "memory range", "a part of the memory of a process at one time"},
        profile.memory_ranges...);
  table(Table{"series", "series", "a series of readings"}, profile.series...);
}

}  // namespace fathom::model
