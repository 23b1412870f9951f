#include "allocators/state/jemalloc_tree.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_set>

namespace fathom::allocators::jemalloc {
namespace {

constexpr std::uint64_t kWords = kTableBytes / 8;  // of a root or a leaf
constexpr std::uint64_t kPiece = 64 * 1024;        // read at once
constexpr std::uint64_t kMostExtents = std::uint64_t{1} << 25;
constexpr std::size_t kMostLeaves = 1 << 16;  // 64 TiB
constexpr std::size_t kMostRoots = 8, kMostProbes = 1 << 17;

struct Entry {
  std::uint64_t record;
  std::uint32_t index;  // in the leaf
  std::uint32_t size_class;
};

// The words of the present pages of [start, end), in pieces. `take(address, words)` returns false to stop.
template <class Take>
bool for_each_piece(PresentMemory& memory, std::uint64_t start, std::uint64_t end, Take&& take) {
  std::vector<std::uint64_t> words;
  for (const AddressRange& range : memory.present().within(start, end))
    for (std::uint64_t at = range.start; at < range.end; at += kPiece) {
      words.resize(std::min(kPiece, range.end - at) / 8);
      if (!memory.read(at, std::as_writable_bytes(std::span(words)))) {
        if (memory.used_up()) return false;
        continue;
      }
      if (!take(at, std::span<const std::uint64_t>(words))) return false;
    }
  return true;
}

bool can_be_table(const ProcessMap& map, std::uint64_t address) {
  return address != 0 && address % 64 == 0 && address < kAddressLimit - kTableBytes &&
         map.anonymous.covers(address, kTableBytes);
}

std::optional<ExtentWords> read_record(PresentMemory& memory, const ProcessMap& map, std::uint64_t record) {
  if (record == 0 || !map.anonymous.covers(record, sizeof(ExtentWords))) return std::nullopt;
  return memory.value<ExtentWords>(record);
}

// Which GiB of addresses the leaf at `address` is for, by its first entries. nullopt: it is no leaf.
std::optional<std::uint64_t> slot_of_leaf(PresentMemory& memory, const ProcessMap& map,
                                          std::uint64_t address) {
  constexpr int kMostPages = 16, kMostMisses = 8;
  int pages = 0, misses = 0;
  std::array<std::uint64_t, kPageBytes / 8> words;
  for (const AddressRange& range : memory.present().within(address, address + kTableBytes))
    for (std::uint64_t at = range.start; at < range.end;) {
      if (++pages > kMostPages) return std::nullopt;
      const std::uint64_t end = std::min(range.end, at / kPageBytes * kPageBytes + kPageBytes);
      const std::size_t count = (end - at) / 8;
      if (!memory.read(at, std::as_writable_bytes(std::span(words).first(count)))) return std::nullopt;
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t record = record_of(words[i]);
        if (record == 0) continue;
        const std::uint64_t index = (at - address) / 8 + i;
        const auto found = read_record(memory, map, record);
        if (found && ((*found)[1] / kPageBytes & (kWords - 1)) == index && (*found)[1] < kAddressLimit)
          return (*found)[1] / kLeafSpan;
        if (++misses >= kMostMisses) return std::nullopt;
      }
      at = end;
    }
  return std::nullopt;
}

// The first entry of an active extent repeats its size class; one that is not in use has none.
bool agree(const Extent& extent, std::uint32_t size_class) {
  return extent.state == ExtentState::kActive ? extent.size_class == size_class
                                              : extent.size_class >= kClasses;
}

struct Sample {
  ExtentWords words;
  std::uint64_t page;
  std::uint32_t size_class;  // of the entry
};
// The layout that most records agree with; null where none convinces, or two do as well.
const Layout* choose_layout(std::span<const Sample> samples) {
  const Layout* best = nullptr;
  std::size_t most = 0, second = 0;
  for (const Layout& layout : layouts()) {
    const auto agreeing =
        static_cast<std::size_t>(std::count_if(samples.begin(), samples.end(), [&](const Sample& each) {
          const auto extent = decode(layout, each.words);
          return extent && extent->start == each.page && agree(*extent, each.size_class);
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

// One leaf's entries -> extents that begin in it.
class Leaf {
 public:
  Leaf(PresentMemory& memory, const ProcessMap& map, std::uint64_t address, std::uint64_t slot)
      : memory_(memory), map_(map), address_(address), slot_(slot) {}

  // False: there was too much to read.
  bool read() {
    std::uint64_t last = 0;
    return for_each_piece(
               memory_, address_, address_ + kTableBytes,
               [&](std::uint64_t at, auto words) {
                 for (std::size_t i = 0; i < words.size(); ++i) {
                   const std::uint64_t record = record_of(words[i]);
                   // A slab has an entry for each of its pages, another extent one for its first and its last.
                   if (record != 0 && record != last)
                     entries_.push_back({record, static_cast<std::uint32_t>((at - address_) / 8 + i),
                                         static_cast<std::uint32_t>(words[i] >> 48 & 0xff)});
                   if (record != 0) last = record;
                 }
                 return true;
               }) &&
           read_records();
  }

  std::span<const Entry> entries() const { return entries_; }  // in the order of addresses
  const std::optional<ExtentWords>& words(std::size_t i) const { return words_[i]; }
  std::uint64_t page(std::size_t i) const { return slot_ * kLeafSpan + entries_[i].index * kPageBytes; }

 private:
  // In the order in which the records lie in memory: these are dense, so a piece holds many of them.
  bool read_records() {
    words_.assign(entries_.size(), std::nullopt);
    std::vector<std::uint32_t> order(entries_.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return entries_[a].record < entries_[b].record; });
    std::vector<std::byte> piece;
    for (std::size_t first = 0; first < order.size();) {
      const std::uint64_t start = entries_[order[first]].record;
      std::uint64_t end = start + sizeof(ExtentWords);
      std::size_t last = first + 1;
      while (last < order.size()) {
        const std::uint64_t next = entries_[order[last]].record;
        if (next > end + kPageBytes || next + sizeof(ExtentWords) - start > kPiece) break;
        end = next + sizeof(ExtentWords);
        ++last;
      }
      piece.resize(end - start);
      const bool whole = map_.anonymous.covers(start, end - start) && memory_.read(start, piece);
      if (memory_.used_up()) return false;
      for (std::size_t i = first; i < last; ++i) {
        const std::uint64_t record = entries_[order[i]].record;
        if (!whole) {  // a page among them is not there: each by itself
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
  std::uint64_t address_, slot_;
  std::vector<Entry> entries_;
  std::vector<std::optional<ExtentWords>> words_;
};

}  // namespace

std::vector<Root> find_roots(PresentMemory& memory, const ProcessMap& map) {
  std::vector<Root> roots;
  std::unordered_set<std::uint64_t> probed;
  for (const ModuleData& data : map.data) {
    if (data.range.size() < kTableBytes) continue;
    for_each_piece(memory, data.range.start, data.range.end, [&](std::uint64_t at, auto words) {
      for (std::size_t i = 0; i < words.size(); ++i) {
        const std::uint64_t word = words[i];
        if (word == 0 || word % 64 != 0 || !can_be_table(map, word)) continue;
        if (probed.size() >= kMostProbes || roots.size() >= kMostRoots) return false;
        if (!probed.insert(word).second) continue;
        const auto slot = slot_of_leaf(memory, map, word);
        const std::uint64_t place = at + i * 8;
        if (!slot || place - data.range.start < *slot * 8) continue;
        const std::uint64_t root = place - *slot * 8;
        if (data.range.end - root < kTableBytes) continue;
        if (std::none_of(roots.begin(), roots.end(), [&](const Root& each) { return each.address == root; }))
          roots.push_back({root, data.path});
      }
      return true;
    });
  }
  return roots;
}

bool MetadataBlocks::knows(std::uint64_t address) const {
  const auto after = blocks_.upper_bound(address);
  return after != blocks_.begin() && address - std::prev(after)->first < std::prev(after)->second.size;
}

bool MetadataBlocks::add(std::uint64_t address) {
  constexpr std::uint64_t kMostBlocks = 1 << 16;
  // Its size, the next one, and the record of what is not used of it.
  struct Header {
    std::uint64_t size, next, bits, unused, unused_size;
  };
  for (bool first = true; address != 0 && blocks_.size() < kMostBlocks; first = false) {
    if (!first && blocks_.contains(address)) return true;
    if (address % kTableBytes != 0 || address >= kAddressLimit || !map_.anonymous.covers(address, kPageBytes))
      return !first;
    const auto header = memory_.value<Header>(address);
    if (!header || header->size == 0 || header->size % kTableBytes != 0 ||
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
  std::uint64_t block = address / kTableBytes * kTableBytes;
  for (int step = 0; step < kMostSteps && block != 0; ++step, block -= kTableBytes) {
    if (++tries_ > kMostTries) return;
    if (add(block)) return;
  }
}

WalkResult walk(PresentMemory& memory, const ProcessMap& map, const Root& root, MetadataBlocks& metadata,
                const std::function<void(const Extent&)>& visit) {
  WalkResult result;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> leaves;  // slot, address
  bool only_leaves = true;
  const bool read =
      for_each_piece(memory, root.address, root.address + kTableBytes, [&](std::uint64_t at, auto words) {
        for (std::size_t i = 0; i < words.size(); ++i) {
          if (words[i] == 0) continue;
          const std::uint64_t slot = (at - root.address) / 8 + i;
          only_leaves = only_leaves && slot < kAddressLimit / kLeafSpan && can_be_table(map, words[i]) &&
                        leaves.size() < kMostLeaves;
          if (!only_leaves) return false;
          leaves.push_back({slot, words[i]});
        }
        return true;
      });
  if (!read || leaves.empty()) return result;
  result.is_tree = true;

  std::uint64_t last_end = 0;
  for (const auto& [slot, address] : leaves) {
    metadata.add_block_of(address);
    Leaf leaf(memory, map, address, slot);
    if (!leaf.read() || result.extents > kMostExtents) {
      result.cut = true;
      return result;
    }
    const auto entries = leaf.entries();
    if (result.layout == nullptr) {
      std::vector<Sample> sample;
      for (std::size_t i = 0; i < entries.size() && sample.size() < 4096; ++i)
        if (leaf.words(i) && (*leaf.words(i))[1] / kPageBytes == leaf.page(i) / kPageBytes)
          sample.push_back({*leaf.words(i), leaf.page(i), entries[i].size_class});
      if (sample.empty()) continue;
      result.layout = choose_layout(sample);
      if (result.layout == nullptr) return result;
    }
    std::uint64_t last_record_block = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (const std::uint64_t block = entries[i].record / kTableBytes; block != last_record_block) {
        last_record_block = block;
        metadata.add_block_of(entries[i].record);
      }
      const auto& words = leaf.words(i);
      const auto extent = words ? decode(*result.layout, *words) : std::nullopt;
      const std::uint64_t page = leaf.page(i);
      if (extent && extent->start != page && extent->start + extent->size - kPageBytes == page) continue;
      // A record that is elsewhere by now, lies in no mapping or over the one before, was changed while we read.
      if (!extent || extent->start != page || page < last_end || !map.anonymous.covers(page, extent->size) ||
          extent->state == ExtentState::kInTransition) {
        if (result.moved++ == 0) result.first_bad = entries[i].record;
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
