// Checks how blocks are freed: with their size, through the allocator that gave them, once. Gets each free in
// its thread's order; the owner of the live set supplies the block.
//
// One call of a program may be several events: a sized operator delete ends in the allocator's free, and a
// wrapping allocator frees through the wrapped one. Such events follow each other in one ring without a gap
// and are one free. Two unsized events of one allocator are two calls.
//
// A second free of a block is an error only once its thread has gone on to allocate: when a thread ends, glibc
// frees what is in the thread's cache once more, and after that the thread allocates nothing.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "base/abi/heap_tracer.h"
#include "record/heap/out_of_order_events.h"
#include "record/heap/sites.h"
#include "record/heap/size_classes.h"

namespace fathom::sources::heap {

// Blocks of one site that were not given back as they should be.
struct Misuse {
  Sum wrong_size;  // with a size of another class
  Sum foreign;     // through another allocator
  Sum twice;       // once more, before they were handed out again
};

class FreeChecks {
 public:
  // As in OutOfOrderEvents.
  FreeChecks(std::size_t rings, bool stamps_are_in_order)
      : early_(stamps_are_in_order ? 0 : OutOfOrderEvents::kEarly), rings_(rings) {}

  void allocator(std::uint32_t number, SizeRule rule) {
    rules_[number % TRACER_ALLOCATORS] = rule;
    allocators_ = std::max(allocators_, number % TRACER_ALLOCATORS + 1);
  }
  std::uint32_t allocators() const { return allocators_; }
  std::uint64_t usable(std::uint64_t block, std::uint64_t size) const {
    return usable_size(rule_of(block), size);
  }

  struct Free {
    std::uint32_t ring;
    std::uint64_t block;  // as the event has it
    bool sized;
    std::uint64_t size;  // that was claimed, if it was
  };
  // A function of no allocator: the event that frees comes next.
  void claim(const Free& event) {
    Ring& ring = rings_[event.ring];
    ring = {0, false, ring.suspects, address(event.block), event.size};
  }
  // A block that was live, of this site and size.
  void freed(const Free& event, std::uint32_t site, std::uint64_t size, const Sum& weight) {
    Ring& ring = rings_[event.ring];
    const bool claimed = ring.claimed != 0 && ring.claimed == address(event.block);
    if (event.sized && event.size != size) [[unlikely]]
      compare(event.block, site, size, event.size, weight);
    else if (claimed && ring.size != size) [[unlikely]]
      compare(event.block, site, size, ring.size, weight);
    ring = {event.block, event.sized || claimed, ring.suspects, 0, 0};
    recent_[place(event.block)] = {event.block, site, size};
  }
  // The same through an allocator that has not given it: `own` is the block as its own one knows it.
  void freed_elsewhere(const Free& event, std::uint64_t own, std::uint32_t site, std::uint64_t size,
                       const Sum& weight) {
    misuses_[site].foreign.add(weight);
    Ring& ring = rings_[event.ring];
    ring = {event.block, event.sized, ring.suspects, 0, 0};
    recent_[place(own)] = {own, site, size};
  }
  // The same, of a free that came before the allocation; the block is not live.
  void freed_early(std::uint64_t block, std::uint32_t site, std::uint64_t size) {
    recent_[place(block)] = {block, site, size};
  }
  // The block is handed out.
  void allocated(std::uint64_t block) {
    Recent& recent = recent_[place(block)];
    if (recent.block == block) recent.block = 0;
  }
  // Was the block freed, and not handed out since? Of some that were the answer is no.
  bool is_free(std::uint64_t block) const { return recent_[place(block)].block == block; }
  // The thread allocates.
  void other_event(std::uint32_t ring, std::uint32_t tid, std::uint64_t ticks) {
    rings_[ring].last = 0;
    if (rings_[ring].suspects != 0) [[unlikely]]
      confirm(ring, tid, ticks);
  }

  // A free that found its block free (Unknown::kFreedBefore).
  void suspect(const Free& event, std::uint64_t ticks, std::uint32_t tid) {
    const Recent& before = recent_[place(event.block)];
    if (before.block != event.block) return;
    if (suspects_.size() >= kMostSuspects) {
      --rings_[suspects_.front().ring].suspects;
      book(suspects_.front());
      suspects_.pop_front();
    }
    suspects_.push_back({event.block, ticks, event.ring, tid, before.site, before.size});
    ++rings_[event.ring].suspects;
  }
  // It was that of an allocation which came later.
  void clear_suspect(std::uint64_t block, std::uint64_t ticks) {
    std::erase_if(suspects_, [&](const Suspect& suspect) {
      const bool is_it = suspect.block == block && suspect.ticks == ticks;
      if (is_it) --rings_[suspect.ring].suspects;
      return is_it;
    });
  }

  enum class Unknown : std::uint8_t {
    kSameCall,     // that freed the block just now
    kFreedBefore,  // and not handed out since, as far as that was seen
    kNeverSeen,    // or freed so long ago that it is forgotten
  };
  // No such block is live.
  Unknown unknown(const Free& event) {
    Ring& ring = rings_[event.ring];
    const bool follows = ring.last != 0 && address(ring.last) == address(event.block) &&
                         (ring.last != event.block || ring.sized || event.sized);
    ring = {event.block, event.sized, ring.suspects, 0, 0};
    if (follows) return Unknown::kSameCall;
    return is_free(event.block) ? Unknown::kFreedBefore : Unknown::kNeverSeen;
  }

  Misuse misuse(std::uint32_t site) const {
    const auto found = misuses_.find(site);
    Misuse misuse = found == misuses_.end() ? Misuse{} : found->second;
    for (const Suspect& suspect : suspects_)
      if (suspect.goes_on && suspect.site == site) misuse.twice.add({1, static_cast<double>(suspect.size)});
    return misuse;
  }

 private:
  struct Ring {
    std::uint64_t last = 0;      // block that was freed by the event before; 0: that was another event
    bool sized = false;          // that, or the claim before it, came with a size
    std::uint32_t suspects = 0;  // of suspects_, so many are of this ring
    std::uint64_t claimed = 0, size = 0;  // address, and the size that it will be freed with
  };
  // A block that was freed, and where it was allocated.
  struct Recent {
    std::uint64_t block = 0;
    std::uint32_t site = 0;
    std::uint64_t size = 0;
  };
  struct Suspect {
    std::uint64_t block, ticks;
    std::uint32_t ring, tid, site;
    std::uint64_t size;
    bool goes_on = false;  // the thread has allocated since
  };
  static std::uint64_t address(std::uint64_t block) { return TRACER_BLOCK_ADDRESS(block); }
  static std::size_t place(std::uint64_t block) {
    return (block * 0x9e3779b97f4a7c15ull) >> (64 - kRecentLog2);
  }
  SizeRule rule_of(std::uint64_t block) const {
    return rules_[TRACER_BLOCK_ALLOCATOR(block) % TRACER_ALLOCATORS];
  }
  void compare(std::uint64_t block, std::uint32_t site, std::uint64_t size, std::uint64_t claimed,
               const Sum& weight) {
    if (!is_same_class(rule_of(block), size, claimed)) misuses_[site].wrong_size.add(weight);
  }

  // What this thread freed twice was an error, as it goes on. It is final once the block's allocation can no longer
  // come (OutOfOrderEvents).
  void confirm(std::uint32_t ring, std::uint32_t tid, std::uint64_t ticks) {
    std::erase_if(suspects_, [&](Suspect& suspect) {
      if (suspect.ring != ring) return false;
      if (suspect.tid == tid) suspect.goes_on = true;  // else another thread has this ring now
      if (suspect.goes_on && ticks <= suspect.ticks + early_) return false;
      book(suspect);
      --rings_[ring].suspects;
      return true;
    });
  }
  void book(const Suspect& suspect) {
    if (suspect.goes_on) misuses_[suspect.site].twice.add({1, static_cast<double>(suspect.size)});
  }

  // The last frees: which of them there were is a matter of chance, but a free that is found here did happen.
  // 48 KiB, which stay in the cache: a nanosecond for a block that is freed at once.
  static constexpr unsigned kRecentLog2 = 11;

  std::uint64_t early_;  // ticks by which an allocation may stand behind its free
  std::vector<Ring> rings_;
  std::array<Recent, 1u << kRecentLog2> recent_{};
  static constexpr std::size_t kMostSuspects = 1024;  // a thread that ends has a cache of some hundred blocks
  std::deque<Suspect> suspects_;                      // the oldest first
  std::array<SizeRule, TRACER_ALLOCATORS> rules_{};
  std::uint32_t allocators_ = 0;
  std::unordered_map<std::uint32_t, Misuse> misuses_;
};

}  // namespace fathom::sources::heap
