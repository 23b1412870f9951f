// Finds the rows of a table by what they hold, where the table itself keeps the keys: four bytes for each place, where a
// map from keys to rows takes sixteen and more. Rows come one at a time and stay.
#pragma once

#include <cstdint>
#include <vector>

namespace fathom {

// All bits of a key in all bits of its hash (the finaliser of MurmurHash3, public domain): ids are dense and small.
constexpr std::uint64_t mixed(std::uint64_t key) {
  key = (key ^ (key >> 33)) * 0xff51afd7ed558ccd;
  key = (key ^ (key >> 33)) * 0xc4ceb9fe1a85ec53;
  return key ^ (key >> 33);
}

// A place holds a row, and above its bits as many bits of the key's hash as are left. A row of another key is nearly always
// seen by them, without a look at the table, which is as a rule not in a cache of the processor.
class RowIndex {
 public:
  // The row that has the key, or else `next`, which is known afterwards: the caller then adds it to its
  // table. Calls key_of(row) -> std::uint64_t for known rows only.
  template <class KeyOf>
  std::uint32_t find_or_add(std::uint64_t key, std::uint32_t next, KeyOf key_of) {
    if ((size_ + 1) * 3 > places_.size() * 2 || next >= row_mask_) grow(next, key_of);
    const std::uint64_t hash = mixed(key);
    const std::uint32_t tag = tag_of(hash);
    std::size_t at = hash & (places_.size() - 1);
    for (; places_[at] != kNone; at = (at + 1) & (places_.size() - 1)) {
      const std::uint32_t row = places_[at] & row_mask_;
      if ((places_[at] & ~row_mask_) == tag && key_of(row) == key) return row;
    }
    places_[at] = tag | next;
    ++size_;
    return next;
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};  // no row is as large as the mask

  std::uint32_t tag_of(std::uint64_t hash) const {
    return static_cast<std::uint32_t>(hash >> 32) & ~row_mask_;
  }

  template <class KeyOf>
  void grow(std::uint32_t next, KeyOf key_of) {
    const std::uint32_t old_mask = row_mask_;
    while (next >= row_mask_) row_mask_ = row_mask_ << 2 | 3;
    const bool is_full = (size_ + 1) * 3 > places_.size() * 2;
    std::vector<std::uint32_t> old(places_.empty() ? 64
                                   : is_full       ? places_.size() * 2
                                                   : places_.size(),
                                   kNone);
    old.swap(places_);
    for (const std::uint32_t place : old) {
      if (place == kNone) continue;
      const std::uint32_t row = place & old_mask;
      const std::uint64_t hash = mixed(key_of(row));
      std::size_t at = hash & (places_.size() - 1);
      while (places_[at] != kNone) at = (at + 1) & (places_.size() - 1);
      places_[at] = tag_of(hash) | row;
    }
  }

  std::vector<std::uint32_t> places_;
  std::size_t size_ = 0;
  std::uint32_t row_mask_ = 0xff;
};

}  // namespace fathom
