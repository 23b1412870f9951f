// HBLK: the lifetimes of single heap blocks, by far the largest number of rows in a recording. They are in
// allocation order: then time differences are small, sites repeat in the order in which the program runs
// through them, which zstd finds, and the slices of both ends are runs. A block usually has the size of the
// previous block of its site, and either its address or the same distance from it as before: so these two are
// encoded per site.
//
// Times have the most entropy: each is rounded down, but only so far that no count changes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <tuple>

#include "model/store/column.h"
#include "model/store/differences.h"
#include "model/store/payload.h"
#include "model/store/row_heads.h"

namespace fathom::store {
namespace {

using namespace model;

enum Section : unsigned {
  kSites = 1,
  kSizes = 2,
  kAddresses = 3,
  kAllocated = 4,
  kLifetimes = 5,
  kFirstSlices = 6,
  kLastSlices = 7,  // 0: live at the end
  kThreads = 8,     // the freeing thread: 0 the allocating one, 1 unknown, otherwise its row plus 2
  kMeans = 9,
  kTemporary = 10,
  kSections,
};

constexpr std::uint64_t kShortLivedNs = 1'000'000;

// Keeps the upper seven bits of a lifetime: loses less than 1.6 %, and nothing below 128 ns.
constexpr unsigned kLifetimeBits = 7;
constexpr std::uint64_t top_bits(std::uint64_t ns) {
  const unsigned bits = static_cast<unsigned>(std::bit_width(ns));
  if (bits <= kLifetimeBits) return ns;
  const unsigned shift = bits - kLifetimeBits;
  return (std::uint64_t{shift} << (kLifetimeBits - 1)) + (ns >> shift);
}
constexpr std::uint64_t from_top_bits(std::uint64_t code) {
  constexpr std::uint64_t kHalf = 1u << (kLifetimeBits - 1);
  if (code < 2 * kHalf) return code;
  const std::uint64_t shift = code / kHalf - 1;
  return shift > 64 - kLifetimeBits ? UINT64_MAX : (kHalf + code % kHalf) << shift;
}
// A millisecond, the limit of short-lived blocks, would be in the middle of a step: so longer lifetimes are
// one step higher.
std::uint64_t lifetime_code(std::uint64_t ns) {
  return top_bits(ns) + (ns >= kShortLivedNs ? 1 : 0);
}
std::uint64_t lifetime_of(std::uint64_t code) {
  return code <= top_bits(kShortLivedNs - 1) ? from_top_bits(code)
                                             : std::max(from_top_bits(code - 1), kShortLivedNs);
}
static_assert(from_top_bits(top_bits(127)) == 127 && from_top_bits(top_bits(200)) == 200);

}  // namespace

HeapBlock as_stored(HeapBlock block) {
  block.lifetime_ns = block.live() ? 0 : lifetime_of(lifetime_code(block.lifetime_ns));
  return block;
}

LivesHints hints_of(std::span<const HeapBlock> blocks) {
  LivesHints hints{true, true, 0};
  for (const HeapBlock& block : blocks) {
    hints.exact = hints.exact && block.mean_bytes == 0;
    hints.none_live = hints.none_live && !block.live();
    hints.most_size = std::max(hints.most_size, block.size);
  }
  return hints;
}

Bytes encode_lives(std::span<const HeapBlock> blocks, const HeapTables& heap) {
  std::vector<std::uint32_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tuple(blocks[a].allocated_ns, a) < std::tuple(blocks[b].allocated_ns, b);
  });
  std::array<std::vector<std::uint64_t>, kSections> columns;
  for (auto& column : columns) column.reserve(blocks.size());
  std::vector<LivesOfSites::Predecessor> sites(heap.sites.size());
  Differences allocated, first_slice, last_slice, mean;
  for (const std::uint32_t at : order) {
    const HeapBlock& block = blocks[at];
    const HeapSite& site = heap.sites[block.site.value];
    LivesOfSites::Predecessor& before = sites[block.site.value];
    columns[kSites].push_back(block.site.value);
    columns[kSizes].push_back(zigzag(static_cast<std::int64_t>(block.size - before.size)));
    columns[kAddresses].push_back(zigzag(static_cast<std::int64_t>(block.address - before.address)));
    before = {block.size, block.address};
    columns[kAllocated].push_back(allocated.encode(block.allocated_ns));
    columns[kLifetimes].push_back(block.live() ? 0 : lifetime_code(block.lifetime_ns));
    columns[kFirstSlices].push_back(first_slice.encode(block.first_slice));
    columns[kLastSlices].push_back(last_slice.encode(block.live() ? 0 : std::uint64_t{block.last_slice} + 1));
    columns[kThreads].push_back(block.freed_by == kNoThread     ? 1
                                : block.freed_by == site.thread ? 0
                                                                : std::uint64_t{block.freed_by.value} + 2);
    columns[kMeans].push_back(mean.encode(block.mean_bytes));
    columns[kTemporary].push_back(block.temporary ? 1 : 0);
  }
  Bytes out;
  put_varint(out, blocks.size());
  for (unsigned section = kSites; section < kSections; ++section) {
    Bytes body;
    put_column(body, columns[section]);
    put_section(out, section, body);
  }
  return out;
}

namespace {

tl::unexpected<Error> cut_short() {
  return fail(ErrorKind::kMalformed, "lives of blocks are cut short");
}

// By section.
Result<std::vector<ColumnReader>> columns_of(Cursor in, std::uint32_t rows) {
  const auto count = read_row_count(in, rows, "lives of blocks");
  if (!count) return tl::make_unexpected(count.error());
  std::vector<Cursor> bodies(kSections, Cursor({}));
  while (!in.at_end()) {
    const std::uint64_t number = in.read_uleb128();
    const Cursor body = in.sub(in.read_uleb128());
    if (number < kSections) bodies[number] = body;  // others: from a newer minor version
  }
  if (!in.ok()) return cut_short();
  std::vector<ColumnReader> columns;
  for (Cursor& body : bodies) columns.emplace_back(body, *count);
  for (unsigned section = kSites; section < kSections; ++section)
    if (!columns[section].ok()) return cut_short();
  return columns;
}

// Rows are decoded in groups, column by column: a loop over one column is fast, and a group of all columns fits into the first cache.
constexpr std::size_t kGroup = 256;
using Column = std::array<std::uint64_t, kGroup>;

// Replaces differences by what they add up to.
void add_up(std::span<std::uint64_t> column, Differences& differences) {
  for (std::uint64_t& value : column) value = differences.decode(value);
}

}  // namespace

Result<LivesGlance> glance_at_lives(Cursor in, std::uint32_t rows, std::size_t slices) {
  auto columns = columns_of(in, rows);
  if (!columns) return tl::make_unexpected(columns.error());
  ColumnReader &firsts = (*columns)[kFirstSlices], &lasts = (*columns)[kLastSlices],
               &means = (*columns)[kMeans];
  LivesGlance glance;
  Differences first_slice, last_slice;
  Column first, last, mean;
  for (std::uint64_t start = 0; start < rows; start += kGroup) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(rows - start, kGroup));
    firsts.fill(std::span(first).first(count));
    lasts.fill(std::span(last).first(count));
    means.fill(std::span(mean).first(count));
    for (std::size_t i = 0; i < count; ++i) {
      glance.blocks += first_slice.decode(first[i]) < slices ? 1 : 0;
      const std::uint64_t end = last_slice.decode(last[i]);
      glance.any_live |= end - 1 >= slices;  // 0, or beyond them
      glance.any_sampled |= mean[i] != 0;    // the first one differs from 0
    }
  }
  if (!firsts.ok() || !lasts.ok() || !means.ok()) return cut_short();
  return glance;
}

Result<> decode_lives(Cursor in, std::uint32_t rows, const HeapTables& heap, LivesOfSites& known,
                      std::vector<HeapBlock>& out, LivesOfSize* wanted) {
  out.clear();
  auto opened = columns_of(in, rows);
  if (!opened) return tl::make_unexpected(opened.error());
  std::vector<ColumnReader>& columns = *opened;

  if (wanted == nullptr) out.reserve(rows);
  for (const std::uint32_t site : known.used) known.sites[site] = {};
  known.used.clear();
  known.sites.resize(heap.sites.size());
  auto& sites = known.sites;
  Differences allocated, first_slice, last_slice, mean;
  std::array<Column, kSections> group;
  for (std::uint64_t start = 0; start < rows; start += kGroup) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(rows - start, kGroup));
    for (unsigned section = kSites; section < kSections; ++section)
      columns[section].fill(std::span(group[section]).first(count));
    add_up(std::span(group[kAllocated]).first(count), allocated);
    add_up(std::span(group[kFirstSlices]).first(count), first_slice);
    add_up(std::span(group[kLastSlices]).first(count), last_slice);
    add_up(std::span(group[kMeans]).first(count), mean);
    for (std::size_t i = 0; i < count; ++i) {
      HeapBlock block;
      block.site = {row_id(group[kSites][i])};
      if (block.site.value >= sites.size())
        return fail(ErrorKind::kMalformed, fmt::format("block {}: no such site", start + i));
      LivesOfSites::Predecessor& before = sites[block.site.value];
      if (!before.used) known.used.push_back(block.site.value);
      before.used = true;
      block.size = before.size += static_cast<std::uint64_t>(unzigzag(group[kSizes][i]));
      block.address = before.address += static_cast<std::uint64_t>(unzigzag(group[kAddresses][i]));
      block.first_slice = row_id(group[kFirstSlices][i]);
      block.mean_bytes = row_id(group[kMeans][i]);
      if (wanted != nullptr && !wanted->takes(block)) continue;
      block.allocated_ns = group[kAllocated][i];
      if (const std::uint64_t last = group[kLastSlices][i]; last != 0) {
        block.last_slice = row_id(last - 1);
        block.lifetime_ns = lifetime_of(group[kLifetimes][i]);
      }
      const std::uint64_t thread = group[kThreads][i];
      if (thread != 1)
        block.freed_by = thread == 0 ? heap.sites[block.site.value].thread : ThreadId{row_id(thread - 2)};
      block.temporary = group[kTemporary][i] != 0;
      if (block.last_slice < block.first_slice || block.lifetime_ns > UINT64_MAX - block.allocated_ns)
        return fail(ErrorKind::kMalformed, fmt::format("block {}: freed before it was allocated", start + i));
      out.push_back(block);
    }
  }
  for (unsigned section = kSites; section < kSections; ++section)
    if (!columns[section].ok()) return cut_short();
  return {};
}

}  // namespace fathom::store
