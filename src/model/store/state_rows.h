// The rows of STAT, field by field: modules, processes, threads and the heads of series. The number of fields
// of a row cannot change within a major version, because rows do not contain their length.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/cursor.h"
#include "base/varint.h"
#include "model/profile.h"
#include "model/store/payload.h"

namespace fathom::store {

inline std::uint32_t read_id(Cursor& in) {
  return row_id(in.read_uleb128());
}
inline std::int32_t read_pid(Cursor& in) {
  return static_cast<std::int32_t>(unzigzag(in.read_uleb128()));
}

// --- one row of each kind ---
inline void put_row(Bytes& out, const model::Module& row) {
  put_varint(out, static_cast<std::uint64_t>(row.kind));
  put_varint(out, row.name.value);
  put_varint(out, row.path.value);
  put_varint(out, row.build_id.value);
  put_varint(out, static_cast<std::uint64_t>(row.symbols));
  put_varint(out, row.symbols_path.value);
}
inline void read_row(Cursor& in, model::Module& row) {
  // A number that this version does not know becomes one that check() rejects.
  const auto enumerator = [&] {
    return static_cast<std::uint8_t>(std::min<std::uint64_t>(in.read_uleb128(), 255));
  };
  row.kind = static_cast<model::ModuleKind>(enumerator());
  row.name = {read_id(in)};
  row.path = {read_id(in)};
  row.build_id = {read_id(in)};
  row.symbols = static_cast<model::SymbolSource>(enumerator());
  row.symbols_path = {read_id(in)};
}

inline void put_row(Bytes& out, const model::Process& row) {
  put_signed_varint(out, row.pid);
  put_signed_varint(out, row.parent_pid);
  put_varint(out, row.start_ns);
  put_varint(out, row.end_ns);
  put_varint(out, row.name.value);
  put_varint(out, row.executable.value);
}
inline void read_row(Cursor& in, model::Process& row) {
  row.pid = read_pid(in);
  row.parent_pid = read_pid(in);
  row.start_ns = in.read_uleb128();
  row.end_ns = in.read_uleb128();
  row.name = {read_id(in)};
  row.executable = {read_id(in)};
}

inline void put_row(Bytes& out, const model::Thread& row) {
  put_varint(out, row.process.value);
  put_signed_varint(out, row.tid);
  put_varint(out, row.name.value);
  put_varint(out, row.start_ns);
  put_varint(out, row.end_ns);
  put_varint(out, row.cpu_ns);
}
inline void read_row(Cursor& in, model::Thread& row) {
  row.process = {read_id(in)};
  row.tid = read_pid(in);
  row.name = {read_id(in)};
  row.start_ns = in.read_uleb128();
  row.end_ns = in.read_uleb128();
  row.cpu_ns = in.read_uleb128();
}

// A thread's activity, which is not part of its row: rows of version 1.0 end with cpu_ns, and most recordings
// of only CPU time have none of it.
inline constexpr std::uint64_t model::Thread::*kThreadTimeFields[] = {
    &model::Thread::ran_ns,     &model::Thread::waited_ns,   &model::Thread::queued_ns,
    &model::Thread::waits,      &model::Thread::preemptions, &model::Thread::unwalked_waits,
    &model::Thread::unwalked_ns};
inline bool same_times(const model::Thread& a, const model::Thread& b) {
  return std::ranges::all_of(kThreadTimeFields, [&](auto field) { return a.*field == b.*field; });
}
inline void copy_times(const model::Thread& from, model::Thread& to) {
  for (const auto field : kThreadTimeFields) to.*field = from.*field;
}
inline bool same_row(const model::Thread& a, const model::Thread& b) {
  model::Thread copy = a;
  copy_times(b, copy);
  return copy == b;
}
inline void put_times(Bytes& out, const model::Thread& row) {
  for (const auto field : kThreadTimeFields) put_varint(out, row.*field);
}

inline StateCopy::SeriesHead head_of(const model::Series& series) {
  return {series.name, series.unit, series.pid};
}
inline void put_row(Bytes& out, const model::Series& row) {
  put_varint(out, row.name.value);
  put_varint(out, row.unit.value);
  put_signed_varint(out, row.pid);
}
inline void read_row(Cursor& in, model::Series& row) {
  row.name = {read_id(in)};
  row.unit = {read_id(in)};
  row.pid = read_pid(in);
}

}  // namespace fathom::store
