// FALT, CALL, SPAN and MEMR: blocks that are one table, a column for each field of model/fields/events.h. Faults and calls come in runs of
// one thread or function and place, and the compositions of a process have nearly the same rows in the same order, so most ids and
// times are differences from the previous row.
#include <fmt/format.h>

#include "model/store/payload.h"
#include "model/store/row_coder.h"

namespace fathom::store {
namespace {

using namespace model;

template <class Row>
Bytes encode_table(std::span<const Row> rows) {
  Bytes out;
  put_varint(out, rows.size());
  put_row_columns(out, rows);
  return out;
}

// Appends the rows for which keep(row) is true to `table`; after an error none.
template <class Row, class Keep>
Result<> decode_table(Cursor in, std::uint32_t rows, std::string_view what, Loading& loading,
                      std::vector<Row>& table, const Keep& keep) {
  const auto count = read_row_count(in, rows, what);
  if (!count) return tl::make_unexpected(count.error());
  const std::size_t there = table.size();
  auto whole = read_row_columns<Row>(in, *count, what, loading, [&](const Row& row) {
    if (keep(row)) table.push_back(row);
  });
  if (!whole) table.resize(there);
  return whole;
}

}  // namespace

Bytes encode_faults(std::span<const Fault> faults) {
  return encode_table(faults);
}
Result<> decode_faults(Cursor in, std::uint32_t rows, Loading& loading) {
  auto& faults = loading.profile.faults;
  const std::size_t there = faults.size();
  bool unknown_thread = false;
  auto whole = decode_table(in, rows, "faults", loading, faults, [&](const Fault& fault) {
    unknown_thread = unknown_thread || fault.thread.value >= loading.profile.threads.size();
    return loading.in_window(fault.time_ns);
  });
  if (whole && unknown_thread && !loading.damaged) {
    faults.resize(there);
    return fail(ErrorKind::kMalformed, "a fault of a thread that is not there");
  }
  return whole;
}

Bytes encode_calls(std::span<const Calls> calls) {
  return encode_table(calls);
}
Result<> decode_calls(Cursor in, std::uint32_t rows, Loading& loading) {
  return decode_table(in, rows, "calls", loading, loading.profile.calls,
                      [&](const Calls& row) { return loading.in_window(row.time_ns); });
}

Bytes encode_spans(std::span<const Span> spans) {
  return encode_table(spans);
}
Result<> decode_spans(Cursor in, std::uint32_t rows, Loading& loading) {
  auto& spans = loading.profile.spans;
  const std::size_t there = spans.size();
  bool endless = false;
  auto whole = decode_table(in, rows, "spans", loading, spans, [&](const Span& row) {
    endless = endless || row.end_ns < row.start_ns;
    return loading.overlaps_window(row.start_ns, row.end_ns);
  });
  if (whole && endless) {
    spans.resize(there);
    return fail(ErrorKind::kMalformed, "a span that ends beyond the end of time");
  }
  // A source that a later version added is one that this version does not know.
  for (std::size_t i = there; i < spans.size(); ++i)
    if (spans[i].source > kLastSpanSource) spans[i].source = SpanSource::kUnknown;
  return whole;
}

Bytes encode_memory(std::span<const MemoryRange> ranges) {
  return encode_table(ranges);
}
Result<> decode_memory(Cursor in, std::uint32_t rows, Loading& loading) {
  return decode_table(in, rows, "memory ranges", loading, loading.profile.memory_ranges,
                      [](const MemoryRange&) { return true; });
}

}  // namespace fathom::store
