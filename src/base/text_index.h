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

// Eight bytes at a time; the last ones are read once more where fewer than eight are left. Not for what must withstand chosen
// texts better than std::hash does.
inline std::uint64_t text_hash(std::string_view text) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  const auto fold = [](std::uint64_t a, std::uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  };
  const auto word = [](const char* at, auto value) -> std::uint64_t {
    std::memcpy(&value, at, sizeof(value));
    return value;
  };
  const char* at = text.data();
  std::size_t left = text.size();
  std::uint64_t hash = kOdd ^ left, rest = 0;
  if (left >= 8) {
    for (; left > 8; left -= 8, at += 8) hash = fold(hash ^ word(at, std::uint64_t{}), kOdd);
    rest = word(at + left - 8, std::uint64_t{});
  } else if (left >= 4) {
    rest = word(at, std::uint32_t{}) << 32 | word(at + left - 4, std::uint32_t{});
  } else if (left > 0) {
    rest = word(at, std::uint8_t{}) << 16 | word(at + left / 2, std::uint8_t{}) << 8 |
           word(at + left - 1, std::uint8_t{});
  }
  return mixed(hash ^ fold(rest ^ kOdd, 0xd6e8feb86659fd93));
}

class TextIndex {
 public:
  // A text that is new gets the number size().
  std::uint32_t number_of(std::string_view text) { return number_of(text, text_hash(text)); }
  // `hash`: text_hash(text), where it is known already.
  std::uint32_t number_of(std::string_view text, std::uint64_t hash) {
    if ((texts_.size() + 1) * 2 > places_.size()) grow();
    Place& place = places_[place_of(text, hash)];
    if (place.row == kNone) {
      place = {static_cast<std::uint32_t>(hash >> 32), size()};
      texts_.emplace_back(text);
      bytes_ += text.size();
    }
    return place.row;
  }
  std::optional<std::uint32_t> find(std::string_view text) const { return find(text, text_hash(text)); }
  std::optional<std::uint32_t> find(std::string_view text, std::uint64_t hash) const {
    if (places_.empty()) return std::nullopt;
    const std::uint32_t row = places_[place_of(text, hash)].row;
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
