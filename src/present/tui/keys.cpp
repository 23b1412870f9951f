#include "present/tui/keys.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <utility>

namespace fathom::tui {
namespace {

constexpr std::size_t kLongestSequence = 32;

std::optional<KeyKind> kind_of(std::string_view parameters, char final) {
  switch (final) {
    case 'A':
      return KeyKind::kUp;
    case 'B':
      return KeyKind::kDown;
    case 'C':
      return KeyKind::kRight;
    case 'D':
      return KeyKind::kLeft;
    case 'H':
      return KeyKind::kHome;
    case 'F':
      return KeyKind::kEnd;
    case 'Z':
      return KeyKind::kBackTab;
    case '~':
      if (parameters == "5") return KeyKind::kPageUp;
      if (parameters == "6") return KeyKind::kPageDown;
      if (parameters == "1" || parameters == "7") return KeyKind::kHome;
      if (parameters == "4" || parameters == "8") return KeyKind::kEnd;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// "<0;12;3" and M: the left button was pressed in the twelfth column of the third row. Letting go is no key.
std::optional<Key> mouse(std::string_view parameters, char final) {
  if (parameters.empty() || parameters.front() != '<' || final != 'M') return std::nullopt;
  std::array<std::size_t, 3> numbers{};  // button, column, row
  const char* at = parameters.data() + 1;
  const char* const end = parameters.data() + parameters.size();
  for (std::size_t& number : numbers) {
    const auto [stop, problem] = std::from_chars(at, end, number);
    if (problem != std::errc()) return std::nullopt;
    at = stop == end ? end : stop + 1;
  }
  constexpr std::size_t kLeft = 0, kUp = 64, kDown = 65;
  if (numbers[0] == kUp) return Key{KeyKind::kWheelUp};
  if (numbers[0] == kDown) return Key{KeyKind::kWheelDown};
  if (numbers[0] != kLeft || numbers[1] == 0 || numbers[2] == 0) return std::nullopt;
  return Key{KeyKind::kClick, "", numbers[2] - 1, numbers[1] - 1};
}

// Bytes that the first one says its character has; 1 where it begins none.
std::size_t utf8_length(unsigned char first) {
  return first >= 0xf0 && first < 0xf8 ? 4 : first >= 0xe0 ? (first < 0xf0 ? 3 : 1) : first >= 0xc2 ? 2 : 1;
}

std::optional<Key> control(unsigned char byte) {
  switch (byte) {
    case '\r':
    case '\n':
      return Key{KeyKind::kEnter};
    case '\t':
      return Key{KeyKind::kTab};
    case 0x7f:
    case 0x08:
      return Key{KeyKind::kBackspace};
    case 0x03:
    case 0x04:
      return Key{KeyKind::kInterrupt};
    case 0x0c:
      return Key{KeyKind::kRedraw};
    default:
      return std::nullopt;
  }
}

}  // namespace

std::vector<Key> KeyReader::feed(std::string_view bytes) {
  rest_ += bytes;
  std::vector<Key> keys;
  std::size_t at = 0;
  while (at < rest_.size()) {
    const auto byte = static_cast<unsigned char>(rest_[at]);
    if (byte == 0x1b) {
      if (at + 1 == rest_.size()) break;
      const char next = rest_[at + 1];
      if (next != '[' && next != 'O') {  // a key of its own, or Alt and a key: the key alone
        keys.push_back({KeyKind::kEscape});
        ++at;
        continue;
      }
      std::size_t end = at + 2;
      while (end < rest_.size() && (rest_[end] < 0x40 || rest_[end] > 0x7e)) ++end;
      if (end == rest_.size()) {
        if (end - at < kLongestSequence) break;
        at = end;  // no terminal sends this
        continue;
      }
      const std::string_view parameters = std::string_view(rest_).substr(at + 2, end - at - 2);
      if (auto clicked = mouse(parameters, rest_[end])) {
        keys.push_back(std::move(*clicked));
      } else if (const auto kind = kind_of(parameters.substr(0, parameters.find(';')), rest_[end])) {
        keys.push_back({*kind});
      }
      at = end + 1;
      continue;
    }
    if (byte < 0x20 || byte == 0x7f) {
      if (const auto key = control(byte)) keys.push_back(*key);
      ++at;
      continue;
    }
    const std::size_t length = utf8_length(byte);
    if (at + length > rest_.size()) break;
    if (byte < 0x80 || length > 1) keys.push_back({KeyKind::kText, rest_.substr(at, length)});
    at += length;
  }
  rest_.erase(0, at);
  return keys;
}

std::vector<Key> KeyReader::pause() {
  std::vector<Key> keys;
  if (rest_ == "\x1b") keys.push_back({KeyKind::kEscape});
  rest_.clear();
  return keys;
}

}  // namespace fathom::tui
