// Where in a parked thread's ThreadData the key lies, proved by a queue of such threads. Source: parking_lot_core 0.9,
// parking_lot.rs: {parker (the futex word, 4 bytes), parked_with_timeout (1 byte), key, next_in_queue, unpark_token,
// park_token (8 bytes each)}, in an order that each build of Rust chooses. Pure: the words are copies.
//
// Alternative not taken: the table of queues by its symbol HASHTABLE. A stripped program has no symbol, and two threads
// that once waited for one lock prove as much without it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace fathom::parking {

// ThreadData has five words of eight bytes; so the others lie at most four away from that of the futex.
constexpr int kReach = 4;
constexpr int kThreadDataWords = 5;

// The words around the futex word of a thread that is parked or was: words[kReach] holds it.
struct Parker {
  std::uint64_t futex = 0;  // its address, a multiple of four
  std::array<std::uint64_t, 2 * kReach + 1> words = {};

  std::uint64_t word_address() const { return futex & ~std::uint64_t{7}; }
};

// Bytes from the futex word to the key. A proof is a pair of threads: one's next_in_queue is the other's
// ThreadData, both also share one address of writable memory, and the two tokens are small numbers, like
// those of parking_lot's locks. nullopt: no pair, or pairs with different distances. Words of different times
// do no harm: a key that changed between two copies gives no pair.
std::optional<std::int32_t> key_distance(std::span<const Parker> parkers,
                                         const std::function<bool(std::uint64_t)>& is_writable);

}  // namespace fathom::parking
