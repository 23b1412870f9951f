// For tests and fuzzing only: memory built by hand, word by word, and in it a jemalloc and a glibc as in a
// real process.
#pragma once

#include <array>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "attach/allocators/state/glibc_layout.h"
#include "attach/allocators/state/jemalloc_layout.h"
#include "attach/allocators/state/jemalloc_shape.h"
#include "attach/allocators/state/present_memory.h"
#include "attach/allocators/state/process_reader.h"
#include "linux/process/maps.h"

namespace fathom::allocators::testing {

// A page is present once a word of it was written.
class HandMadeMemory : public MemoryReader {
 public:
  void map(std::uint64_t start, std::uint64_t size, const std::string& path = "", bool writable = true) {
    process::MapEntry entry;
    entry.start = {start};
    entry.end = {start + size};
    entry.readable = entry.writable = writable;
    entry.path = path;
    entry.inode = path.empty() || path[0] == '[' ? 0 : 7;
    maps_.push_back(entry);
  }
  void write(std::uint64_t address, std::uint64_t value) {
    std::memcpy(page(address).data() + address % kPageBytes, &value, sizeof(value));
  }
  std::uint64_t word(std::uint64_t address) {
    std::uint64_t value;
    std::memcpy(&value, page(address).data() + address % kPageBytes, sizeof(value));
    return value;
  }
  void touch(std::uint64_t start, std::uint64_t size) {
    for (std::uint64_t at = start; at < start + size; at += kPageBytes) page(at);
  }
  void drop(std::uint64_t address) { pages_.erase(address / kPageBytes); }

  bool read(std::uint64_t address, std::span<std::byte> into) override {
    for (std::size_t done = 0; done < into.size();) {
      const std::uint64_t at = address + done;
      const auto found = pages_.find(at / kPageBytes);
      if (found == pages_.end()) {
        ++faults;
        return false;
      }
      const std::size_t count = std::min<std::size_t>(into.size() - done, kPageBytes - at % kPageBytes);
      std::memcpy(into.data() + done, found->second.data() + at % kPageBytes, count);
      done += count;
    }
    bytes_read += into.size();
    return true;
  }
  AddressRanges present() const {
    std::vector<AddressRange> ranges;
    for (const auto& entry : pages_)
      ranges.push_back({entry.first * kPageBytes, (entry.first + 1) * kPageBytes});
    return AddressRanges(ranges);
  }
  std::vector<process::MapEntry> maps() const {
    auto sorted = maps_;
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
    return sorted;
  }
  AllocatorStates states(const ReadingLimits& limits = {}) {
    return read_allocator_states(maps(), present(), *this, limits);
  }

  std::uint64_t faults = 0, bytes_read = 0;  // faults: requests for pages that are not present

 private:
  using Page = std::array<std::byte, kPageBytes>;
  Page& page(std::uint64_t address) { return pages_.try_emplace(address / kPageBytes, Page{}).first->second; }
  std::map<std::uint64_t, Page> pages_;
  std::vector<process::MapEntry> maps_;
};

// A jemalloc in a stripped program; by default 5.3 with a tree of two levels.
class HandMadeJemalloc {
 public:
  static constexpr std::uint64_t kData = 0x5555'0000'0000, kRoot = kData + 0x2078;
  static constexpr std::uint64_t kBlock = 0x7f00'0000'0000, kLeaf = kBlock + 0x1000,
                                 kRecords = kLeaf + (1 << 21);
  static constexpr std::uint64_t kTable =
      kBlock + 0x300'000;  // between root and leaf, if the tree has such a level
  static constexpr std::uint64_t kNextLeaf = kBlock + (8 << 20);
  static constexpr std::uint64_t kHeap = 0x7f00'4000'0000, kHeapBytes = 64 << 20;

  explicit HandMadeJemalloc(HandMadeMemory& memory, const jemalloc::Layout& layout = jemalloc::layouts()[0],
                            const jemalloc::TreeShape& shape = jemalloc::kShapes[0])
      : memory_(memory), layout_(layout), shape_(shape) {
    memory.map(kData, 0x2000, "/usr/bin/node");
    memory.map(kData + 0x2000, 4 << 20);
    memory.map(kBlock, 4 << 20);
    memory.map(kHeap, kHeapBytes);
    add_leaf(kHeap, kLeaf);
    const std::uint64_t header[] = {4 << 20, 0, 0, kBlock + (3 << 20), 1 << 20};
    for (std::size_t i = 0; i < 5; ++i) memory.write(kBlock + i * 8, header[i]);
  }

  // Appends an extent and returns the address of its record.
  std::uint64_t add(std::uint64_t size, std::uint64_t state, std::uint64_t size_class, bool slab = false,
                    std::uint64_t free = 0, std::uint64_t arena = 0) {
    const std::uint64_t record = next_record_;
    next_record_ += 128;
    memory_.write(record, arena | std::uint64_t{slab} << 12 | state << layout_.state_shift |
                              size_class << layout_.class_shift | free << layout_.free_shift);
    memory_.write(record + 8, next_);
    memory_.write(record + 16, size);
    enter(next_, record, size_class, slab);
    enter(next_ + size - kPageBytes, record, size_class, slab);
    if (slab)
      for (std::uint64_t at = next_; at < next_ + size; at += kPageBytes) enter(at, record, size_class, slab);
    next_ += size;
    return record;
  }
  // Continues this many bytes before the addresses of the next leaf.
  void go_on_before_next_leaf(std::uint64_t bytes) {
    const std::uint64_t next = kHeap + shape_.span(1);
    memory_.map(next - kHeapBytes, 2 * kHeapBytes);
    memory_.map(kNextLeaf, shape_.table_bytes(0));
    add_leaf(next, kNextLeaf);
    next_ = next - bytes;
  }
  std::uint64_t entry_of(std::uint64_t page) const {
    return (page < kHeap + shape_.span(1) ? kLeaf : kNextLeaf) + shape_.index(0, page) * shape_.entry_bytes;
  }

 private:
  void add_leaf(std::uint64_t first, std::uint64_t leaf) {
    const unsigned top = shape_.root_level();
    memory_.write(kRoot + shape_.index(top, first) * 8, top == 1 ? leaf : kTable);
    if (top == 2) memory_.write(kTable + shape_.index(1, first) * 8, leaf);
  }
  void enter(std::uint64_t page, std::uint64_t record, std::uint64_t size_class, bool slab) {
    if (!shape_.wide()) return memory_.write(entry_of(page), record | size_class << 48 | std::uint64_t{slab});
    memory_.write(entry_of(page), record);
    memory_.write(entry_of(page) + 8, size_class << layout_.entry_class_shift | std::uint64_t{slab});
  }
  HandMadeMemory& memory_;
  const jemalloc::Layout& layout_;
  const jemalloc::TreeShape& shape_;
  std::uint64_t next_ = kHeap, next_record_ = kRecords;
};

// A main arena of glibc 2.36 in a stripped libc, with one heap.
class HandMadeGlibc {
 public:
  static constexpr std::uint64_t kData = 0x7f80'0000'0000, kArena = kData + 0xc80, kHeap = 0x5600'0000'0000,
                                 kHeapBytes = 1 << 20, kTop = kHeap + kHeapBytes - 0x2000;

  explicit HandMadeGlibc(HandMadeMemory& memory) : memory_(memory) {
    memory.map(kData, 0x4000, "/lib/libc.so.6");
    memory.map(kHeap, kHeapBytes, "[heap]");
    for (unsigned bin = 0; bin < glibc::kBins; ++bin) {
      memory.write(kArena + 0x70 + bin * 16, glibc::bin_chunk(kArena, bin));
      memory.write(kArena + 0x78 + bin * 16, glibc::bin_chunk(kArena, bin));
    }
    memory.write(kArena + 0x60, kTop);
    memory.write(kTop + 8, 0x2000 | 1);
    memory.write(kArena + 0x870, kArena);
    memory.write(kArena + 0x880, 1);
    memory.write(kArena + 0x888, kHeapBytes);
    memory.write(kArena + 0x890, kHeapBytes);
  }
  // At the end of the bin's list.
  void free(std::uint64_t offset, std::uint64_t size, unsigned bin = 0) {
    const std::uint64_t head = glibc::bin_chunk(kArena, bin), last = memory_.word(head + 24);
    memory_.write(kHeap + offset + 8, size | 1);
    memory_.write(kHeap + offset + 16, head);
    memory_.write(kHeap + offset + 24, last);
    memory_.write(last + 16, kHeap + offset);
    memory_.write(head + 24, kHeap + offset);
  }
  // Obfuscated links, as since 2.32.
  void free_fast(std::uint64_t offset, std::uint64_t size) {
    const std::uint64_t head = kArena + 0x10 + (size / 16 - 2) * 8, place = kHeap + offset + 16;
    memory_.write(kHeap + offset + 8, size | 1);
    memory_.write(place, memory_.word(head) ^ place >> 12);
    memory_.write(head, kHeap + offset);
  }

 private:
  HandMadeMemory& memory_;
};

}  // namespace fathom::allocators::testing
