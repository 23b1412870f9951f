// MEMR: the composition of processes' memory, sixteen columns. The compositions of a process have nearly the
// same rows in the same order, so ids and times are differences from the previous row.
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
  kProcess,
  kKind,
  kName,
  kAllocator,
  kRanges,
  kVirtual,
  kRss,
  kAnonymous,
  kSwap,
  kHuge,
  kLiveBlocks,
  kLiveBytes,
  kLiveResident,
  kLiveVariance,
  kFlags,
  kColumnCount
};

constexpr std::uint64_t kLiveIsBound = 1, kSharedOut = 2;

}  // namespace

Bytes encode_memory(std::span<const MemoryRange> ranges) {
  std::array<std::vector<std::uint64_t>, kColumnCount> columns;
  Differences times, processes, names;
  for (const MemoryRange& range : ranges) {
    columns[kTime].push_back(times.encode(range.time_ns));
    columns[kProcess].push_back(processes.encode(range.process.value));
    columns[kKind].push_back(static_cast<std::uint64_t>(range.kind));
    columns[kName].push_back(names.encode(range.name.value));
    columns[kAllocator].push_back(range.allocator.value);
    columns[kRanges].push_back(range.ranges);
    columns[kVirtual].push_back(range.virtual_bytes);
    columns[kRss].push_back(range.rss_bytes);
    columns[kAnonymous].push_back(range.anonymous_bytes);
    columns[kSwap].push_back(range.swap_bytes);
    columns[kHuge].push_back(range.huge_bytes);
    columns[kLiveBlocks].push_back(sum_code(range.live_blocks));
    columns[kLiveBytes].push_back(sum_code(range.live_bytes));
    columns[kLiveResident].push_back(sum_code(range.live_resident_bytes));
    columns[kLiveVariance].push_back(sum_code(range.live_resident_variance));
    columns[kFlags].push_back((range.live_is_bound ? kLiveIsBound : 0) | (range.shared_out ? kSharedOut : 0));
  }
  Bytes out;
  put_varint(out, ranges.size());
  for (const auto& column : columns) put_column(out, column);
  return out;
}

Result<> decode_memory(Cursor in, std::uint32_t rows, Loading& loading) {
  const auto count = read_row_count(in, rows, "memory ranges");
  if (!count) return tl::make_unexpected(count.error());
  RowColumns columns(in, *count, kColumnCount, "memory ranges");
  if (auto admitted = columns.admit(sizeof(MemoryRange), loading); !admitted) return admitted;

  auto& ranges = loading.profile.memory_ranges;
  const std::size_t there = ranges.size();
  Differences times, processes, names;
  for (std::uint64_t i = 0; i < *count; ++i) {
    MemoryRange range;
    range.time_ns = times.decode(columns.next(kTime));
    range.process = {row_id(processes.decode(columns.next(kProcess)))};
    range.kind = static_cast<MemoryKind>(std::min<std::uint64_t>(columns.next(kKind), 255));
    range.name = {row_id(names.decode(columns.next(kName)))};
    range.allocator = {row_id(columns.next(kAllocator))};
    range.ranges = columns.next(kRanges);
    range.virtual_bytes = columns.next(kVirtual);
    range.rss_bytes = columns.next(kRss);
    range.anonymous_bytes = columns.next(kAnonymous);
    range.swap_bytes = columns.next(kSwap);
    range.huge_bytes = columns.next(kHuge);
    range.live_blocks = sum_value(columns.next(kLiveBlocks));
    range.live_bytes = sum_value(columns.next(kLiveBytes));
    range.live_resident_bytes = sum_value(columns.next(kLiveResident));
    range.live_resident_variance = sum_value(columns.next(kLiveVariance));
    const std::uint64_t flags = columns.next(kFlags);
    range.live_is_bound = (flags & kLiveIsBound) != 0;
    range.shared_out = (flags & kSharedOut) != 0;
    ranges.push_back(range);
  }
  auto whole = columns.whole();
  if (!whole) ranges.resize(there);
  return whole;
}

}  // namespace fathom::store
