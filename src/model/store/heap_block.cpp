// HEAP: all heap tables, in sections. Rows of slices are the largest part: one column per sum, because within
// a slice most sites have the same columns empty, and whole numbers (all sums of an exact recording) take a
// few bytes where a double takes eight.
#include <fmt/format.h>

#include <algorithm>

#include "model/store/column.h"
#include "model/store/payload.h"
#include "model/store/row_coder.h"
#include "model/store/row_heads.h"

namespace fathom::store {
namespace {

using namespace model;

// Where a section's rows go.
enum class Place : std::uint8_t {
  kGrowing,   // the first row is the next one of the table
  kReplaced,  // row 0 empties the table
  kAppended,  // anywhere: the rows of this table have no ids
};

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

// Calls visit(section, what, place, table) for every table but the heaps: the order of the sections in a block.
template <class Heap, class Visit>
void sections_of(Heap& heap, const Visit& visit) {
  visit(kAllocators, "allocators", Place::kGrowing, heap.allocators);
  visit(kHooks, "hooks", Place::kGrowing, heap.hooks);
  visit(kSlices, "slices", Place::kGrowing, heap.slices);
  visit(kSites, "sites", Place::kGrowing, heap.sites);
  visit(kRows, "heap rows", Place::kAppended, heap.rows);
  visit(kSummaries, "heap summaries", Place::kReplaced, heap.summaries);
  visit(kHistograms, "heap histograms", Place::kReplaced, heap.histograms);
  visit(kUses, "heap uses", Place::kReplaced, heap.uses);
  visit(kReturns, "heap returns", Place::kReplaced, heap.returns);
  visit(kOutages, "heap outages", Place::kReplaced, heap.outages);
}

// A lost row of a growing table: repair() mends its ids.
template <class Row>
Row lost_row() {
  Row row{};
  if constexpr (requires { row.heap; }) row.heap = {kLostRow};
  return row;
}

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
    do {
      const std::size_t end = std::min(table.size(), first + kSectionRows);
      Bytes body;
      put_row_range(body, first, end);
      put_row_columns(body, std::span(table).subspan(first, end - first));
      section(number, body);
      first = end;
    } while (first < table.size());
  }
  std::vector<Bytes> take() { return std::move(blocks_); }

 private:
  std::vector<Bytes> blocks_;
};

template <class Row>
Result<> decode_rows(Cursor& in, std::string_view what, Place place, std::vector<Row>& table,
                     Loading& loading) {
  const auto range = read_row_range(in, what);
  if (!range) return tl::make_unexpected(range.error());
  if (place == Place::kReplaced && range->first == 0) {
    loading.give_back(table.size() * sizeof(Row));
    table = {};
  }
  std::size_t lost = 0;
  if (place != Place::kAppended) {
    if (auto continues = check_continues(*range, table.size(), what, loading); !continues) return continues;
    lost = place == Place::kGrowing ? range->first - table.size() : 0;
  }
  if (auto charged = loading.charge(lost * sizeof(Row)); !charged) return charged;
  const std::size_t before = table.size();
  table.resize(before + lost, lost_row<Row>());
  auto whole =
      read_row_columns<Row>(in, range->count, what, loading, [&](const Row& row) { table.push_back(row); });
  if (!whole) table.resize(before);
  return whole;
}

// The fields of a heap are not in columns: most recordings have one.
Bytes encode_heaps(const std::vector<Heap>& heaps) {
  Bytes body;
  put_varint(body, heaps.size());
  put_varint(body, RowCoder<Heap>::kCount.all);
  for (const Heap& heap : heaps)
    for (const std::uint64_t code : RowCoder<Heap>().encode(heap)) put_varint(body, code);
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
    RowCoder<Heap>::Codes codes{};
    for (std::uint64_t field = 0; field < fields; ++field) {
      const std::uint64_t code = in.read_uleb128();
      if (field < codes.size()) codes[field] = code;  // further fields: a newer minor version
    }
    heaps.push_back(RowCoder<Heap>().decode(codes));
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
    for (const std::uint64_t code : RowCoder<Row>().encode(row)) hash = mixed(hash, code);
  }
  return hash;
}

}  // namespace

HeapCopy copy_of(const HeapTables& heap) {
  HeapCopy copy;
  copy.heaps = heap.heaps;
  sections_of(heap, [&](Section section, std::string_view, Place place, const auto& table) {
    copy.sections[section] = place == Place::kReplaced ? fingerprint(table) : table.size();
  });
  return copy;
}

std::vector<Bytes> encode_heap(const HeapTables& heap, const HeapCopy& written) {
  Blocks out;
  if (heap.heaps != written.heaps) out.section(kHeaps, encode_heaps(heap.heaps));
  sections_of(heap, [&](Section section, std::string_view, Place place, const auto& table) {
    const std::uint64_t before = written.sections[section];
    if (place == Place::kGrowing) {
      if (table.size() > before) out.rows(section, table, before);
    } else if (place == Place::kReplaced ? fingerprint(table) != before : !table.empty()) {
      out.rows(section, table, 0);
    }
  });
  return out.take();
}

Result<> decode_heap(Cursor in, Loading& loading) {
  while (!in.at_end()) {
    const std::uint64_t number = in.read_uleb128();
    Cursor body = in.sub(in.read_uleb128());
    if (!in.ok()) return fail(ErrorKind::kMalformed, "a section is cut short");
    Result<> decoded;  // a section of a newer minor version is skipped
    if (number == kHeaps) decoded = decode_heaps(body, loading);
    sections_of(loading.profile.heap, [&](Section section, std::string_view what, Place place, auto& table) {
      if (section == number) decoded = decode_rows(body, what, place, table, loading);
    });
    if (!decoded) return decoded;
  }
  return in.ok() ? Result<>() : Result<>(fail(ErrorKind::kMalformed, "a section is cut short"));
}

}  // namespace fathom::store
