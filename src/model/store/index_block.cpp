// INDX and END.: written once, by finish(). The index lets a reader of a window skip blocks of samples
// without touching their payload; walking the blocks finds everything in it, too.
#include <cstring>

#include "model/store/block.h"
#include "model/store/column.h"
#include "model/store/payload.h"

namespace fathom::store {

Bytes encode_index(std::span<const IndexEntry> entries) {
  std::array<std::vector<std::uint64_t>, 5> columns;
  std::uint64_t offset = 0, time = 0;
  for (const IndexEntry& entry : entries) {
    columns[0].push_back(entry.type);
    columns[1].push_back(entry.offset - offset);
    columns[2].push_back(entry.rows);
    columns[3].push_back(zigzag(static_cast<std::int64_t>(entry.first_ns - time)));
    columns[4].push_back(entry.last_ns - entry.first_ns);
    offset = entry.offset;
    time = entry.first_ns;
  }
  Bytes out;
  put_varint(out, entries.size());
  for (const auto& column : columns) put_column(out, column);
  return out;
}

Result<> decode_index(Cursor in, Loading& loading, std::vector<IndexEntry>& out) {
  const std::uint64_t count = in.read_uleb128();
  if (!in.ok() || count > kMaxRows) return fail(ErrorKind::kMalformed, "the index is cut short");
  if (auto charged = loading.charge(count * sizeof(IndexEntry)); !charged) return charged;
  if (auto enough = loading.work(count); !enough) return enough;
  ColumnReader types(in, count), offsets(in, count), rows(in, count), times(in, count), spans(in, count);
  IndexEntry entry;
  for (std::uint64_t i = 0; i < count; ++i) {
    entry.type = static_cast<std::uint32_t>(types.next());
    entry.offset += offsets.next();
    entry.rows = static_cast<std::uint32_t>(rows.next());
    entry.first_ns += static_cast<std::uint64_t>(unzigzag(times.next()));
    entry.last_ns = entry.first_ns + spans.next();
    out.push_back(entry);
  }
  const bool ok = types.ok() && offsets.ok() && rows.ok() && times.ok() && spans.ok();
  return ok ? Result<>() : Result<>(fail(ErrorKind::kMalformed, "the index is cut short"));
}

Bytes encode_end(const EndMark& end) {
  Bytes out(3 * sizeof(std::uint64_t));
  const std::uint64_t numbers[] = {end.index_offset, end.blocks, end.samples};
  std::memcpy(out.data(), numbers, sizeof(numbers));
  return out;
}

EndMark decode_end(Cursor in) {
  EndMark end;
  end.index_offset = in.read<std::uint64_t>();
  end.blocks = in.read<std::uint64_t>();
  end.samples = in.read<std::uint64_t>();
  return in.ok() ? end : EndMark{};
}

}  // namespace fathom::store
