// Finds the rows of a table by a hash that each of them has, and keeps these hashes: for rows whose content is too long to be
// compared. Rows come one after the other, and no two have the same hash. See row_index.h for rows that are their own keys.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

namespace fathom {

// A place holds a row, and above its bits as many bits of the hash as are left: another row is nearly always seen by them,
// without a look at the hashes, which are as a rule not in a cache of the processor.
class HashRows {
 public:
  std::uint32_t size() const { return static_cast<std::uint32_t>(hashes_.size()); }
  std::uint64_t hash(std::uint32_t row) const { return hashes_[row]; }

  std::optional<std::uint32_t> find(std::uint64_t hash) const {
    if (places_.empty()) return std::nullopt;
    const std::uint32_t mask = row_mask();
    for (std::size_t at = hash & mask; places_[at] != kNone; at = (at + 1) & mask) {
      const std::uint32_t row = places_[at] & mask;
      if ((places_[at] & ~mask) == tag_of(hash, mask) && hashes_[row] == hash) return row;
    }
    return std::nullopt;
  }
  // Before several searches: the processor then waits for all of their places at once.
  void prefetch(std::uint64_t hash) const {
    if (!places_.empty()) __builtin_prefetch(&places_[hash & row_mask()]);
  }
  // The row is size() before that. A hash that is known already still leads to the first row that had it.
  void add(std::uint64_t hash) {
    if ((hashes_.size() + 1) * 3 > places_.size() * 2) grow();
    put(hash, size());
    hashes_.push_back(hash);
  }
  void clear() {
    hashes_.clear();
    places_.clear();
  }

 private:
  static constexpr std::uint32_t kNone =
      ~std::uint32_t{0};  // there are fewer rows than places, so no row is the last place

  std::uint32_t row_mask() const { return static_cast<std::uint32_t>(places_.size() - 1); }
  static std::uint32_t tag_of(std::uint64_t hash, std::uint32_t mask) {
    return static_cast<std::uint32_t>(hash >> 32) & ~mask;
  }
  void put(std::uint64_t hash, std::uint32_t row) {
    const std::uint32_t mask = row_mask();
    std::size_t at = hash & mask;
    while (places_[at] != kNone) at = (at + 1) & mask;
    places_[at] = tag_of(hash, mask) | row;
  }
  void grow() {
    places_.assign(places_.empty() ? 64 : places_.size() * 2, kNone);
    for (std::uint32_t row = 0; row < hashes_.size(); ++row) put(hashes_[row], row);
  }

  std::vector<std::uint64_t> hashes_;  // by row; well mixed
  std::vector<std::uint32_t> places_;
};

}  // namespace fathom
