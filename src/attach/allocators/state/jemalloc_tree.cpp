#include "attach/allocators/state/jemalloc_tree.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

namespace fathom::allocators::jemalloc {
namespace {

constexpr std::uint64_t kPiece = 64 * 1024;                       // of records read at once
constexpr std::uint64_t kMetadataBlock = std::uint64_t{1} << 21;  // each begins at a multiple of this
constexpr std::uint64_t kMostExtents = std::uint64_t{1} << 25;
constexpr std::size_t kMostTables = 1 << 16;

struct Entry {
  LeafEntry words;
  std::uint32_t index;  // in the leaf
};

// The first entry of an active extent repeats its size class; an unused extent has none.
bool agree(const Extent& extent, std::uint32_t size_class) {
  return extent.state == ExtentState::kActive ? extent.size_class == size_class
                                              : extent.size_class >= kClasses;
}

struct Sample {
  ExtentWords words;
  std::uint64_t page;
  LeafEntry entry;
};
// The layout that most records fit; null if none fits well, or two fit equally well.
const Layout* choose_layout(const TreeShape& shape, std::span<const Sample> samples) {
  const Layout* best = nullptr;
  std::size_t most = 0, second = 0;
  for (const Layout& layout : layouts()) {
    const auto agreeing =
        static_cast<std::size_t>(std::count_if(samples.begin(), samples.end(), [&](const Sample& each) {
          const auto extent = decode(layout, each.words);
          return extent && extent->start == each.page &&
                 agree(*extent, size_class(shape, layout, each.entry.rest));
        }));
    if (agreeing > most) {
      second = most;
      most = agreeing;
      best = &layout;
    } else {
      second = std::max(second, agreeing);
    }
  }
  return most > second && most * 10 >= samples.size() * 9 ? best : nullptr;
}

// A leaf, and the first address that it covers.
struct Place {
  std::uint64_t address, first;
};

// All leaves below a table, ascending. False: it leads to something other than tables, or there are too many.
class LeafList {
 public:
  LeafList(PresentMemory& memory, const ProcessMap& map, const TreeShape& shape)
      : memory_(memory), map_(map), shape_(shape) {}
  bool add_below(unsigned level, std::uint64_t table, std::uint64_t first) {
    bool only_tables = true;
    const std::uint64_t end = table + shape_.table_bytes(level);
    const bool read = for_each_piece(memory_, table, end, [&](std::uint64_t at, auto words) {
      for (std::size_t i = 0; i < words.size() && only_tables; ++i) {
        if (words[i] == 0) continue;
        const std::uint64_t index = (at - table) / 8 + i;
        only_tables = add(level - 1, words[i], first + index * shape_.span(level));
      }
      return only_tables;
    });
    return read;
  }
  const std::vector<Place>& leaves() const { return leaves_; }

 private:
  bool add(unsigned level, std::uint64_t table, std::uint64_t first) {
    if (first >= kAddressLimit || !can_be_table(map_, table, shape_.table_bytes(level)) ||
        ++tables_ > kMostTables)
      return false;
    if (level > 0) return add_below(level, table, first);
    leaves_.push_back({table, first});
    return true;
  }
  PresentMemory& memory_;
  const ProcessMap& map_;
  const TreeShape& shape_;
  std::vector<Place> leaves_;
  std::size_t tables_ = 0;
};

// From one leaf's entries to the extents that begin in it.
class Leaf {
 public:
  Leaf(PresentMemory& memory, const ProcessMap& map, const TreeShape& shape, const Place& place)
      : memory_(memory), map_(map), shape_(shape), place_(place) {}

  // `last`: the record of the previous entry, possibly in another leaf; afterwards that of this leaf's last
  // entry. False: there was too much to read.
  bool read(std::uint64_t& last) {
    const std::uint64_t stride = shape_.entry_bytes / 8;
    return for_each_piece(memory_, place_.address, place_.address + shape_.table_bytes(0),
                          [&](std::uint64_t at, auto words) {
                            for (std::size_t i = 0; i + stride <= words.size(); i += stride) {
                              const LeafEntry entry = leaf_entry(shape_, words.subspan(i));
                              // A slab has an entry for each of its pages; another extent has one for its
                              // first and its last page.
                              const std::uint64_t index = ((at - place_.address) / 8 + i) / stride;
                              if (entry.record != 0 && entry.record != last)
                                entries_.push_back({entry, static_cast<std::uint32_t>(index)});
                              if (entry.record != 0) last = entry.record;
                            }
                            return true;
                          }) &&
           read_records();
  }

  std::span<const Entry> entries() const { return entries_; }  // in address order
  const std::optional<ExtentWords>& words(std::size_t i) const { return words_[i]; }
  std::uint64_t page(std::size_t i) const { return place_.first + entries_[i].index * kPageBytes; }

 private:
  // In the order of the records in memory: these are dense, so a piece contains many of them.
  bool read_records() {
    words_.assign(entries_.size(), std::nullopt);
    std::vector<std::uint32_t> order(entries_.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return entries_[a].words.record < entries_[b].words.record;
    });
    std::vector<std::byte> piece;
    for (std::size_t first = 0; first < order.size();) {
      const std::uint64_t start = entries_[order[first]].words.record;
      std::uint64_t end = start + sizeof(ExtentWords);
      std::size_t last = first + 1;
      while (last < order.size()) {
        const std::uint64_t next = entries_[order[last]].words.record;
        if (next > end + kPageBytes || next + sizeof(ExtentWords) - start > kPiece) break;
        end = next + sizeof(ExtentWords);
        ++last;
      }
      piece.resize(end - start);
      const bool whole = map_.anonymous.covers(start, end - start) && memory_.read(start, piece);
      if (memory_.used_up()) return false;
      for (std::size_t i = first; i < last; ++i) {
        const std::uint64_t record = entries_[order[i]].words.record;
        if (!whole) {  // one of its pages is missing: read each record separately
          words_[order[i]] = read_record(memory_, map_, record);
          continue;
        }
        words_[order[i]].emplace();
        std::memcpy(words_[order[i]]->data(), piece.data() + (record - start), sizeof(ExtentWords));
      }
      first = last;
    }
    return true;
  }

  PresentMemory& memory_;
  const ProcessMap& map_;
  const TreeShape& shape_;
  Place place_;
  std::vector<Entry> entries_;
  std::vector<std::optional<ExtentWords>> words_;
};

}  // namespace

bool MetadataBlocks::knows(std::uint64_t address) const {
  const auto after = blocks_.upper_bound(address);
  return after != blocks_.begin() && address - std::prev(after)->first < std::prev(after)->second.size;
}

bool MetadataBlocks::add(std::uint64_t address) {
  constexpr std::uint64_t kMostBlocks = 1 << 16;
  // Its size, the next block, and the record of its unused part.
  struct Header {
    std::uint64_t size, next, bits, unused, unused_size;
  };
  for (bool first = true; address != 0 && blocks_.size() < kMostBlocks; first = false) {
    if (!first && blocks_.contains(address)) return true;
    if (address % kMetadataBlock != 0 || address >= kAddressLimit ||
        !map_.anonymous.covers(address, kPageBytes))
      return !first;
    const auto header = memory_.value<Header>(address);
    if (!header || header->size == 0 || header->size % kMetadataBlock != 0 ||
        !map_.anonymous.covers(address, header->size) || header->unused_size > header->size ||
        header->unused < address || header->unused - address > header->size)
      return !first;
    const auto next = blocks_.lower_bound(address);
    if (knows(address) || (next != blocks_.end() && next->first - address < header->size)) return !first;
    blocks_[address] = {header->size, header->size - header->unused_size};
    address = header->next;
  }
  return true;
}

void MetadataBlocks::add_block_of(std::uint64_t address) {
  constexpr int kMostSteps = 512;  // a block of 1 GiB
  constexpr std::uint64_t kMostTries = 1 << 16;
  if (knows(address)) return;
  std::uint64_t block = address / kMetadataBlock * kMetadataBlock;
  for (int step = 0; step < kMostSteps && block != 0; ++step, block -= kMetadataBlock) {
    if (++tries_ > kMostTries) return;
    if (add(block)) return;
  }
}

WalkResult walk(PresentMemory& memory, const ProcessMap& map, const Root& root, MetadataBlocks& metadata,
                const std::function<void(const Extent&)>& visit) {
  WalkResult result;
  const TreeShape& shape = *root.shape;
  LeafList list(memory, map, shape);
  if (!list.add_below(shape.root_level(), root.address, 0) || list.leaves().empty()) return result;
  result.is_tree = true;

  std::uint64_t last_end = 0, last_record = 0;
  for (const Place& place : list.leaves()) {
    metadata.add_block_of(place.address);
    Leaf leaf(memory, map, shape, place);
    if (!leaf.read(last_record) || result.extents > kMostExtents) {
      result.cut = true;
      return result;
    }
    const auto entries = leaf.entries();
    if (result.layout == nullptr) {
      std::vector<Sample> sample;
      for (std::size_t i = 0; i < entries.size() && sample.size() < 4096; ++i)
        if (leaf.words(i) && (*leaf.words(i))[1] / kPageBytes == leaf.page(i) / kPageBytes)
          sample.push_back({*leaf.words(i), leaf.page(i), entries[i].words});
      if (sample.empty()) continue;
      result.layout = choose_layout(shape, sample);
      if (result.layout == nullptr) return result;
    }
    std::uint64_t last_record_block = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (const std::uint64_t block = entries[i].words.record / kMetadataBlock; block != last_record_block) {
        last_record_block = block;
        metadata.add_block_of(entries[i].words.record);
      }
      const auto& words = leaf.words(i);
      const auto extent = words ? decode(*result.layout, *words) : std::nullopt;
      const std::uint64_t page = leaf.page(i);
      if (extent && extent->start != page && extent->start + extent->size - kPageBytes == page) continue;
      // A record that has moved, is in no mapping or overlaps the previous one was changed during the
      // reading.
      if (!extent || extent->start != page || page < last_end || !map.anonymous.covers(page, extent->size) ||
          extent->state == ExtentState::kInTransition) {
        if (result.moved++ == 0) result.first_bad = entries[i].words.record;
        result.moved_bytes += extent ? extent->size : kPageBytes;
        continue;
      }
      last_end = extent->start + extent->size;
      ++result.extents;
      visit(*extent);
    }
  }
  return result;
}

}  // namespace fathom::allocators::jemalloc
