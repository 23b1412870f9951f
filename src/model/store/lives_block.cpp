// HBLK: the lifetimes of single heap blocks, by far the largest number of rows in a recording. They are in
// allocation order: then time differences are small, sites repeat in the order in which the program runs
// through them, which zstd finds, and the slices of both ends are runs. A block usually has the size of the
// previous block of its site, and either its address or the same distance from it as before: so these two are
// encoded per site.
//
// Times have the most entropy: each is rounded down, but only so far that no count changes.
#include <fmt/format.h>

#include <algorithm>
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

}  // namespace

Result<LivesGlance> glance_at_lives(Cursor in, std::uint32_t rows, std::size_t slices) {
  auto columns = columns_of(in, rows);
  if (!columns) return tl::make_unexpected(columns.error());
  ColumnReader &firsts = (*columns)[kFirstSlices], &lasts = (*columns)[kLastSlices],
               &means = (*columns)[kMeans];
  LivesGlance glance;
  Differences first_slice, last_slice;
  for (std::uint32_t i = 0; i < rows; ++i) {
    if (first_slice.decode(firsts.next()) < slices) ++glance.blocks;
    const std::uint64_t last = last_slice.decode(lasts.next());
    glance.any_live = glance.any_live || last == 0 || last > slices;
    glance.any_sampled = glance.any_sampled || means.next() != 0;  // the first one differs from 0
  }
  if (!firsts.ok() || !lasts.ok() || !means.ok()) return cut_short();
  return glance;
}

Result<> decode_lives(Cursor in, std::uint32_t rows, const HeapTables& heap, LivesOfSites& known,
                      std::vector<HeapBlock>& out) {
  out.clear();
  auto opened = columns_of(in, rows);
  if (!opened) return tl::make_unexpected(opened.error());
  std::vector<ColumnReader>& columns = *opened;

  out.reserve(rows);
  for (const std::uint32_t site : known.used) known.sites[site] = {};
  known.used.clear();
  known.sites.resize(heap.sites.size());
  auto& sites = known.sites;
  Differences allocated, first_slice, last_slice, mean;
  for (std::uint64_t i = 0; i < rows; ++i) {
    HeapBlock block;
    block.site = {row_id(columns[kSites].next())};
    if (block.site.value >= sites.size())
      return fail(ErrorKind::kMalformed, fmt::format("block {}: no such site", i));
    LivesOfSites::Predecessor& before = sites[block.site.value];
    known.used.push_back(block.site.value);
    block.size = before.size += static_cast<std::uint64_t>(unzigzag(columns[kSizes].next()));
    block.address = before.address += static_cast<std::uint64_t>(unzigzag(columns[kAddresses].next()));
    block.allocated_ns = allocated.decode(columns[kAllocated].next());
    const std::uint64_t lifetime = columns[kLifetimes].next();
    block.first_slice = row_id(first_slice.decode(columns[kFirstSlices].next()));
    const std::uint64_t last = last_slice.decode(columns[kLastSlices].next());
    if (last != 0) {
      block.last_slice = row_id(last - 1);
      block.lifetime_ns = lifetime_of(lifetime);
    }
    const std::uint64_t thread = columns[kThreads].next();
    if (thread != 1)
      block.freed_by = thread == 0 ? heap.sites[block.site.value].thread : ThreadId{row_id(thread - 2)};
    block.mean_bytes = row_id(mean.decode(columns[kMeans].next()));
    block.temporary = columns[kTemporary].next() != 0;
    if (block.last_slice < block.first_slice || block.lifetime_ns > UINT64_MAX - block.allocated_ns)
      return fail(ErrorKind::kMalformed, fmt::format("block {}: freed before it was allocated", i));
    out.push_back(block);
  }
  for (unsigned section = kSites; section < kSections; ++section)
    if (!columns[section].ok()) return cut_short();
  return {};
}

}  // namespace fathom::store
