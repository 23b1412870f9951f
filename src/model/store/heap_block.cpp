// HEAP: all heap tables, in sections. Rows of slices are the largest part: one column per sum, because within
// a slice most sites have the same columns empty, and whole numbers (all sums of an exact recording) take a
// few bytes where a double takes eight.
#include <fmt/format.h>

#include <algorithm>

#include "model/store/column.h"
#include "model/store/differences.h"
#include "model/store/payload.h"
#include "model/store/row_heads.h"
#include "model/store/state_rows.h"

namespace fathom::store {
namespace {

using namespace model;

enum Section : unsigned {
  kHeaps = 1,
  kAllocators = 2,
  kHooks = 3,
  kSlices = 4,
  kSites = 5,
  kRows = 6,
  kSummaries = 7,
  kHistograms = 8,
  kUses = 9,
  kReturns = 10,
  kOutages = 11,
};

constexpr std::size_t kFullBlock = kMaxPayload / 4;
constexpr std::size_t kSectionRows = kMaxRows / 4;  // at most 150 bytes per row

// The fields of a heap, in file order. New ones are only added at the end.
constexpr std::uint64_t Heap::*kHeapNumbers[] = {
    &Heap::mean_bytes,    &Heap::start_ns,          &Heap::end_ns,
    &Heap::earlier_frees, &Heap::earlier_rss_bytes, &Heap::peak_ns,
    &Heap::events,        &Heap::lost_ring_full,    &Heap::lost_no_ring,
    &Heap::lost_throwing, &Heap::lost_set_full,     &Heap::lost_damaged,
    &Heap::nested,        &Heap::unwalked,          &Heap::incomplete,
    &Heap::unseen_frees,  &Heap::waited_ns,         &Heap::merged_sites,
    &Heap::invalid_frees, &Heap::lost_blocks,       &Heap::dropped_blocks,
    &Heap::dropped_bytes};
constexpr std::size_t kHeapFields = 5 + std::size(kHeapNumbers);
constexpr std::uint64_t kFromStart = 1, kSwitchedOff = 2, kEachBlock = 4, kImageEnded = 8;

std::array<std::uint64_t, kHeapFields> fields_of(const Heap& heap) {
  std::array<std::uint64_t, kHeapFields> fields{};
  fields[0] = heap.process.value;
  fields[1] = static_cast<std::uint64_t>(heap.mode);
  fields[2] = (heap.from_start ? kFromStart : 0) | (heap.switched_off ? kSwitchedOff : 0) |
              (heap.each_block ? kEachBlock : 0) | (heap.image_ended ? kImageEnded : 0);
  fields[3] = sum_code(heap.peak_bytes);
  fields[4] = sum_code(heap.peak_blocks);
  for (std::size_t i = 0; i < std::size(kHeapNumbers); ++i) fields[5 + i] = heap.*kHeapNumbers[i];
  return fields;
}
Heap heap_of(const std::array<std::uint64_t, kHeapFields>& fields) {
  Heap heap;
  heap.process = {row_id(fields[0])};
  heap.mode = static_cast<HeapMode>(std::min<std::uint64_t>(fields[1], 255));
  heap.from_start = (fields[2] & kFromStart) != 0;
  heap.switched_off = (fields[2] & kSwitchedOff) != 0;
  heap.each_block = (fields[2] & kEachBlock) != 0;
  heap.image_ended = (fields[2] & kImageEnded) != 0;
  heap.peak_bytes = sum_value(fields[3]);
  heap.peak_blocks = sum_value(fields[4]);
  for (std::size_t i = 0; i < std::size(kHeapNumbers); ++i) heap.*kHeapNumbers[i] = fields[5 + i];
  return heap;
}

// A table's columns, described once for both directions: code(row, i) gives column i, and set(row, i, code)
// restores it. Differences carry over from row to row, so each column has its own.
template <class Row>
struct Layout;

// Differences and plain numbers by column.
struct Coder {
  std::array<Differences, 16> differences;
};

template <>
struct Layout<HeapAllocator> {
  static constexpr std::string_view kName = "allocators";
  static constexpr std::size_t kColumns = 2;
  static void encode(const HeapAllocator& row, Coder& coder, std::uint64_t* out) {
    out[0] = coder.differences[0].encode(row.label.value);
    out[1] = coder.differences[1].encode(row.module.value);
  }
  static HeapAllocator decode(Coder& coder, const std::uint64_t* in) {
    return {{row_id(coder.differences[0].decode(in[0]))}, {row_id(coder.differences[1].decode(in[1]))}};
  }
  static HeapAllocator lost() { return {}; }
};

template <>
struct Layout<HeapHook> {
  static constexpr std::string_view kName = "hooks";
  static constexpr std::size_t kColumns = 4;
  static void encode(const HeapHook& row, Coder& coder, std::uint64_t* out) {
    out[0] = coder.differences[0].encode(row.allocator.value);
    out[1] = coder.differences[1].encode(row.function.value);
    out[2] = coder.differences[2].encode(row.note.value);
    out[3] = static_cast<std::uint64_t>(row.kind);
  }
  static HeapHook decode(Coder& coder, const std::uint64_t* in) {
    HeapHook row;
    row.allocator = {row_id(coder.differences[0].decode(in[0]))};
    row.function = {row_id(coder.differences[1].decode(in[1]))};
    row.note = {row_id(coder.differences[2].decode(in[2]))};
    row.kind = static_cast<HookKind>(std::min<std::uint64_t>(in[3], 255));
    return row;
  }
  static HeapHook lost() { return {}; }
};

template <>
struct Layout<HeapSlice> {
  static constexpr std::string_view kName = "slices";
  static constexpr std::size_t kColumns = 7;
  static void encode(const HeapSlice& row, Coder& coder, std::uint64_t* out) {
    out[0] = row.heap.value;
    out[1] = coder.differences[1].encode(row.start_ns);
    out[2] = row.end_ns - row.start_ns;
    out[3] = zigzag(static_cast<std::int64_t>(row.peak_ns - row.start_ns));
    out[4] = sum_code(row.peak_bytes);
    out[5] = sum_code(row.live_bytes);
    out[6] = sum_code(row.live_blocks);
  }
  static HeapSlice decode(Coder& coder, const std::uint64_t* in) {
    HeapSlice row;
    row.heap = {row_id(in[0])};
    row.start_ns = coder.differences[1].decode(in[1]);
    row.end_ns = row.start_ns + in[2];
    row.peak_ns = row.start_ns + static_cast<std::uint64_t>(unzigzag(in[3]));
    row.peak_bytes = sum_value(in[4]);
    row.live_bytes = sum_value(in[5]);
    row.live_blocks = sum_value(in[6]);
    return row;
  }
  static HeapSlice lost() {
    HeapSlice row;
    row.heap = {kLostRow};
    return row;
  }
};

template <>
struct Layout<HeapOutage> {
  static constexpr std::string_view kName = "heap outages";
  static constexpr std::size_t kColumns = 3;
  static void encode(const HeapOutage& row, Coder& coder, std::uint64_t* out) {
    out[0] = row.heap.value;
    out[1] = coder.differences[1].encode(row.start_ns);
    out[2] = row.end_ns - row.start_ns;
  }
  static HeapOutage decode(Coder& coder, const std::uint64_t* in) {
    HeapOutage row;
    row.heap = {row_id(in[0])};
    row.start_ns = coder.differences[1].decode(in[1]);
    row.end_ns = row.start_ns + in[2];
    return row;
  }
};

template <>
struct Layout<HeapSite> {
  static constexpr std::string_view kName = "sites";
  static constexpr std::size_t kColumns = 5;
  static void encode(const HeapSite& row, Coder& coder, std::uint64_t* out) {
    out[0] = row.heap.value;
    out[1] = coder.differences[1].encode(row.stack.value);
    out[2] = row.allocator.value;
    out[3] = row.thread == kNoThread ? 0 : std::uint64_t{row.thread.value} + 1;
    out[4] = row.end;
  }
  static HeapSite decode(Coder& coder, const std::uint64_t* in) {
    HeapSite row;
    row.heap = {row_id(in[0])};
    row.stack = {row_id(coder.differences[1].decode(in[1]))};
    row.allocator = {row_id(in[2])};
    row.thread = in[3] == 0 ? kNoThread : ThreadId{std::min(row_id(in[3] - 1), kLostRow - 1)};
    row.end = static_cast<WalkEnd>(in[4]);
    return row;
  }
  static HeapSite lost() {
    HeapSite row;
    row.heap = {kLostRow};
    return row;
  }
};

constexpr HeapSum HeapRow::*kRowSums[] = {&HeapRow::allocated, &HeapRow::freed, &HeapRow::temporary,
                                          &HeapRow::short_lived};

template <>
struct Layout<HeapRow> {
  static constexpr std::string_view kName = "heap rows";
  static constexpr std::size_t kColumns = 15;
  static void encode(const HeapRow& row, Coder& coder, std::uint64_t* out) {
    out[0] = coder.differences[0].encode(row.slice.value);
    out[1] = coder.differences[1].encode(row.site.value);
    std::size_t at = 2;
    for (const auto sum : kRowSums) {
      out[at++] = sum_code((row.*sum).blocks);
      out[at++] = sum_code((row.*sum).bytes);
    }
    for (const HeapVariance& variance : {row.allocated_variance, row.freed_variance}) {
      out[at++] = sum_code(variance.blocks);
      out[at++] = sum_code(variance.bytes);
    }
    out[at] = sum_code(row.churn_variance);
  }
  static HeapRow decode(Coder& coder, const std::uint64_t* in) {
    HeapRow row;
    row.slice = {row_id(coder.differences[0].decode(in[0]))};
    row.site = {row_id(coder.differences[1].decode(in[1]))};
    std::size_t at = 2;
    for (const auto sum : kRowSums) {
      (row.*sum).blocks = sum_value(in[at++]);
      (row.*sum).bytes = sum_value(in[at++]);
    }
    for (HeapVariance* variance : {&row.allocated_variance, &row.freed_variance}) {
      variance->blocks = sum_value(in[at++]);
      variance->bytes = sum_value(in[at++]);
    }
    row.churn_variance = sum_value(in[at]);
    return row;
  }
};

template <>
struct Layout<HeapSummary> {
  static constexpr std::string_view kName = "heap summaries";
  static constexpr std::size_t kColumns = 6;
  static void encode(const HeapSummary& row, Coder& coder, std::uint64_t* out) {
    out[0] = coder.differences[0].encode(row.site.value);
    out[1] = sum_code(row.peak.blocks);
    out[2] = sum_code(row.peak.bytes);
    out[3] = sum_code(row.peak_variance.blocks);
    out[4] = sum_code(row.peak_variance.bytes);
    out[5] = row.longest_ns;
  }
  static HeapSummary decode(Coder& coder, const std::uint64_t* in) {
    return {{row_id(coder.differences[0].decode(in[0]))},
            {sum_value(in[1]), sum_value(in[2])},
            {sum_value(in[3]), sum_value(in[4])},
            in[5]};
  }
};

template <>
struct Layout<HeapHistogram> {
  static constexpr std::string_view kName = "heap histograms";
  static constexpr std::size_t kColumns = 5;
  static void encode(const HeapHistogram& row, Coder& coder, std::uint64_t* out) {
    out[0] = coder.differences[0].encode(row.site.value);
    out[1] = static_cast<std::uint64_t>(row.kind);
    out[2] = row.bucket;
    out[3] = sum_code(row.sum.blocks);
    out[4] = sum_code(row.sum.bytes);
  }
  static HeapHistogram decode(Coder& coder, const std::uint64_t* in) {
    const auto small = [](std::uint64_t value) {
      return static_cast<std::uint8_t>(std::min<std::uint64_t>(value, 255));
    };
    return {{row_id(coder.differences[0].decode(in[0]))},
            static_cast<HeapHistogramKind>(small(in[1])),
            small(in[2]),
            {sum_value(in[3]), sum_value(in[4])}};
  }
};

template <>
struct Layout<HeapUse> {
  static constexpr std::string_view kName = "heap uses";
  static constexpr std::size_t kColumns = 6;
  static void encode(const HeapUse& row, Coder& coder, std::uint64_t* out) {
    out[0] = coder.differences[0].encode(row.site.value);
    out[1] = sum_code(row.live_usable);
    out[2] = sum_code(row.wrong_size.blocks);
    out[3] = sum_code(row.wrong_size.bytes);
    out[4] = sum_code(row.foreign.blocks);
    out[5] = sum_code(row.foreign.bytes);
  }
  static HeapUse decode(Coder& coder, const std::uint64_t* in) {
    return {{row_id(coder.differences[0].decode(in[0]))},
            sum_value(in[1]),
            {sum_value(in[2]), sum_value(in[3])},
            {sum_value(in[4]), sum_value(in[5])}};
  }
};

template <>
struct Layout<HeapReturn> {
  static constexpr std::string_view kName = "heap returns";
  static constexpr std::size_t kColumns = 3;
  static void encode(const HeapReturn& row, Coder& coder, std::uint64_t* out) {
    out[0] = coder.differences[0].encode(row.site.value);
    out[1] = sum_code(row.given_back.blocks);
    out[2] = sum_code(row.given_back.bytes);
  }
  static HeapReturn decode(Coder& coder, const std::uint64_t* in) {
    return {{row_id(coder.differences[0].decode(in[0]))}, {sum_value(in[1]), sum_value(in[2])}};
  }
};

// Sections, cut into blocks.
class Blocks {
 public:
  void section(unsigned number, const Bytes& body) {
    if (blocks_.empty() || blocks_.back().size() + body.size() > kFullBlock) blocks_.emplace_back();
    put_section(blocks_.back(), number, body);
  }
  // Rows starting at `first`, which places them in their table; a section without rows if there are none.
  template <class Row>
  void rows(unsigned number, const std::vector<Row>& table, std::size_t first) {
    constexpr std::size_t kColumns = Layout<Row>::kColumns;
    do {
      const std::size_t end = std::min(table.size(), first + kSectionRows);
      std::array<std::vector<std::uint64_t>, kColumns> columns;
      Coder coder;
      for (std::size_t i = first; i < end; ++i) {
        std::array<std::uint64_t, kColumns> codes{};
        Layout<Row>::encode(table[i], coder, codes.data());
        for (std::size_t column = 0; column < kColumns; ++column) columns[column].push_back(codes[column]);
      }
      Bytes body;
      put_row_range(body, first, end);
      for (const auto& column : columns) put_column(body, column);
      section(number, body);
      first = end;
    } while (first < table.size());
  }
  std::vector<Bytes> take() { return std::move(blocks_); }

 private:
  std::vector<Bytes> blocks_;
};

// Where a section's rows go.
enum class Place : std::uint8_t {
  kGrowing,   // `first` is the next row of the table
  kAnew,      // `first` = 0 empties the table
  kAppended,  // anywhere: the rows of this table have no ids
};

template <class Row>
Result<> decode_rows(Cursor& in, std::vector<Row>& table, Place place, Loading& loading) {
  constexpr std::string_view kName = Layout<Row>::kName;
  const auto range = read_row_range(in, kName);
  if (!range) return tl::make_unexpected(range.error());
  if (place == Place::kAnew && range->first == 0) {
    loading.give_back(table.size() * sizeof(Row));
    table = {};
  }
  std::size_t lost = 0;
  if (place != Place::kAppended) {
    if (auto continues = check_continues(*range, table.size(), kName, loading); !continues) return continues;
    lost = place == Place::kGrowing ? range->first - table.size() : 0;
  }
  constexpr unsigned kColumns = Layout<Row>::kColumns;
  RowColumns columns(in, range->count, kColumns, kName);
  if (auto charged = loading.charge(lost * sizeof(Row)); !charged) return charged;
  if (auto admitted = columns.admit(sizeof(Row), loading); !admitted) return admitted;
  if constexpr (requires { Layout<Row>::lost(); }) table.resize(table.size() + lost, Layout<Row>::lost());
  const std::size_t there = table.size();
  Coder coder;
  for (std::uint32_t i = 0; i < range->count; ++i) {
    std::array<std::uint64_t, kColumns> codes{};
    for (unsigned column = 0; column < kColumns; ++column) codes[column] = columns.next(column);
    table.push_back(Layout<Row>::decode(coder, codes.data()));
  }
  auto whole = columns.whole();
  if (!whole) table.erase(table.begin() + static_cast<std::ptrdiff_t>(there), table.end());
  return whole;
}

Bytes encode_heaps(const std::vector<Heap>& heaps) {
  Bytes body;
  put_varint(body, heaps.size());
  put_varint(body, kHeapFields);
  for (const Heap& heap : heaps)
    for (const std::uint64_t field : fields_of(heap)) put_varint(body, field);
  return body;
}

Result<> decode_heaps(Cursor& in, Loading& loading) {
  const std::uint64_t count = in.read_uleb128();
  const std::uint64_t fields = in.read_uleb128();
  if (!in.ok() || fields == 0 || fields > 1024 || count > in.remaining() / fields)
    return fail(ErrorKind::kMalformed, "heaps are cut short");
  if (auto charged = loading.charge(count * sizeof(Heap)); !charged) return charged;
  std::vector<Heap> heaps;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::array<std::uint64_t, kHeapFields> values{};
    for (std::uint64_t field = 0; field < fields; ++field) {
      const std::uint64_t value = in.read_uleb128();
      if (field < kHeapFields) values[field] = value;  // further fields: a newer minor version
    }
    heaps.push_back(heap_of(values));
  }
  if (!in.ok()) return fail(ErrorKind::kMalformed, "heaps are cut short");
  loading.profile.heap.heaps = std::move(heaps);
  return {};
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
  return hash ^ hash >> 32;
}

// Detects changes in tables that are replaced as a whole, without keeping a copy of them.
template <class Row>
std::uint64_t fingerprint(const std::vector<Row>& rows) {
  std::uint64_t hash = rows.size();
  for (const Row& row : rows) {
    std::array<std::uint64_t, Layout<Row>::kColumns> codes{};
    Coder coder;
    Layout<Row>::encode(row, coder, codes.data());
    for (const std::uint64_t code : codes) hash = mixed(hash, code);
  }
  return hash;
}

}  // namespace

HeapCopy copy_of(const HeapTables& heap) {
  HeapCopy copy;
  copy.heaps = heap.heaps;
  copy.allocators = heap.allocators.size();
  copy.hooks = heap.hooks.size();
  copy.slices = heap.slices.size();
  copy.sites = heap.sites.size();
  copy.summaries = fingerprint(heap.summaries);
  copy.histograms = fingerprint(heap.histograms);
  copy.uses = fingerprint(heap.uses);
  copy.returns = fingerprint(heap.returns);
  copy.outages = fingerprint(heap.outages);
  return copy;
}

std::vector<Bytes> encode_heap(const HeapTables& heap, const HeapCopy& written) {
  Blocks out;
  if (heap.heaps != written.heaps) out.section(kHeaps, encode_heaps(heap.heaps));
  if (heap.allocators.size() > written.allocators) out.rows(kAllocators, heap.allocators, written.allocators);
  if (heap.hooks.size() > written.hooks) out.rows(kHooks, heap.hooks, written.hooks);
  if (heap.slices.size() > written.slices) out.rows(kSlices, heap.slices, written.slices);
  if (heap.sites.size() > written.sites) out.rows(kSites, heap.sites, written.sites);
  if (!heap.rows.empty()) out.rows(kRows, heap.rows, 0);
  if (fingerprint(heap.summaries) != written.summaries) out.rows(kSummaries, heap.summaries, 0);
  if (fingerprint(heap.histograms) != written.histograms) out.rows(kHistograms, heap.histograms, 0);
  if (fingerprint(heap.uses) != written.uses) out.rows(kUses, heap.uses, 0);
  if (fingerprint(heap.returns) != written.returns) out.rows(kReturns, heap.returns, 0);
  if (fingerprint(heap.outages) != written.outages) out.rows(kOutages, heap.outages, 0);
  return out.take();
}

Result<> decode_heap(Cursor in, Loading& loading) {
  HeapTables& heap = loading.profile.heap;
  while (!in.at_end()) {
    const std::uint64_t number = in.read_uleb128();
    Cursor body = in.sub(in.read_uleb128());
    if (!in.ok()) return fail(ErrorKind::kMalformed, "a section is cut short");
    Result<> decoded;
    switch (number) {
      case kHeaps:
        decoded = decode_heaps(body, loading);
        break;
      case kAllocators:
        decoded = decode_rows(body, heap.allocators, Place::kGrowing, loading);
        break;
      case kHooks:
        decoded = decode_rows(body, heap.hooks, Place::kGrowing, loading);
        break;
      case kSlices:
        decoded = decode_rows(body, heap.slices, Place::kGrowing, loading);
        break;
      case kSites:
        decoded = decode_rows(body, heap.sites, Place::kGrowing, loading);
        break;
      case kRows:
        decoded = decode_rows(body, heap.rows, Place::kAppended, loading);
        break;
      case kSummaries:
        decoded = decode_rows(body, heap.summaries, Place::kAnew, loading);
        break;
      case kHistograms:
        decoded = decode_rows(body, heap.histograms, Place::kAnew, loading);
        break;
      case kUses:
        decoded = decode_rows(body, heap.uses, Place::kAnew, loading);
        break;
      case kReturns:
        decoded = decode_rows(body, heap.returns, Place::kAnew, loading);
        break;
      case kOutages:
        decoded = decode_rows(body, heap.outages, Place::kAnew, loading);
        break;
      default:
        break;  // from a newer minor version
    }
    if (!decoded) return decoded;
  }
  return in.ok() ? Result<>() : Result<>(fail(ErrorKind::kMalformed, "a section is cut short"));
}

}  // namespace fathom::store
