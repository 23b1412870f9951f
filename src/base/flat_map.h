// A hash table from 64-bit keys to small values, in one array. A report looks up millions of keys, and
// std::unordered_map would spend its time on cache misses. No removal; the key ~0 is reserved.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace fathom {

template <class Value>
class FlatMap {
 public:
  struct Slot {
    std::uint64_t key = kEmpty;
    Value value{};
  };
  FlatMap() : slots_(64) {}

  // The value of `key`, made by default when it was not there. Valid until the next call.
  Value& operator[](std::uint64_t key) {
    if ((size_ + 1) * 2 > slots_.size()) grow();
    Slot& slot = find(key);
    if (slot.key == kEmpty) {
      slot.key = key;
      ++size_;
    }
    return slot.value;
  }
  std::size_t size() const { return size_; }

  template <class Visit>
  void for_each(Visit visit) const {
    for (const Slot& slot : slots_) {
      if (slot.key != kEmpty) visit(slot.key, slot.value);
    }
  }
  template <class Visit>
  void for_each(Visit visit) {
    for (Slot& slot : slots_) {
      if (slot.key != kEmpty) visit(slot.key, slot.value);
    }
  }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};

  Slot& find(std::uint64_t key) {
    // Fibonacci hashing, folded so that the high half of the key reaches the low bits too.
    std::uint64_t hash = (key ^ (key >> 32)) * 0x9e3779b97f4a7c15u;
    std::size_t at = (hash >> 20) & (slots_.size() - 1);
    while (slots_[at].key != kEmpty && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (Slot& slot : old) {
      if (slot.key != kEmpty) find(slot.key) = std::move(slot);
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace fathom
