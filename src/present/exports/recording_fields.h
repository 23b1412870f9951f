// The fields of the model's rows by name, for what writes down a recording as it is. One list: a test counts the fields of each row,
// so none is forgotten.
#pragma once

#include <string_view>
#include <type_traits>

#include "model/profile.h"

namespace fathom::present {

// A field that has no value where it is `none`.
template <class T>
struct Optional {
  const T& value;
  T none;
};

// field("name", value) for each field of a row, in the order of its struct.
template <class Field>
void fields_of(const model::Module& row, Field&& field) {
  field("kind", row.kind);
  field("name", row.name);
  field("path", row.path);
  field("build_id", row.build_id);
  field("symbols", row.symbols);
  field("symbols_path", row.symbols_path);
}
template <class Field>
void fields_of(const model::Function& row, Field&& field) {
  field("name", row.name);
  field("module", row.module);
}
template <class Field>
void fields_of(const model::Line& row, Field&& field) {
  field("function", row.function);
  field("file", row.file);
  field("line", row.line);
}
template <class Field>
void fields_of(const model::Frame& row, Field&& field) {
  field("module", row.module);
  field("address", row.address.value);
  field("first_line", row.first_line);
  field("line_count", row.line_count);
}
template <class Field>
void fields_of(const model::Stack& row, Field&& field) {
  field("parent", row.parent);
  field("frame", row.frame);
}
template <class Field>
void fields_of(const model::Process& row, Field&& field) {
  field("pid", row.pid);
  field("parent_pid", row.parent_pid);
  field("start_ns", row.start_ns);
  field("end_ns", row.end_ns);
  field("name", row.name);
  field("executable", row.executable);
}
template <class Field>
void fields_of(const model::Thread& row, Field&& field) {
  field("process", row.process);
  field("tid", row.tid);
  field("name", row.name);
  field("start_ns", row.start_ns);
  field("end_ns", row.end_ns);
  field("cpu_ns", row.cpu_ns);
  field("ran_ns", row.ran_ns);
  field("waited_ns", row.waited_ns);
  field("queued_ns", row.queued_ns);
  field("waits", row.waits);
  field("preemptions", row.preemptions);
  field("unwalked_waits", row.unwalked_waits);
  field("unwalked_ns", row.unwalked_ns);
}
template <class Field>
void fields_of(const model::Sample& row, Field&& field) {
  field("time_ns", row.time_ns);
  field("value", row.value);
  field("thread", row.thread);
  field("stack", row.stack);
  field("cpu", row.cpu);
  field("metric", row.metric);
  field("end", row.end);
}
template <class Field>
void fields_of(const model::WaitObject& row, Field&& field) {
  field("kind", row.kind);
  field("name", row.name);
  field("address", row.address);
  field("pid", row.pid);
}
template <class Field>
void fields_of(const model::Wait& row, Field&& field) {
  field("start_ns", row.start_ns);
  field("waited_ns", row.waited_ns);
  field("queued_ns", row.queued_ns);
  field("thread", row.thread);
  field("stack", row.stack);
  field("waker", Optional<model::ThreadId>{row.waker, model::kNoThread});
  field("waker_stack", row.waker_stack);
  field("object", row.object);
  field("system_call", Optional<std::int32_t>{row.system_call, -1});
  field("argument", row.argument);
  field("result", Optional<std::int64_t>{row.result, model::Wait::kNoResult});
  field("weight", row.weight);
  field("state", row.state);
  field("throttled", row.throttled);
  field("end", row.end);
  field("began_before", row.began_before);
  field("unfinished", row.unfinished);
}
template <class Field>
void fields_of(const model::Fault& row, Field&& field) {
  field("time_ns", row.time_ns);
  field("thread", row.thread);
  field("stack", row.stack);
  field("object", row.object);
  field("offset", row.offset);
  field("weight", row.weight);
  field("major", row.major);
  field("end", row.end);
}
template <class Field>
void fields_of(const model::Calls& row, Field&& field) {
  field("time_ns", row.time_ns);
  field("function", row.function);
  field("process", row.process);
  field("stack", row.stack);
  field("calls", row.calls);
  field("counted_only", row.counted_only);
  field("returned", row.returned);
  field("total_ns", row.total_ns);
  field("longest_ns", row.longest_ns);
  field("sized", row.sized);
  field("bytes", row.bytes);
  field("timed", row.timed);
  field("end", row.end);
}
template <class Field>
void fields_of(const model::MemoryRange& row, Field&& field) {
  field("time_ns", row.time_ns);
  field("process", row.process);
  field("kind", row.kind);
  field("name", row.name);
  field("allocator", row.allocator);
  field("ranges", row.ranges);
  field("virtual_bytes", row.virtual_bytes);
  field("rss_bytes", row.rss_bytes);
  field("swap_bytes", row.swap_bytes);
  field("anonymous_bytes", row.anonymous_bytes);
  field("huge_bytes", row.huge_bytes);
  field("live_blocks", row.live_blocks);
  field("live_bytes", row.live_bytes);
  field("live_resident_bytes", row.live_resident_bytes);
  field("live_resident_variance", row.live_resident_variance);
  field("live_is_bound", row.live_is_bound);
  field("shared_out", row.shared_out);
}
template <class Field>
void fields_of(const model::Series& row, Field&& field) {
  field("name", row.name);
  field("unit", row.unit);
  field("pid", row.pid);
  field("points", row.points);
}
template <class Field>
void fields_of(const model::EarlyEnd& row, Field&& field) {
  field("reason", row.reason);
  field("module", row.module);
  field("count", row.count);
}

template <class Field>
void fields_of(const model::Quality& row, Field&& field) {
  field("samples", row.samples);
  field("filtered", row.filtered);
  field("expected_samples", row.expected_samples);
  field("lost_ring_full", row.lost_ring_full);
  field("lost_stack", row.lost_stack);
  field("lost_throttled", row.lost_throttled);
  field("lost_records", row.lost_records);
  field("lost_disk", row.lost_disk);
  field("complete", row.complete);
  field("kernel_truncated", row.kernel_truncated);
  field("early_ends", row.early_ends);
  field("table_overflows", row.table_overflows);
  field("profiler_cpu_ns", row.profiler_cpu_ns);
  field("profiler_rss_bytes", row.profiler_rss_bytes);
  field("bpf_ns", row.bpf_ns);
  field("bpf_runs", row.bpf_runs);
  field("kernel_memory_bytes", row.kernel_memory_bytes);
  field("target_stops", row.target_stops);
  field("target_stop_ns", row.target_stop_ns);
  field("waits", row.waits);
  field("filtered_waits", row.filtered_waits);
  field("unwalked_waits", row.unwalked_waits);
  field("unwalked_ns", row.unwalked_ns);
  field("lost_waits", row.lost_waits);
  field("switches", row.switches);
  field("switch_ns", row.switch_ns);
  field("truncated", row.truncated);
  field("notes", row.notes);
}

}  // namespace fathom::present
