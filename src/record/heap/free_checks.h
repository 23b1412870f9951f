// Checks how blocks are freed: with their size, through the allocator that gave them, once. Gets each free in
// its thread's order; the owner of the live set supplies the block.
//
// One call of a program may be several events: a sized operator delete ends in the allocator's free, and a
// wrapping allocator frees through the wrapped one. Such events follow each other in one ring without a gap
// and are one free. Two unsized events of one allocator are two calls.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/abi/heap_tracer.h"
#include "record/heap/sites.h"
#include "record/heap/size_classes.h"

namespace fathom::sources::heap {

// Blocks of one site that were not given back as they should be.
struct Misuse {
  Sum wrong_size;  // with a size of another class
  Sum foreign;     // through another allocator
};

class FreeChecks {
 public:
  explicit FreeChecks(std::size_t rings) : rings_(rings) {}

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
  void claim(const Free& event) { rings_[event.ring] = {0, false, address(event.block), event.size}; }
  // A block that was live, of this site and size.
  void freed(const Free& event, std::uint32_t site, std::uint64_t size, const Sum& weight) {
    Ring& ring = rings_[event.ring];
    const bool claimed = ring.claimed != 0 && ring.claimed == address(event.block);
    if (event.sized && event.size != size) [[unlikely]]
      compare(event.block, site, size, event.size, weight);
    else if (claimed && ring.size != size) [[unlikely]]
      compare(event.block, site, size, ring.size, weight);
    ring = {event.block, event.sized || claimed, 0, 0};
    recent_[place(event.block)] = event.block;
  }
  // The same through an allocator that has not given it: `own` is the block as its own one knows it.
  void freed_elsewhere(const Free& event, std::uint64_t own, std::uint32_t site, const Sum& weight) {
    misuses_[site].foreign.add(weight);
    rings_[event.ring] = {event.block, event.sized, 0, 0};
    recent_[place(own)] = own;
  }
  // The same, of a free that came before the allocation; the block is not live.
  void freed_early(std::uint64_t block) { recent_[place(block)] = block; }
  // The block is handed out.
  void allocated(std::uint64_t block) {
    std::uint64_t& recent = recent_[place(block)];
    if (recent == block) recent = 0;
  }
  // Was the block freed, and not handed out since? Of some that were the answer is no.
  bool is_free(std::uint64_t block) const { return recent_[place(block)] == block; }
  // The thread did something else.
  void other_event(std::uint32_t ring) { rings_[ring].last = 0; }

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
    ring = {event.block, event.sized, 0, 0};
    if (follows) return Unknown::kSameCall;
    return is_free(event.block) ? Unknown::kFreedBefore : Unknown::kNeverSeen;
  }

  Misuse misuse(std::uint32_t site) const {
    const auto found = misuses_.find(site);
    return found == misuses_.end() ? Misuse{} : found->second;
  }

 private:
  struct Ring {
    std::uint64_t last = 0;  // block that was freed by the event before; 0: that was another event
    bool sized = false;      // that, or the claim before it, came with a size
    std::uint64_t claimed = 0, size = 0;  // address, and the size that it will be freed with
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

  // The last frees: which of them there were is a matter of chance, but a free that is found here did happen.
  // 16 KiB, so that it costs no time.
  static constexpr unsigned kRecentLog2 = 11;

  std::vector<Ring> rings_;
  std::array<std::uint64_t, 1u << kRecentLog2> recent_{};
  std::array<SizeRule, TRACER_ALLOCATORS> rules_{};
  std::uint32_t allocators_ = 0;
  std::unordered_map<std::uint32_t, Misuse> misuses_;
};

}  // namespace fathom::sources::heap
