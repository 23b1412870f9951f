#include "record/parking/parked_threads.h"

#include <unordered_map>

namespace fathom::parking {
namespace {

// Nothing is mapped below (vm.mmap_min_addr is 65,536); a token is 0, 1, or a few bits of a lock's state.
constexpr std::uint64_t kLeastAddress = 65'536, kTokens = 4096;

std::size_t index(int word) {
  return static_cast<std::size_t>(kReach + word);
}

// UNPARKED or PARKED, in the half of the word at which the kernel is asked to wait.
bool is_futex_word(const Parker& parker) {
  const std::uint64_t word = parker.words[kReach];
  return static_cast<std::uint32_t>((parker.futex & 4) != 0 ? word >> 32 : word) <= 1;
}

// The word that both have as key, where the ThreadData begins `head` words from the futex's and `next` is the link.
std::optional<int> key_of(const Parker& one, const Parker& other, int head, int next,
                          const std::function<bool(std::uint64_t)>& is_writable) {
  std::optional<int> key;
  for (int word = head; word < head + kThreadDataWords; ++word) {
    if (word == 0 || word == next) continue;
    const std::uint64_t value = one.words[index(word)], theirs = other.words[index(word)];
    if (value < kTokens && theirs < kTokens) continue;
    if (key || value != theirs || value < kLeastAddress || !is_writable(value)) return std::nullopt;
    key = word;
  }
  return key;
}

}  // namespace

std::optional<std::int32_t> key_distance(std::span<const Parker> parkers,
                                         const std::function<bool(std::uint64_t)>& is_writable) {
  std::unordered_map<std::uint64_t, const Parker*> by_word;
  for (const Parker& parker : parkers) {
    if (is_futex_word(parker)) by_word.emplace(parker.word_address(), &parker);
  }
  std::optional<std::int32_t> distance;
  for (const auto& [address, one] : by_word) {
    for (int next = -kReach; next <= kReach; ++next) {
      if (next == 0) continue;
      // The link is the address of the other's first word, which lies up to four words before its futex.
      for (int head = -kReach; head <= 0; ++head) {
        if (next < head || next >= head + kThreadDataWords) continue;
        const std::uint64_t link = one->words[index(next)];
        const auto other =
            by_word.find(link - static_cast<std::uint64_t>(static_cast<std::int64_t>(head) * 8));
        if (other == by_word.end() || other->second == one) continue;
        if ((one->futex ^ other->second->futex) & 4) continue;  // one build, one layout
        const auto key = key_of(*one, *other->second, head, next, is_writable);
        if (!key) continue;
        const std::int32_t found = *key * 8 - static_cast<std::int32_t>(one->futex & 4);
        if (distance && *distance != found) return std::nullopt;
        distance = found;
      }
    }
  }
  return distance;
}

}  // namespace fathom::parking
