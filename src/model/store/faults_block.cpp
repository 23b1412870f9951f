// FALT: page faults, seven columns. Faults come in runs of the same thread, place and file, and pages of a
// file are often used in order, so each number is the difference from the previous fault.
#include <fmt/format.h>

#include <algorithm>

#include "model/store/differences.h"
#include "model/store/payload.h"
#include "model/store/row_heads.h"

namespace fathom::store {
namespace {

using namespace model;

enum Column { kTime, kThread, kStack, kObject, kOffset, kWeight, kKind, kColumnCount };

// kKind holds how the stack walk ended, plus this bit.
constexpr std::uint64_t kMajorFault = 0x100;

}  // namespace

Bytes encode_faults(std::span<const Fault> faults) {
  std::array<std::vector<std::uint64_t>, kColumnCount> columns;
  std::array<Differences, kColumnCount> before;
  for (const Fault& fault : faults) {
    const auto put = [&](Column column, std::uint64_t value) {
      columns[column].push_back(before[column].encode(value));
    };
    put(kTime, fault.time_ns);
    put(kThread, fault.thread.value);
    put(kStack, fault.stack.value);
    put(kObject, fault.object.value);
    put(kOffset, fault.offset);
    put(kWeight, fault.weight);
    put(kKind, fault.end | (fault.major ? kMajorFault : 0));
  }
  Bytes out;
  put_varint(out, faults.size());
  for (const auto& column : columns) put_column(out, column);
  return out;
}

Result<> decode_faults(Cursor in, std::uint32_t rows, Loading& loading) {
  const auto count = read_row_count(in, rows, "faults");
  if (!count) return tl::make_unexpected(count.error());
  RowColumns columns(in, *count, kColumnCount, "faults");
  if (auto admitted = columns.admit(sizeof(Fault), loading); !admitted) return admitted;

  auto& faults = loading.profile.faults;
  const std::size_t there = faults.size();
  std::array<Differences, kColumnCount> before;
  for (std::uint64_t i = 0; i < *count; ++i) {
    const auto next = [&](Column column) { return before[column].decode(columns.next(column)); };
    Fault fault;
    fault.time_ns = next(kTime);
    fault.thread = {row_id(next(kThread))};
    fault.stack = {row_id(next(kStack))};
    fault.object = {row_id(next(kObject))};
    fault.offset = next(kOffset);
    fault.weight = row_id(next(kWeight));
    const std::uint64_t kind = next(kKind);
    fault.major = (kind & kMajorFault) != 0;
    fault.end = static_cast<WalkEnd>(kind);
    if (fault.thread.value >= loading.profile.threads.size() && !loading.damaged) {
      faults.resize(there);
      return fail(ErrorKind::kMalformed, fmt::format("fault {}: no such thread", i));
    }
    if (loading.in_window(fault.time_ns)) faults.push_back(fault);
  }
  auto whole = columns.whole();
  if (!whole) faults.resize(there);
  return whole;
}

}  // namespace fathom::store
