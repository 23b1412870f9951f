// CALL: calls of the functions that the user chose, twelve columns. Rows are always in the order of the
// recorder's accounts, so ids and times are differences from the previous row.
#include <fmt/format.h>

#include <algorithm>

#include "model/store/differences.h"
#include "model/store/payload.h"
#include "model/store/row_heads.h"

namespace fathom::store {
namespace {

using namespace model;

enum Column {
  kTime,
  kFunction,
  kProcess,
  kStack,
  kCallCount,
  kCountedOnly,
  kReturned,
  kTotal,
  kLongest,
  kSized,
  kBytes,
  kKind,
  kColumnCount
};

// kKind holds how the stack walk ended, plus this bit.
constexpr std::uint64_t kNotTimed = 0x100;

}  // namespace

Bytes encode_calls(std::span<const Calls> calls) {
  std::array<std::vector<std::uint64_t>, kColumnCount> columns;
  Differences times, functions, processes, stacks;
  for (const Calls& row : calls) {
    columns[kTime].push_back(times.encode(row.time_ns));
    columns[kFunction].push_back(functions.encode(row.function.value));
    columns[kProcess].push_back(processes.encode(row.process.value));
    columns[kStack].push_back(stacks.encode(row.stack.value));
    columns[kCallCount].push_back(row.calls);
    columns[kCountedOnly].push_back(row.counted_only);
    columns[kReturned].push_back(row.returned);
    columns[kTotal].push_back(row.total_ns);
    columns[kLongest].push_back(row.longest_ns);
    columns[kSized].push_back(row.sized);
    columns[kBytes].push_back(row.bytes);
    columns[kKind].push_back(row.end | (row.timed ? 0 : kNotTimed));
  }
  Bytes out;
  put_varint(out, calls.size());
  for (const auto& column : columns) put_column(out, column);
  return out;
}

Result<> decode_calls(Cursor in, std::uint32_t rows, Loading& loading) {
  const auto count = read_row_count(in, rows, "calls");
  if (!count) return tl::make_unexpected(count.error());
  RowColumns columns(in, *count, kColumnCount, "calls");
  if (auto admitted = columns.admit(sizeof(Calls), loading); !admitted) return admitted;

  auto& calls = loading.profile.calls;
  const std::size_t there = calls.size();
  Differences times, functions, processes, stacks;
  for (std::uint64_t i = 0; i < *count; ++i) {
    Calls row;
    row.time_ns = times.decode(columns.next(kTime));
    row.function = {row_id(functions.decode(columns.next(kFunction)))};
    row.process = {row_id(processes.decode(columns.next(kProcess)))};
    row.stack = {row_id(stacks.decode(columns.next(kStack)))};
    row.calls = columns.next(kCallCount);
    row.counted_only = columns.next(kCountedOnly);
    row.returned = columns.next(kReturned);
    row.total_ns = columns.next(kTotal);
    row.longest_ns = columns.next(kLongest);
    row.sized = columns.next(kSized);
    row.bytes = columns.next(kBytes);
    const std::uint64_t kind = columns.next(kKind);
    row.timed = (kind & kNotTimed) == 0;
    row.end = static_cast<WalkEnd>(kind);
    if (loading.in_window(row.time_ns)) calls.push_back(row);
  }
  auto whole = columns.whole();
  if (!whole) calls.resize(there);
  return whole;
}

}  // namespace fathom::store
