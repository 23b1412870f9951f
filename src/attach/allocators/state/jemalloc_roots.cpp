#include "attach/allocators/state/jemalloc_roots.h"

#include <algorithm>
#include <array>
#include <span>
#include <unordered_set>

namespace fathom::allocators::jemalloc {
namespace {

constexpr std::size_t kMostRoots = 8, kMostProbes = 1 << 17;

// For one shape: the addresses that a table covers, according to what it leads to.
class Probe {
 public:
  Probe(PresentMemory& memory, const ProcessMap& map, const TreeShape& shape)
      : memory_(memory), map_(map), shape_(shape) {}

  // The first address that a table of that level at `address` covers. nullopt: there is no such table.
  std::optional<std::uint64_t> first_address(unsigned level, std::uint64_t address) {
    const std::uint64_t stride = level == 0 ? shape_.entry_bytes / 8 : 1;
    constexpr int kMostPages = 16, kMostMisses = 8;
    int pages = 0, misses = 0;
    std::array<std::uint64_t, kPageBytes / 8> words;
    for (const AddressRange& range : memory_.present().within(address, address + shape_.table_bytes(level)))
      for (std::uint64_t at = range.start; at < range.end;) {
        if (++pages > kMostPages) return std::nullopt;
        const std::uint64_t end = std::min(range.end, at / kPageBytes * kPageBytes + kPageBytes);
        const auto page = std::span(words).first((end - at) / 8);
        if (!memory_.read(at, std::as_writable_bytes(page))) return std::nullopt;
        for (std::size_t i = 0; i < page.size(); i += stride) {
          if (page[i] == 0) continue;
          // A table leads to tables and nothing else.
          if (level > 0 && !can_be_table(map_, page[i], shape_.table_bytes(level - 1))) return std::nullopt;
          const auto leads_to =
              level == 0 ? page_of(leaf_entry(shape_, page.subspan(i))) : first_address(level - 1, page[i]);
          const std::uint64_t index = ((at - address) / 8 + i) / stride;
          if (leads_to && shape_.index(level, *leads_to) == index)
            return *leads_to / shape_.span(level + 1) * shape_.span(level + 1);
          // An entry without a record keeps its size class.
          const bool is_cleared = level == 0 && leaf_entry(shape_, page.subspan(i)).record == 0;
          if (!is_cleared && ++misses >= kMostMisses) return std::nullopt;
        }
        at = end;
      }
    return std::nullopt;
  }

 private:
  // The start of the record's pages.
  std::optional<std::uint64_t> page_of(const LeafEntry& entry) {
    const auto found = read_record(memory_, map_, entry.record);
    if (!found || (*found)[1] >= kAddressLimit) return std::nullopt;
    return (*found)[1];
  }

  PresentMemory& memory_;
  const ProcessMap& map_;
  const TreeShape& shape_;
};

// A root is empty after the entries for addresses that a process can have, so a word with other words after
// it is not one of its entries. Without this check, fathom would follow each pointer in a module's data.
bool can_be_entry(const TreeShape& shape, std::span<const std::uint64_t> words, std::size_t i) {
  const std::uint64_t used = kAddressLimit / shape.span(shape.root_level());
  const std::size_t end = std::min<std::uint64_t>(words.size(), i + shape.table_entries() - used + 1);
  for (std::size_t at = i + used; at < end; ++at)
    if (words[at] != 0) return false;
  return true;
}

void find_roots_of(const TreeShape& shape, PresentMemory& memory, const ProcessMap& map,
                   std::vector<Root>& roots) {
  Probe probe(memory, map, shape);
  std::unordered_set<std::uint64_t> probed;
  const unsigned top = shape.root_level();
  for (const ModuleData& data : map.data) {
    if (data.range.size() < shape.table_bytes(top)) continue;
    for_each_piece(memory, data.range.start, data.range.end, [&](std::uint64_t at, auto words) {
      for (std::size_t i = 0; i < words.size(); ++i) {
        const std::uint64_t word = words[i];
        if (!can_be_table(map, word, shape.table_bytes(top - 1)) || !can_be_entry(shape, words, i)) continue;
        if (probed.size() >= kMostProbes || roots.size() >= kMostRoots) return false;
        if (!probed.insert(word).second) continue;
        const auto first = probe.first_address(top - 1, word);
        if (!first) continue;
        const std::uint64_t place = at + i * 8, before = shape.index(top, *first) * 8;
        if (place - data.range.start < before) continue;
        const std::uint64_t root = place - before;
        if (data.range.end - root < shape.table_bytes(top)) continue;
        if (std::none_of(roots.begin(), roots.end(), [&](const Root& each) { return each.address == root; }))
          roots.push_back({root, &shape, data.path});
      }
      return true;
    });
  }
}

}  // namespace

bool can_be_table(const ProcessMap& map, std::uint64_t address, std::uint64_t bytes) {
  return address != 0 && address % 64 == 0 && address < kAddressLimit - bytes &&
         map.anonymous.covers(address, bytes);
}

std::optional<ExtentWords> read_record(PresentMemory& memory, const ProcessMap& map, std::uint64_t record) {
  if (record == 0 || !map.anonymous.covers(record, sizeof(ExtentWords))) return std::nullopt;
  return memory.value<ExtentWords>(record);
}

std::vector<Root> find_roots(PresentMemory& memory, const ProcessMap& map) {
  std::vector<Root> roots;
  for (const TreeShape& shape : kShapes) find_roots_of(shape, memory, map, roots);
  return roots;
}

}  // namespace fathom::allocators::jemalloc
