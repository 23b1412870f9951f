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

class RowIndex {
 public:
  // The row that has the key, or else `next`, which is known from then on: the caller then adds it to its table.
  // key_of(row) -> std::uint64_t is asked for known rows only.
  template <class KeyOf>
  std::uint32_t find_or_add(std::uint64_t key, std::uint32_t next, KeyOf key_of) {
    if ((size_ + 1) * 2 > places_.size()) grow(key_of);
    std::size_t at = mixed(key) & (places_.size() - 1);
    for (; places_[at] != kNone; at = (at + 1) & (places_.size() - 1)) {
      if (key_of(places_[at]) == key) return places_[at];
    }
    places_[at] = next;
    ++size_;
    return next;
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  template <class KeyOf>
  void grow(KeyOf key_of) {
    std::vector<std::uint32_t> old(places_.empty() ? 64 : places_.size() * 2, kNone);
    old.swap(places_);
    for (const std::uint32_t row : old) {
      if (row == kNone) continue;
      std::size_t at = mixed(key_of(row)) & (places_.size() - 1);
      while (places_[at] != kNone) at = (at + 1) & (places_.size() - 1);
      places_[at] = row;
    }
  }

  std::vector<std::uint32_t> places_;
  std::size_t size_ = 0;
};

}  // namespace fathom
