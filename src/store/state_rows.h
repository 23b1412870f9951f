// The rows of STAT, field by field: modules, processes, threads and the heads of series. The number of fields
// of a row cannot change within a major version, as rows do not tell their length.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/cursor.h"
#include "base/varint.h"
#include "profile/profile.h"
#include "store/payload.h"

namespace fathom::store {

inline std::uint32_t read_id(Cursor& in) {
  return row_id(in.read_uleb128());
}
inline std::int32_t read_pid(Cursor& in) {
  return static_cast<std::int32_t>(unzigzag(in.read_uleb128()));
}

// --- one row of each kind ---
inline void put_row(Bytes& out, const profile::Module& row) {
  put_varint(out, static_cast<std::uint64_t>(row.kind));
  put_varint(out, row.name.value);
  put_varint(out, row.path.value);
  put_varint(out, row.build_id.value);
  put_varint(out, static_cast<std::uint64_t>(row.symbols));
  put_varint(out, row.symbols_path.value);
}
inline void read_row(Cursor& in, profile::Module& row) {
  // A number that this version does not know becomes one that check() refuses.
  const auto enumerator = [&] {
    return static_cast<std::uint8_t>(std::min<std::uint64_t>(in.read_uleb128(), 255));
  };
  row.kind = static_cast<profile::ModuleKind>(enumerator());
  row.name = {read_id(in)};
  row.path = {read_id(in)};
  row.build_id = {read_id(in)};
  row.symbols = static_cast<profile::SymbolSource>(enumerator());
  row.symbols_path = {read_id(in)};
}

inline void put_row(Bytes& out, const profile::Process& row) {
  put_signed_varint(out, row.pid);
  put_signed_varint(out, row.parent_pid);
  put_varint(out, row.start_ns);
  put_varint(out, row.end_ns);
  put_varint(out, row.name.value);
  put_varint(out, row.executable.value);
}
inline void read_row(Cursor& in, profile::Process& row) {
  row.pid = read_pid(in);
  row.parent_pid = read_pid(in);
  row.start_ns = in.read_uleb128();
  row.end_ns = in.read_uleb128();
  row.name = {read_id(in)};
  row.executable = {read_id(in)};
}

inline void put_row(Bytes& out, const profile::Thread& row) {
  put_varint(out, row.process.value);
  put_signed_varint(out, row.tid);
  put_varint(out, row.name.value);
  put_varint(out, row.start_ns);
  put_varint(out, row.end_ns);
  put_varint(out, row.cpu_ns);
}
inline void read_row(Cursor& in, profile::Thread& row) {
  row.process = {read_id(in)};
  row.tid = read_pid(in);
  row.name = {read_id(in)};
  row.start_ns = in.read_uleb128();
  row.end_ns = in.read_uleb128();
  row.cpu_ns = in.read_uleb128();
}

// What a thread did, which is not part of its row: rows of version 1.0 end with cpu_ns, and most recordings
// of CPU time alone have none of it.
inline constexpr std::uint64_t profile::Thread::*kThreadTimeFields[] = {
    &profile::Thread::ran_ns,     &profile::Thread::waited_ns,   &profile::Thread::queued_ns,
    &profile::Thread::waits,      &profile::Thread::preemptions, &profile::Thread::unwalked_waits,
    &profile::Thread::unwalked_ns};
inline bool same_times(const profile::Thread& a, const profile::Thread& b) {
  return std::ranges::all_of(kThreadTimeFields, [&](auto field) { return a.*field == b.*field; });
}
inline void copy_times(const profile::Thread& from, profile::Thread& to) {
  for (const auto field : kThreadTimeFields) to.*field = from.*field;
}
inline bool same_row(const profile::Thread& a, const profile::Thread& b) {
  profile::Thread copy = a;
  copy_times(b, copy);
  return copy == b;
}
inline void put_times(Bytes& out, const profile::Thread& row) {
  for (const auto field : kThreadTimeFields) put_varint(out, row.*field);
}

inline StateCopy::SeriesHead head_of(const profile::Series& series) {
  return {series.name, series.unit, series.pid};
}
inline void put_row(Bytes& out, const profile::Series& row) {
  put_varint(out, row.name.value);
  put_varint(out, row.unit.value);
  put_signed_varint(out, row.pid);
}
inline void read_row(Cursor& in, profile::Series& row) {
  row.name = {read_id(in)};
  row.unit = {read_id(in)};
  row.pid = read_pid(in);
}

}  // namespace fathom::store
