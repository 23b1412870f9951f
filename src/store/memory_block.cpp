// MEMR: what the memory of processes was made of, sixteen columns. The compositions of a process hold nearly
// the same rows in the same order, so ids and times are differences to the row before.
#include <fmt/format.h>

#include <algorithm>

#include "store/column.h"
#include "store/differences.h"
#include "store/payload.h"

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
  const std::uint64_t count = in.read_uleb128();
  if (!in.ok() || count != rows || count > kMaxRows)
    return fail(ErrorKind::kMalformed, fmt::format("{} memory ranges, or {}", count, rows));
  std::vector<ColumnReader> columns;
  for (int i = 0; i < kColumnCount; ++i) columns.emplace_back(in, count);
  const auto all_ok = [&] { return std::ranges::all_of(columns, &ColumnReader::ok); };
  if (!all_ok()) return fail(ErrorKind::kMalformed, "memory ranges are cut short");
  if (auto charged = loading.charge(count * sizeof(MemoryRange)); !charged) return charged;
  if (auto enough = loading.work(count); !enough) return enough;

  auto& ranges = loading.profile.memory_ranges;
  const std::size_t there = ranges.size();
  Differences times, processes, names;
  for (std::uint64_t i = 0; i < count; ++i) {
    MemoryRange range;
    range.time_ns = times.decode(columns[kTime].next());
    range.process = {row_id(processes.decode(columns[kProcess].next()))};
    range.kind = static_cast<MemoryKind>(std::min<std::uint64_t>(columns[kKind].next(), 255));
    range.name = {row_id(names.decode(columns[kName].next()))};
    range.allocator = {row_id(columns[kAllocator].next())};
    range.ranges = columns[kRanges].next();
    range.virtual_bytes = columns[kVirtual].next();
    range.rss_bytes = columns[kRss].next();
    range.anonymous_bytes = columns[kAnonymous].next();
    range.swap_bytes = columns[kSwap].next();
    range.huge_bytes = columns[kHuge].next();
    range.live_blocks = sum_value(columns[kLiveBlocks].next());
    range.live_bytes = sum_value(columns[kLiveBytes].next());
    range.live_resident_bytes = sum_value(columns[kLiveResident].next());
    range.live_resident_variance = sum_value(columns[kLiveVariance].next());
    const std::uint64_t flags = columns[kFlags].next();
    range.live_is_bound = (flags & kLiveIsBound) != 0;
    range.shared_out = (flags & kSharedOut) != 0;
    ranges.push_back(range);
  }
  if (!all_ok()) {
    ranges.resize(there);
    return fail(ErrorKind::kMalformed, "memory ranges are cut short");
  }
  return {};
}

}  // namespace fathom::store
