// The rings of the tracer -> its events in the order of their ticks. The target shares the memory and may
// write anything there at any time: nothing here may crash or hang. So geometry comes from the profiler's own
// memory, a word that both sides touch is loaded once, data is copied out before it is looked at, and a ring
// with invalid content is abandoned and counted.
//
// A round takes the records that were stamped before it began (the cut) and were in the rings by then. That
// suffices for the order that matters: a free is in its ring before the block can be handed out again, and an
// allocation is in its ring before its block can be freed. So for each event stamped before the cut the rings
// hold everything that led to it, however late its thread wrote it; such a record comes a round later than
// its neighbours in time, and nothing that depends on it came before. Sorting all of time would need to wait
// for the slowest thread instead.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/abi/heap_tracer.h"
#include "base/clock.h"
#include "base/result.h"

namespace fathom::sources::heap {

// A block that its thread freed right after allocating it, with no other record in between: an event of two
// records, TRACER_EVENT_ALLOC and the free. Only the reader has this kind, not the tracer.
inline constexpr std::uint8_t kAllocatedAndFreed = 0x80;
inline bool is_free(std::uint8_t kind) {
  return kind == TRACER_EVENT_FREE || kind == TRACER_EVENT_FREE_SIZED;
}

// A record, copied out of its ring, or two: see above. Which fields mean something depends on the kind.
struct TracerEvent {
  std::uint64_t ticks = 0;  // of the clock that stamps events
  std::uint64_t block = 0;  // address | allocator << 56; of a realloc the new block
  std::uint64_t size = 0;
  std::uint64_t old_block = 0, ticks_before = 0;  // realloc
  std::uint64_t freed_ticks = 0;                  // kAllocatedAndFreed: when, and with which size if `sized`
  std::uint64_t claimed_size = 0;
  const std::byte* addresses = nullptr;  // stack: `count` words, valid during the call, unaligned
  std::uint32_t stack = 0, mean = 0;
  std::uint32_t ring = 0;   // below RingReader::ring_count()
  std::uint32_t tid = 0;    // of the thread that owns the ring now; 0: not known yet
  std::uint16_t count = 0;  // of addresses
  std::uint8_t kind = 0;    // enum tracer_event_kind, one of them
  std::uint8_t end = 0;     // enum walk_end
  bool sized = false;
};

class RingReader {
 public:
  // `layout` is the head as the profiler planned it, and not the one in the shared memory. `memory` is all of
  // the shared memory, is aligned to 8 bytes and outlives the reader.
  static Result<RingReader> open(const tracer_shared& layout, std::span<std::byte> memory);

  struct Round {
    std::uint64_t events = 0;
    bool hurry = false;  // a ring was more than a quarter full: come again sooner
    // Without it all that was there has been taken. Else the budget was used up: the rest comes in the next round, and
    // begins at this time.
    std::optional<std::uint64_t> stopped_at;
  };
  // A target that writes as fast as it can must not keep a round from ending.
  struct Budget {
    std::uint64_t events = UINT64_MAX;
    std::uint64_t until_ns = UINT64_MAX;  // CLOCK_MONOTONIC
  };
  // Calls take(const TracerEvent&) for each record that is stamped up to `cut` and was there when the round
  // began. `cut` is the clock of the stamps before the call; it never goes back.
  template <class Take>
  Round drain(std::uint64_t cut, const Take& take) {
    return drain(cut, take, Budget{});
  }
  template <class Take>
  Round drain(std::uint64_t cut, const Take& take, const Budget& budget) {
    Round round;
    round.hurry = begin(cut);
    TracerEvent event;
    std::uint64_t look_again = kEventsBetweenLooks;
    while (!order_.empty()) {
      if (round.events >= look_again) {
        look_again = round.events + kEventsBetweenLooks;
        if (round.events >= budget.events || monotonic_ns() >= budget.until_ns) {
          round.stopped_at = order_.front().ticks;
          round.hurry = true;
          break;
        }
      }
      const std::uint32_t index = order_.front().ring;
      // All of this ring that comes before the first record of the next one.
      const Head limit = next_head(cut);
      Ring& ring = rings_[index];
      event.ring = index;
      bool goes_on = false;
      while (ready(ring)) {
        const Head head{ring.ticks, index};
        if (later(head, limit) || round.events >= look_again) {
          order_.front() = head;
          goes_on = ring.ticks <= cut;
          break;
        }
        if (!decode_common(ring, limit, event) && !decode(ring, event)) break;
        round.events += event.kind == kAllocatedAndFreed ? 2 : 1;
        take(static_cast<const TracerEvent&>(event));
      }
      if (!goes_on) {
        order_.front() = order_.back();
        order_.pop_back();
      }
      sink_front();
    }
    taken_events_ += round.events;
    return round;
  }

  // Returns empty rings whose owner has ended (by `lives`).
  std::uint32_t release(const std::function<bool(std::int32_t tid)>& lives);

  // What lies in the rings and was not taken: bytes, and about how many records that is.
  std::uint64_t left_bytes() const;
  std::uint64_t left_events() const;

  std::uint32_t ring_count() const { return static_cast<std::uint32_t>(rings_.size()); }
  std::uint32_t rings_given_up() const { return given_up_; }
  // As the tracer counts them, of all rings: records that found no room, ticks that threads waited for it.
  std::uint64_t lost() const;
  std::uint64_t waited() const;

 private:
  static constexpr std::uint64_t kEventsBetweenLooks = 4096;
  struct Ring {
    tracer_ring* shared = nullptr;
    const std::byte* data = nullptr;
    std::uint64_t tail = 0;       // ours: the shared memory only has a copy for the target
    std::uint64_t head = 0;       // when the round began
    std::vector<std::byte> copy;  // what was taken out of the ring: bytes at..end are not read yet
    std::size_t at = 0, end = 0;
    std::uint64_t first = 0;  // word of the next record
    std::uint64_t ticks = 0;  // of the next record, and never less than of the one before
    std::uint32_t tid = 0;
    std::uint32_t ahead = 0;  // rounds in which its next record was stamped after the cut
    bool bad = false;
    bool peeked = false;  // first and ticks are of the record at `at`
  };
  struct Head {
    std::uint64_t ticks;
    std::uint32_t ring;
  };
  // Of equal times by ring, so that the order is the same each time.
  static bool later(const Head& a, const Head& b) {
    return a.ticks != b.ticks ? a.ticks > b.ticks : a.ring > b.ring;
  }

  RingReader() = default;
  bool begin(std::uint64_t cut);
  void find_rings_in_use();
  // Where the ring in front of the heap has to stop.
  Head next_head(std::uint64_t cut) const {
    if (order_.size() < 2) return {cut, UINT32_MAX};
    return order_.size() > 2 && later(order_[1], order_[2]) ? order_[2] : order_[1];
  }
  // The front of the heap goes where it belongs. Threads take turns every few events, so this is done nearly
  // as often as anything: taking it out and putting it back would be twice the work.
  void sink_front() {
    for (std::size_t at = 0;;) {
      std::size_t first = 2 * at + 1;
      if (first >= order_.size()) return;
      if (first + 1 < order_.size() && later(order_[first], order_[first + 1])) ++first;
      if (!later(order_[at], order_[first])) return;
      std::swap(order_[at], order_[first]);
      at = first;
    }
  }
  // The next record's first word and ticks are there; false: no more in this round.
  bool ready(Ring& ring) {
    if (ring.peeked) return true;
    if (ring.bad || (ring.end - ring.at < sizeof(std::uint64_t) && !refill(ring, sizeof(std::uint64_t))))
      return false;
    std::memcpy(&ring.first, ring.copy.data() + ring.at, sizeof(ring.first));
    ring.ticks = std::max(ring.ticks, TRACER_TICKS(ring.first));
    ring.peeked = true;
    return true;
  }
  // Nearly all records are these, and whole. False: nothing is taken, decode() looks at it.
  bool decode_common(Ring& ring, const Head& limit, TracerEvent& event) {
    std::uint32_t kind = TRACER_KIND(ring.first);
    event.ticks = ring.ticks;
    event.tid = ring.tid;
    const std::byte* from = ring.copy.data() + ring.at;
    const std::size_t there = ring.end - ring.at;
    if (kind == TRACER_EVENT_FREE && there >= sizeof(tracer_event_free)) {
      std::memcpy(&event.block, from + offsetof(tracer_event_free, block), sizeof(event.block));
      ring.at += sizeof(tracer_event_free);
    } else if (kind == TRACER_EVENT_FREE_SIZED && there >= sizeof(tracer_event_free_sized)) {
      std::memcpy(&event.block, from + offsetof(tracer_event_free_sized, block), sizeof(event.block));
      std::memcpy(&event.size, from + offsetof(tracer_event_free_sized, size), sizeof(event.size));
      ring.at += sizeof(tracer_event_free_sized);
    } else if (kind == TRACER_EVENT_ALLOC && there >= sizeof(tracer_event_alloc)) {
      std::uint32_t size = 0;
      std::memcpy(&size, from + offsetof(tracer_event_alloc, size), sizeof(size));
      if (size == UINT32_MAX) return false;
      event.size = size;
      std::memcpy(&event.block, from + offsetof(tracer_event_alloc, block), sizeof(event.block));
      std::memcpy(&event.stack, from + offsetof(tracer_event_alloc, stack), sizeof(event.stack));
      ring.at += sizeof(tracer_event_alloc);
      if (take_free_of(ring, limit, event)) kind = kAllocatedAndFreed;
    } else {
      return false;
    }
    event.kind = static_cast<std::uint8_t>(kind);
    ring.peeked = false;
    return true;
  }
  // Takes the next record with the allocation before it, if that is what it frees, and it comes first of all.
  bool take_free_of(Ring& ring, const Head& limit, TracerEvent& event) {
    const std::size_t there = ring.end - ring.at;
    if (there < sizeof(tracer_event_free)) return false;
    tracer_event_free next;
    std::memcpy(&next, ring.copy.data() + ring.at, sizeof(next));
    const std::uint32_t kind = TRACER_KIND(next.first);
    const std::uint64_t ticks = TRACER_TICKS(next.first);
    event.sized = kind == TRACER_EVENT_FREE_SIZED;
    if (next.block != event.block || (kind != TRACER_EVENT_FREE && !event.sized) ||
        later({ticks, event.ring}, limit) || ticks < ring.ticks || TRACER_BLOCK_ADDRESS(next.block) == 0)
      return false;
    if (event.sized) {
      if (there < sizeof(tracer_event_free_sized)) return false;
      std::memcpy(&event.claimed_size, ring.copy.data() + ring.at + offsetof(tracer_event_free_sized, size),
                  sizeof(event.claimed_size));
      ring.at += sizeof(tracer_event_free_sized);
    } else {
      ring.at += sizeof(tracer_event_free);
    }
    event.freed_ticks = ring.ticks = ticks;
    return true;
  }
  bool decode(Ring& ring, TracerEvent& event);
  bool refill(Ring& ring, std::size_t wanted);
  bool give_up(Ring& ring);

  std::vector<Ring> rings_;
  // Most rings have no owner, and each is on its own pages: checking all of them each time was a tenth of the
  // collector's work.
  std::vector<std::uint32_t> in_use_;
  const u64* rings_taken_ = nullptr;      // in the shared memory
  std::uint64_t rings_taken_before_ = 0;  // when in_use_ was made
  std::vector<Head> order_;               // a heap, the earliest in front
  std::uint64_t ring_bytes_ = 0;
  std::uint32_t given_up_ = 0;
  std::uint64_t taken_bytes_ = 0, taken_events_ = 0;
};

}  // namespace fathom::sources::heap
