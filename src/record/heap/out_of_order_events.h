// Events of one block by two threads whose stamps are in the wrong order. A processor may read its clock
// before it has done what stands before that in the program: a thread that gets a block from another one and
// frees it at once, or that is handed out what another one has just freed, may be stamped up to some
// microseconds too early (AMD Zen 4: one handover in 1,000, at worst one in 13, mostly by less than 0.5 us;
// Intel: never seen). A fence in front of each reading would make the tracer's part of an event two thirds
// dearer. But the events of a block take turns, so the wrong order shows:
//   a free of nothing, then another thread's allocation of that address: the block was freed
//   an allocation of a live block, then another thread's free of it: that is the free that was missing
// What is live and what was allocated and freed where is right again then; only when is wrong, by that time.
// Where three events of a block are out of order at once, two may stay odd, and one block stand for another one
// until its address is handed out again. Where a sequence is the clock no stamp is wrong, and nothing is looked for:
// its stamps count events, and in as many of them as in kEarly ticks an address is often handed out again.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace fathom::sources::heap {

class OutOfOrderEvents {
 public:
  // Ticks by which the stamp of a free may be too early. 99.8 % of the wrong ones lie in it: not more, as
  // glibc frees what is in the cache of a thread that ends, also blocks that were never handed out, and other
  // threads are given those; after 20,000 ends of threads 1 of 21,000 within 2,048 ticks, 8 within 8,192.
  static constexpr std::uint64_t kEarly = 1u << 12;
  // How long the free of the block before may come after an allocation: at most 20,839 ticks in 2 million
  // handovers that followed each other at once.
  static constexpr std::uint64_t kLate = 1u << 17;

  explicit OutOfOrderEvents(bool stamps_are_in_order = false)
      : frees_(stamps_are_in_order ? 0 : kEarly), allocations_(stamps_are_in_order ? 0 : kLate) {}

  struct Free {
    std::uint64_t block = 0, ticks = 0;
    std::uint32_t ring = 0, tid = 0;
    bool freed_before = false;  // and not handed out since, as far as that was seen
  };

  // A free of a block that is not live.
  void freed_nothing(const Free& free) { frees_.add(free); }
  // The free of this allocation, if it has come before it. Valid until the next call; clear it when it is
  // used.
  Free* free_of(std::uint64_t block, std::uint32_t ring, std::uint64_t ticks) {
    return frees_.find(block, ring, ticks);
  }

  // An allocation of a block that is live.
  void allocated_live(std::uint64_t block, std::uint32_t ring, std::uint64_t ticks) {
    allocations_.add({block, ticks, ring, 0, false});
  }
  // Is this the free of the block that was there before? Said once. `own_ticks`: when its thread was given
  // this block, if that is the last it was given.
  bool is_of_block_before(std::uint64_t block, std::uint32_t ring, std::uint64_t own_ticks,
                          std::uint64_t ticks) {
    Free* allocation = allocations_.find(block, ring, ticks);
    if (allocation == nullptr || own_ticks > allocation->ticks) return false;
    *allocation = {};
    return true;
  }

  // Nothing that was odd is so recent that it matters now.
  bool is_quiet(std::uint64_t ticks) const { return frees_.is_over(ticks) && allocations_.is_over(ticks); }

 private:
  // Those of the last time: what is overwritten stays what it was taken for.
  class Recent {
   public:
    explicit Recent(std::uint64_t window) : window_(window) {}
    void add(const Free& event) {
      if (window_ == 0) return;
      last_ = event.ticks;
      auto& places = events_[place(event.block)];
      *std::min_element(places.begin(), places.end(),
                        [](const Free& a, const Free& b) { return a.ticks < b.ticks; }) = event;
    }
    // Of another thread, and not too long ago.
    Free* find(std::uint64_t block, std::uint32_t ring, std::uint64_t ticks) {
      if (window_ == 0 || is_over(ticks)) return nullptr;
      for (Free& event : events_[place(block)])
        if (event.block == block && event.ring != ring && ticks <= event.ticks + window_) return &event;
      return nullptr;
    }

    bool is_over(std::uint64_t ticks) const { return ticks > last_ + window_; }

   private:
    static constexpr unsigned kPlacesLog2 = 8;
    static std::size_t place(std::uint64_t block) {
      return block * 0x9e3779b97f4a7c15ull >> (64 - kPlacesLog2);
    }
    std::vector<std::array<Free, 4>> events_ =
        std::vector<std::array<Free, 4>>(std::size_t{1} << kPlacesLog2);
    std::uint64_t window_, last_ = 0;
  };

  Recent frees_, allocations_;
};

}  // namespace fathom::sources::heap
