// Fields of the rows that name code, and of processes and threads.
#pragma once

#include "model/fields/field.h"
#include "model/profile.h"

namespace fathom::model {

template <class Visitor, RowOf<Module>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"kind", ""}, row.kind...);
  field({"name", "short: `libc.so.6`"}, row.name...);
  field({"path", "as the target sees it"}, row.path...);
  field({"build_id", "hexadecimal; of a file without one, `x-` and a hash of its content"}, row.build_id...);
  field({"symbols", "where its names came from"}, row.symbols...);
  field({"symbols_path", "separate debug file or perf map; empty: the module itself"}, row.symbols_path...);
}

template <class Visitor, RowOf<Function>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"name", "demangled", kDifference}, row.name...);
  field({"module", ""}, row.module...);
}

// tables_block.cpp stores lines, frames and stacks: their columns depend on other rows.
template <class Visitor, RowOf<Line>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"function", ""}, row.function...);
  field({"file", "empty: unknown"}, row.file...);
  field({"line", "0: unknown"}, row.line...);
}

template <class Visitor, RowOf<Frame>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"module", ""}, row.module...);
  field({"address", "as in the tables of the file; as mapped, for the kernel and code without a file"},
        row.address.value...);
  field({"first_line", "first of its rows of `lines`, the innermost inlined call"}, row.first_line...);
  field({"line_count", "0: no name"}, row.line_count...);
}

template <class Visitor, RowOf<Stack>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"parent", "a smaller row; 0: the frame is the outermost"}, row.parent...);
  field({"frame", ""}, row.frame...);
}

template <class Visitor, RowOf<Process>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"pid", ""}, row.pid...);
  field({"parent_pid", ""}, row.parent_pid...);
  field({"start_ns", "0: it existed before the recording"}, row.start_ns...);
  field({"end_ns", "0: it outlived the recording", {.joined = Joined::kGreatest}}, row.end_ns...);
  field({"name", ""}, row.name...);
  field({"executable", ""}, row.executable...);
}

template <class Visitor, RowOf<Thread>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"process", ""}, row.process...);
  field({"tid", ""}, row.tid...);
  field({"name", ""}, row.name...);
  field({"start_ns", "0: it existed before the recording"}, row.start_ns...);
  field({"end_ns", "0: it outlived the recording", {.joined = Joined::kGreatest}}, row.end_ns...);
  field({"cpu_ns", "exact CPU time inside the recording; 0: unknown", {.joined = Joined::kSum}},
        row.cpu_ns...);
  // These are in a section of their own, because rows of version 1.0 end with cpu_ns.
  constexpr Storage kTime{.joined = Joined::kSum, .since = 1};
  field({"ran_ns", "time on a CPU, from the scheduler; 0 if waits were not recorded, as in the next fields",
         kTime},
        row.ran_ns...);
  field({"waited_ns", "time in which it waited", kTime}, row.waited_ns...);
  field({"queued_ns", "time in which it could run and had no CPU", kTime}, row.queued_ns...);
  field({"waits", "how often it was switched out to wait", kTime}, row.waits...);
  field({"preemptions", "how often it was switched out although it could run", kTime}, row.preemptions...);
  field({"unwalked_waits", "waits without a row, for which the `weight` of others stands", kTime},
        row.unwalked_waits...);
  field({"unwalked_ns", "their time", kTime}, row.unwalked_ns...);
}

}  // namespace fathom::model
