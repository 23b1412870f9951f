// Numbers texts in the order in which they come: the same text has the same number. For readers that meet the same few texts
// millions of times. std::unordered_map takes twice as long for it: it hashes a byte at a time or nearly so, and follows a
// pointer for each comparison.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/row_index.h"

namespace fathom {

// Eight bytes at a time. Not for what must withstand chosen texts better than std::hash does.
inline std::uint64_t text_hash(std::string_view text) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  const auto fold = [](std::uint64_t a, std::uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  };
  std::uint64_t hash = kOdd ^ text.size();
  for (; text.size() >= sizeof(std::uint64_t); text.remove_prefix(sizeof(std::uint64_t))) {
    std::uint64_t part;
    std::memcpy(&part, text.data(), sizeof(part));
    hash = fold(hash ^ part, kOdd);
  }
  std::uint64_t rest = 0;
  if (!text.empty()) std::memcpy(&rest, text.data(), text.size());
  return mixed(hash ^ fold(rest ^ kOdd, 0xd6e8feb86659fd93));
}

class TextIndex {
 public:
  // A text that is new gets the number size().
  std::uint32_t number_of(std::string_view text) {
    if ((texts_.size() + 1) * 2 > places_.size()) grow();
    const std::uint64_t hash = text_hash(text);
    Place& place = places_[place_of(text, hash)];
    if (place.row == kNone) {
      place = {static_cast<std::uint32_t>(hash >> 32), size()};
      texts_.emplace_back(text);
      bytes_ += text.size();
    }
    return place.row;
  }
  std::optional<std::uint32_t> find(std::string_view text) const {
    if (places_.empty()) return std::nullopt;
    const std::uint32_t row = places_[place_of(text, text_hash(text))].row;
    return row == kNone ? std::nullopt : std::optional(row);
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(texts_.size()); }
  std::size_t bytes() const { return bytes_; }  // of all texts
  // Valid as long as the index.
  std::string_view operator[](std::uint32_t number) const { return texts_[number]; }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Place {
    std::uint32_t tag = 0, row = kNone;
  };

  // That of the text, or the empty one where it would be.
  std::size_t place_of(std::string_view text, std::uint64_t hash) const {
    const auto tag = static_cast<std::uint32_t>(hash >> 32);
    std::size_t at = hash & (places_.size() - 1);
    while (places_[at].row != kNone && (places_[at].tag != tag || texts_[places_[at].row] != text))
      at = (at + 1) & (places_.size() - 1);
    return at;
  }

  void grow() {
    places_.assign(places_.empty() ? 64 : places_.size() * 2, {});
    for (std::uint32_t row = 0; row < texts_.size(); ++row) {
      const std::uint64_t hash = text_hash(texts_[row]);
      std::size_t at = hash & (places_.size() - 1);
      while (places_[at].row != kNone) at = (at + 1) & (places_.size() - 1);
      places_[at] = {static_cast<std::uint32_t>(hash >> 32), row};
    }
  }

  std::deque<std::string> texts_;
  std::vector<Place> places_;
  std::size_t bytes_ = 0;
};

}  // namespace fathom
