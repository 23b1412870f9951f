// The view of another process's memory for the readers of allocators: only present pages, copied once. Pure
// over MemoryReader.
//
// fathom never reads a page that is not in memory: that would map it (a page of zeros, and the page tables
// above it) or swap it in, and so change the measurement. The list of present pages was made before; reading
// a page that the process has returned since then maps it again as zeros, which is the only possible side
// effect.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "base/clock.h"

namespace fathom::allocators {

inline constexpr std::uint64_t kPageBytes = 4096;
// No address of a process is above this.
inline constexpr std::uint64_t kAddressLimit = std::uint64_t{1} << 47;

struct AddressRange {
  std::uint64_t start = 0, end = 0;
  std::uint64_t size() const { return end - start; }
  bool operator==(const AddressRange&) const = default;
};

// Ranges in ascending order that neither overlap nor touch.
class AddressRanges {
 public:
  AddressRanges() = default;
  explicit AddressRanges(std::vector<AddressRange> ranges);  // in any order; drops empty ones

  bool covers(std::uint64_t address, std::uint64_t size) const;
  std::uint64_t bytes_in(std::uint64_t start, std::uint64_t end) const;
  // Those in [start, end), cut to it.
  std::vector<AddressRange> within(std::uint64_t start, std::uint64_t end) const;
  std::span<const AddressRange> all() const { return ranges_; }

 private:
  std::size_t first_after(std::uint64_t address) const;  // the first that ends after it
  std::vector<AddressRange> ranges_;
  mutable std::size_t hint_ = 0;  // queries are mostly ascending
};

// Copies bytes of the process; false: some could not be copied.
class MemoryReader {
 public:
  virtual ~MemoryReader() = default;
  virtual bool read(std::uint64_t address, std::span<std::byte> into) = 0;
};

// Limits of a reading, so that no list and no table of the process can block fathom forever.
struct ReadingLimits {
  std::uint64_t bytes = std::uint64_t{256} << 20;  // copied in total
  std::uint64_t until_ns = UINT64_MAX;             // CLOCK_MONOTONIC
  // Twice the resident memory, within [8, 256] MiB: records are a small part of what they describe (at most
  // 128 bytes per page in jemalloc), and a list visits each place of glibc's once.
  static ReadingLimits of(const AddressRanges& present, std::uint64_t until_ns);
};

class PresentMemory {
 public:
  PresentMemory(MemoryReader& reader, const AddressRanges& present,
                ReadingLimits limits = {})  // both outlive it
      : reader_(reader), present_(present), bytes_left_(limits.bytes), until_ns_(limits.until_ns) {}

  // Everything or nothing; `into` is unspecified on failure.
  bool read(std::uint64_t address, std::span<std::byte> into);
  // Through a cache: for lists, where the next place is only known from the previous one.
  bool read_cached(std::uint64_t address, std::span<std::byte> into);
  template <class T>
  std::optional<T> value(std::uint64_t address) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::array<std::byte, sizeof(T)> bytes;
    if (!read_cached(address, bytes)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
  void forget() { cache_.clear(); }  // the cached data may be old

  const AddressRanges& present() const { return present_; }
  // A limit was reached: from then on nothing is read, and the data is incomplete.
  bool used_up() const { return bytes_left_ == 0; }

 private:
  // Smaller than a page: at a list's next place a few words are enough, and lists visit a place once.
  static constexpr std::uint64_t kLineBytes = 1024;
  struct CachedLine {
    std::uint64_t address = 1;  // none
    std::array<std::byte, kLineBytes> bytes;
  };
  static constexpr std::size_t kCachedLines = 2048;
  MemoryReader& reader_;
  const AddressRanges& present_;
  std::uint64_t bytes_left_, until_ns_;
  std::vector<CachedLine> cache_;
};

// The words of the present pages of [start, end), in pieces. `take(address, words)` returns false to stop.
// False: stopped, or a limit was reached; skips a piece that has disappeared.
template <class Take>
bool for_each_piece(PresentMemory& memory, std::uint64_t start, std::uint64_t end, Take&& take) {
  constexpr std::uint64_t kPiece = 64 * 1024;  // read at once
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

}  // namespace fathom::allocators
