#include "attach/allocators/state/glibc_layout.h"

#include <algorithm>
#include <cstring>

namespace fathom::allocators::glibc {
namespace {

constexpr std::uint64_t kMostData = std::uint64_t{16} << 20;  // limit of the search in one file's data
constexpr std::size_t kMostArenas = 4096, kMostHeaps = 1 << 16;

bool is_page_multiple(std::uint64_t value) {
  return value % kPageBytes == 0;
}

// The data of a file as one buffer; bytes that are not present are zero.
std::vector<std::byte> copy_data(PresentMemory& memory, const AddressRange& range) {
  std::vector<std::byte> bytes(std::min(range.size(), kMostData));
  for (const AddressRange& part : memory.present().within(range.start, range.start + bytes.size())) {
    const auto into = std::span(bytes).subspan(part.start - range.start, part.size());
    if (!memory.read(part.start, into)) std::fill(into.begin(), into.end(), std::byte{0});
  }
  return bytes;
}

template <class T>
T value_at(std::span<const std::byte> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

// Holds for every arena that was ever used.
bool agrees(const ArenaRecord& arena, std::uint64_t address) {
  if (arena.mutex < 0 || arena.mutex > 2 || arena.flags < 0 || arena.flags > 3 ||
      arena.have_fast_chunks < 0 || arena.have_fast_chunks > 1)
    return false;
  for (unsigned bin = 0; bin < kBins; ++bin) {
    const std::uint64_t self = bin_chunk(address, bin), forward = arena.bins[2 * bin],
                        backward = arena.bins[2 * bin + 1];
    if ((forward == self) != (backward == self)) return false;
    if (forward == 0 || backward == 0 || forward % 16 != 0 || backward % 16 != 0) return false;
  }
  return is_page_multiple(arena.system_bytes) && arena.system_bytes <= arena.most_system_bytes &&
         arena.system_bytes < kAddressLimit && arena.next != 0 && arena.top % 8 == 0;
}

// The top chunk of an arena with memory ends at a page boundary.
bool read_top(PresentMemory& memory, Arena& arena) {
  if (arena.record.system_bytes == 0) return true;
  const auto chunk = memory.value<std::array<std::uint64_t, 2>>(arena.record.top);
  if (!chunk) return false;
  arena.top_bytes = (*chunk)[1] & ~std::uint64_t{7};
  return arena.top_bytes <= arena.record.system_bytes && is_page_multiple(arena.record.top + arena.top_bytes);
}

// A heap begins with: its arena, the previous heap, its size and how much of that is accessible.
struct HeapHeader {
  std::uint64_t arena, previous, size, accessible;
};

bool find_heaps(PresentMemory& memory, const ProcessMap& map, Arena& arena, std::string& why) {
  std::uint64_t sum = 0;
  for (std::uint64_t heap = arena.record.top / kHeapBytes * kHeapBytes; heap != 0;) {
    const auto header = memory.value<HeapHeader>(heap);
    if (!header || header->arena != arena.address || header->size == 0 || header->size > kHeapBytes ||
        !is_page_multiple(header->size) || heap % kHeapBytes != 0 ||
        !map.anonymous.covers(heap, header->size) || arena.heaps.size() >= kMostHeaps) {
      why = "a heap of a thread's arena does not agree with it";
      return false;
    }
    sum += header->size;
    arena.heaps.push_back({heap, heap + header->size});
    if (header->previous == 0) {
      // The arena's record is after the header of its first heap, and the first chunk is after that.
      arena.first_chunk = (arena.address + sizeof(ArenaRecord) + 15) / 16 * 16;
      if (arena.address / kHeapBytes * kHeapBytes != heap) arena.first_chunk = 0;
    }
    heap = header->previous;
    if (sum > arena.record.system_bytes) break;  // also stops a circular chain
  }
  std::sort(arena.heaps.begin(), arena.heaps.end(),
            [](const AddressRange& a, const AddressRange& b) { return a.start < b.start; });
  arena.whole = sum == arena.record.system_bytes;
  return true;
}

// No two heaps may overlap, in one arena or in two.
bool are_apart(const std::vector<Arena>& arenas) {
  std::vector<AddressRange> heaps;
  for (const Arena& arena : arenas) heaps.insert(heaps.end(), arena.heaps.begin(), arena.heaps.end());
  std::sort(heaps.begin(), heaps.end(),
            [](const AddressRange& a, const AddressRange& b) { return a.start < b.start; });
  return std::adjacent_find(heaps.begin(), heaps.end(), [](const AddressRange& a, const AddressRange& b) {
           return a.end > b.start;
         }) == heaps.end();
}

void find_break(const ProcessMap& map, Arena& arena) {
  const AddressRange& heap = map.program_break;
  arena.whole = false;
  if (arena.record.system_bytes == 0) {
    arena.whole = true;
    return;
  }
  const std::uint64_t end = arena.record.top + arena.top_bytes;
  if (arena.record.top < heap.start || end > heap.end) return;  // it had to continue elsewhere, with mmap
  const std::uint64_t start = end - std::min(arena.record.system_bytes, end - heap.start);
  arena.heaps.push_back({start, end});
  arena.whole = end - start == arena.record.system_bytes;
  arena.first_chunk = (start + 15) / 16 * 16;
}

std::optional<Parameters> find_parameters(std::span<const std::byte> data, const ProcessMap& map) {
  // sbrk_base, tcache_bins, tcache_max_bytes, tcache_count: no other data has this combination.
  for (std::size_t at = 96; at + 32 <= data.size(); at += 8) {
    if (value_at<std::uint64_t>(data, at + 8) != kTcacheBins) continue;
    const auto base = value_at<std::uint64_t>(data, at), most = value_at<std::uint64_t>(data, at + 16);
    const bool in_break = base >= map.program_break.start && base < map.program_break.end;
    if ((base != 0 && !in_break) || most != 0x408 || value_at<std::uint64_t>(data, at + 24) > 65535) continue;
    Parameters parameters;
    parameters.mapped_bytes = value_at<std::uint64_t>(data, at - 16);
    if (!is_page_multiple(parameters.mapped_bytes) ||
        parameters.mapped_bytes > value_at<std::uint64_t>(data, at - 8))
      continue;
    // Before 2.35 there are five words before the counts of mapped blocks, from 2.35 also three about huge
    // pages.
    for (const auto& [counts, threshold] : {std::pair<std::size_t, std::size_t>{36, 96}, {32, 72}}) {
      const auto blocks = value_at<std::int32_t>(data, at - counts),
                 limit = value_at<std::int32_t>(data, at - counts + 4),
                 most_blocks = value_at<std::int32_t>(data, at - counts + 8);
      if (limit != 65536 || blocks < 0 || blocks > most_blocks || most_blocks > limit) continue;
      parameters.since_2_35 = counts == 36;
      parameters.mapped_blocks = static_cast<std::uint64_t>(blocks);
      parameters.trim_threshold = value_at<std::uint64_t>(data, at - threshold);
      return parameters;
    }
  }
  return std::nullopt;
}

bool is_libc(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libc.so") || name.starts_with("libc-2.");
}

// All arenas starting with the main one, or none.
std::optional<std::vector<Arena>> follow_ring(PresentMemory& memory, const ProcessMap& map,
                                              std::uint64_t main, const ArenaRecord& record,
                                              std::string& why) {
  std::vector<Arena> arenas;
  arenas.push_back({.address = main, .record = record, .heaps = {}});
  if (!read_top(memory, arenas[0])) {
    why = "the top of the main arena does not agree with it";
    return std::nullopt;
  }
  find_break(map, arenas[0]);
  for (std::uint64_t next = record.next; next != main;) {
    Arena arena;
    arena.address = next;
    const auto copy = memory.value<ArenaRecord>(next);
    if (!copy || arenas.size() >= kMostArenas || !agrees(*copy, next)) {
      why = "the ring of arenas does not come round";
      return std::nullopt;
    }
    arena.record = *copy;
    if (!read_top(memory, arena)) {
      why = "the top of a thread's arena does not agree with it";
      return std::nullopt;
    }
    if (!find_heaps(memory, map, arena, why)) return std::nullopt;
    next = arena.record.next;
    arenas.push_back(std::move(arena));
  }
  if (!are_apart(arenas)) {
    why = "heaps of its arenas lie over each other";
    return std::nullopt;
  }
  return arenas;
}

}  // namespace

std::optional<Found> find(PresentMemory& memory, const ProcessMap& map, std::string& why) {
  std::vector<const ModuleData*> order;
  for (const bool libc : {true, false})
    for (const ModuleData& data : map.data)
      if (is_libc(data.path) == libc) order.push_back(&data);
  for (const ModuleData* data : order) {
    const std::vector<std::byte> bytes = copy_data(memory, data->range);
    for (std::size_t at = 0; at + sizeof(ArenaRecord) <= bytes.size(); at += 16) {
      const std::uint64_t address = data->range.start + at;
      // Most bins are usually empty; some of those for the largest sizes always are. Checked first, because
      // it rejects most candidates.
      const auto forward = value_at<std::uint64_t>(bytes, at + 0x70);
      if (forward == 0 || forward % 16 != 0) continue;
      const auto record = value_at<ArenaRecord>(bytes, at);
      if (!agrees(record, address)) continue;
      Found found;
      found.module = data->path;
      auto arenas = follow_ring(memory, map, address, record, why);
      if (!arenas) continue;
      found.arenas = std::move(*arenas);
      found.parameters = find_parameters(bytes, map);
      return found;
    }
  }
  return std::nullopt;
}

}  // namespace fathom::allocators::glibc
