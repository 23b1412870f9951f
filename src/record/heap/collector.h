// The events of the heap tracer -> what is live, and what happened where in which time slice. Reads rings and
// adds up; makes no names, writes no files. Floor 2: stacks are numbers, with their addresses delivered once;
// the owner of the profile turns them into its rows (capture).
//
// How it is used, in one thread:
//   every 20 ms (less if the round says hurry)   round = collector.drain(now)
//       resolve round.stacks at once: their addresses come only now, and refer to the current mappings
//       read the names of round.threads at once: they may be gone soon
//       if (auto slice = collector.slice()) keep it
//   every second   put the sites and rows of the slices kept into the profile; collector.release_rings(lives)
//   at the end     drain, slice(true), summary()
// A killed recording keeps all slices that were written. Slices get longer with the recording, so that their
// number stays bounded: 50 ms at first, doubling after each 512 slices or 262,144 rows, and below a second
// already after 65,536 rows: a program with many sites has fine slices in its first seconds, at a small share
// of its file.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/abi/heap_tracer.h"
#include "base/result.h"
#include "record/heap/block_log.h"
#include "record/heap/event_clock.h"
#include "record/heap/free_checks.h"
#include "record/heap/live_set.h"
#include "record/heap/out_of_order_events.h"
#include "record/heap/process_bounds.h"
#include "record/heap/ring_reader.h"
#include "record/heap/sites.h"
#include "record/heap/stack_table.h"

namespace fathom::sources::heap {

struct CollectorOptions {
  bool by_thread = true;  // a site is also its allocating thread's
  std::uint32_t max_sites = 1u << 16;
  std::uint32_t max_stacks = 1u << 17;
  std::uint64_t max_live_blocks = 1ull << 26;  // 2.3 GB; further ones count as allocated and are not followed
  std::uint64_t first_slice_ns = 50'000'000;
  std::uint32_t slices_per_length = 512, rows_per_length = 1u << 18;  // a quarter of the rows below a second
  std::uint64_t seed = 0;                                             // of the hashes; 0: at random
  bool each_block = false;                                            // a row for the life of every block
  std::uint64_t max_block_rows = 1ull << 20;  // 64 MB between two calls of take_blocks()
  // Where a sequence is the clock: of the counter, for times of waiting; and after how long a silence the tracer pauses.
  double ns_per_tick = 1.0 / 3;
  std::uint64_t silence_ns = 0;
  // Asked when a claim passes what was known. Without it everything is believed.
  std::function<ProcessBounds()> bounds;
};

// A stack that was not seen before.
struct NewStack {
  std::uint32_t stack = 0;               // counted from 1; sites name it
  std::uint8_t end = 0;                  // enum walk_end
  std::vector<std::uint64_t> addresses;  // leaf first, as in tracer_event_stack
};

struct Round {
  std::uint64_t events = 0;
  bool hurry = false;
  bool stopped = false;  // the budget was used up, and there is more
  std::vector<NewStack> stacks;
  std::vector<std::int32_t> threads;  // tids, in the target's pid namespace, that took a ring
};

struct SliceRow {
  std::uint32_t site = 0;
  SiteSlice sums;
  Sum allocated_variance, freed_variance;
  double churn_variance = 0;  // of bytes
};
// Sites are numbered from 0 in the order in which they appear; site 0 is there from the start and stands for
// what found no room in the tables.
struct Slice {
  std::uint64_t start_ns = 0, end_ns = 0;  // CLOCK_MONOTONIC
  std::uint64_t peak_ns = 0;
  double peak_bytes = 0;
  Sum live;                          // at its end
  std::uint32_t first_new_site = 0;  // this one and all after it are new since the slice or batch before
  std::vector<SiteKey> new_sites;
  std::vector<SliceRow> rows;  // by site
};

// Lives of blocks that have ended, and the sites that are new since the last slice or batch.
struct BlockBatch {
  std::uint32_t first_new_site = 0;
  std::vector<SiteKey> new_sites;
  std::vector<BlockLife> blocks;
};

struct Bucket {
  std::uint8_t bucket = 0;  // as bucket_of()
  Sum sum;
};
struct SiteSummary {
  std::uint32_t site = 0;
  Sum peak, peak_variance;
  std::uint64_t longest_ns = 0;
  std::vector<Bucket> sizes, lifetimes_ns, ages_ns;  // ages: of what is live now
  double live_usable = 0;                            // bytes set aside for what is live now; 0: not known
  Misuse misuse;
  Sum given_back;  // calls of madvise, and the bytes of their ranges: MappingCollector only
};
// Of all time so far.
struct Summary {
  std::uint64_t peak_ns = 0;
  Sum peak;
  std::vector<SiteSummary> sites;  // all that have data
};

// A stretch of time in which the tracer recorded nothing, as it did not hear of us.
struct Outage {
  std::uint64_t start_ns = 0, end_ns = 0;  // CLOCK_MONOTONIC
};

// What became of events.
struct Counters {
  std::uint64_t events = 0;  // records taken out of the rings, without those of threads and stacks
  std::uint64_t allocations = 0, frees = 0;
  std::uint64_t unknown_frees = 0;  // of blocks that were there before us
  std::uint64_t unseen_frees = 0;   // an address was handed out again without a free
  std::uint64_t invalid_frees = 0;  // of blocks that had been freed and not handed out since
  std::uint64_t foreign_frees = 0;  // through another allocator than the one that gave the block
  // Frees that came after the next allocation of the same address, or before that of their own block.
  std::uint64_t late_frees = 0, early_frees = 0;
  std::uint64_t unwalked = 0, incomplete = 0;  // allocations without a stack, or without all of it
  std::uint64_t not_followed = 0;              // allocations beyond max_live_blocks
  std::uint64_t merged = 0;                    // sites or stacks that found no room
  std::uint64_t rings_given_up = 0;
  // The tracer's own; see base/abi/heap_tracer.h.
  std::uint64_t lost_ring_full = 0, lost_no_ring = 0, lost_no_slot = 0, lost_throwing = 0, lost_set_full = 0;
  std::uint64_t nested = 0, waited_ns = 0;
  std::uint32_t mean = 0;         // that samples were drawn with last
  bool switched_off = false;      // it records nothing now
  std::uint64_t lost_blocks = 0;  // lives that were not logged
  std::uint64_t lost_at_end = 0;  // that lay in the rings when end() was called
  std::uint64_t impossible = 0;   // that claim what the process cannot have
  bool operator==(const Counters&) const = default;
};

class Collector {
 public:
  // `layout` and `memory` as RingReader::open() takes them; the layout says which clock stamps the events.
  static Result<Collector> create(const tracer_shared& layout, std::span<std::byte> memory, const Moment& now,
                                  const CollectorOptions& options = {});

  // By which rule the allocator with this number in the blocks' top byte rounds sizes up.
  void allocator(std::uint32_t number, SizeRule rule) { checks_.allocator(number, rule); }
  // Takes events stamped up to `now` (raw ticks) out of the rings, and updates the heartbeat.
  struct Budget {
    RingReader::Budget events;
    std::size_t stack_words = SIZE_MAX;  // of new stacks: others are not delivered again
    std::size_t threads = SIZE_MAX;      // that took a ring
  };
  Round drain(const Moment& now) { return drain(now, {}); }
  Round drain(const Moment& now, const Budget& budget);
  // Between two rounds, and during one: events stamped from now on are not older than this. No effect if the
  // counter is the clock.
  void advance_clock(std::uint64_t monotonic_ns) const { clock_.advance(monotonic_ns); }
  // The target samples with this mean from now on; without this call any mean is accepted.
  void order_mean(std::uint32_t mean);
  // What lies in the rings now is lost.
  void end() { counters_.lost_at_end = rings_.left_events(); }
  // Closes the slice that lasted until the round before, if it is long enough, or if it is the `last` one.
  std::optional<Slice> slice(bool last = false);
  // All of it at once; SummaryInParts lets events be taken in between.
  Summary summary() const;
  // With each_block: what has ended since the last call, to be put into the profile before the next slice.
  BlockBatch take_blocks();
  // Visits every live block (BlockLife); its sites have been delivered.
  template <class Visit>
  void for_each_live_life(const Visit& visit) const {
    if (log_)
      live_.for_each([&](std::uint64_t block, const LiveBlock& live) { visit(life_of(block, live)); });
  }
  // Rings of threads that have ended can be others'. Asks once per thread that owns an empty ring.
  void release_rings(const std::function<bool(std::int32_t tid)>& lives) { rings_.release(lives); }

  Counters counters() const;
  // In order of time; the last one lasts until now if the tracer records nothing now.
  std::vector<Outage> outages() const;
  // The program has executed another one: what is live is freed now. Returns what that was.
  Sum end_image();
  Sum live() const { return sites_.live(); }
  std::uint64_t live_blocks_followed() const { return live_.size(); }
  std::uint8_t end_of(std::uint32_t stack) const { return stacks_.end_of(stack); }
  // Visits the blocks that are followed now: (block, LiveBlock).
  template <class Visit>
  void for_each_live(const Visit& visit) const {
    live_.for_each(visit);
  }
  // The same in LiveSet::kShards parts, so that events can be taken in between, and with what each block
  // stands for: (block, size, Weight).
  template <class Visit>
  void for_each_live_of(std::size_t part, const Visit& visit) const {
    live_.for_each_of(
        part, [&](std::uint64_t block, const LiveBlock& live) { visit(block, live.size, weight_of(live)); });
  }

 private:
  friend class SummaryInParts;
  // An event that waits for its place in the cache.
  struct alignas(64) Pending {
    std::uint64_t ticks, block, size;
    union {
      std::uint64_t old_block;    // realloc
      std::uint64_t freed_ticks;  // kAllocatedAndFreed
      const Pending* allocation;  // free, if `short_lived`
    };
    union {
      std::uint64_t ticks_before;  // realloc
      std::uint64_t claimed_size;  // kAllocatedAndFreed, if `sized`
      std::uint64_t mean;          // sample
    };
    std::uint32_t tid, site;
    std::uint16_t ring;
    std::uint8_t kind;
    bool sized;
    bool short_lived;  // an allocation whose free waits too, or that free
  };
  static_assert(sizeof(Pending) == 64, "one cache line");
  static constexpr std::size_t kPending = 128;
  struct RingState {
    std::uint32_t tid = 0;
    std::uint64_t last_block = 0, last_ticks = 0;  // that its thread allocated, and when
  };

  Collector(const tracer_shared& layout, std::span<std::byte> memory, RingReader rings,
            const CollectorOptions& options);
  void take(const TracerEvent& event, Round& round);
  void learn_bounds();
  bool is_possible(const Pending& event);
  bool may_follow_more();
  void take_stack(const TracerEvent& event, Round& round);
  void watch_silence();
  std::uint32_t site_of(const TracerEvent& event);
  std::uint32_t site_of(const SiteKey& key);
  void apply_pending();
  void allocate_and_free(Pending& event);
  void find_short_lived(std::span<Pending> events);
  void apply(Pending& event);
  void allocate(Pending& event);
  void free(std::uint64_t block, std::uint64_t ticks, const Pending& event);
  void free_unknown(const FreeChecks::Free& freed, std::uint64_t ticks, std::uint32_t tid);
  bool is_live(std::uint64_t block) const {
    return !checks_.is_free(block) && live_.glimpse(block).site != LiveSet::kNoSite;
  }
  void allocate_freed(const Pending& event, const LiveBlock& block, const OutOfOrderEvents::Free& free);
  void reallocate(Pending& event);
  void resize(const Pending& event);
  // `tid`: the thread that freed it; 0 if unknown.
  void book_free(std::uint64_t block, const LiveBlock& live, std::uint64_t ticks, std::uint32_t tid,
                 bool temporary);
  BlockLife life_of(std::uint64_t block, const LiveBlock& live) const;
  RingState& state_of(std::uint32_t ring, std::uint32_t tid) {
    RingState& state = ring_states_[ring];
    if (state.tid != tid) state = {tid, 0, 0};
    return state;
  }
  std::uint8_t mean_number(std::uint32_t mean);
  Weight weight_of(const LiveBlock& block) const {
    return block.mean == 0 ? exact_weight(block.size) : sampled_weight(block.size, means_[block.mean]);
  }
  // In whole numbers: a double would cost an event a tenth of its time.
  std::uint64_t lifetime_ns(std::uint64_t ticks) const {
    return static_cast<std::uint64_t>(static_cast<unsigned __int128>(ticks) * ns_per_tick_ >> 32);
  }
  std::uint64_t ns_of(std::uint64_t ticks) const { return clock_.ns(ticks); }

  tracer_shared* shared_;  // the target's, too: what is read there is counted and shown, and nothing more
  RingReader rings_;
  CollectorOptions options_;
  EventClock clock_;
  std::uint64_t ns_per_tick_ = 0;  // of this round, times 2^32
  StackTable stacks_;
  Sites sites_;
  // Sites that were looked up last: threads that share stacks, and so their numbers, take turns. 80 KiB.
  struct SiteFound {
    SiteKey key;
    std::uint32_t site = 0;
    bool known = false;
  };
  static constexpr unsigned kSitesFoundLog2 = 12;
  std::vector<SiteFound> sites_found_ = std::vector<SiteFound>(std::size_t{1} << kSitesFoundLog2);
  LiveSet live_;
  std::optional<BlockLog> log_;  // each_block
  FreeChecks checks_;
  OutOfOrderEvents out_of_order_;
  std::vector<RingState> ring_states_;
  std::vector<Pending> pending_ = std::vector<Pending>(kPending);
  std::size_t pending_count_ = 0;
  std::vector<std::uint32_t> means_ = {0};  // [0] is exact
  std::vector<std::uint32_t> ordered_means_;
  Budget budget_;               // what is left of it in this round
  bool learnt_bounds_ = false;  // in this round
  double most_bytes_ = 0;
  std::uint64_t most_blocks_ = 0;
  Counters counters_;
  struct Silence {
    std::uint64_t start, end;  // ticks
  };
  std::vector<Silence> silences_;
  bool silent_ = false;  // the last of them goes on
  std::uint32_t epoch_ = 0;
  std::uint64_t cut_ = 0, cut_ns_ = 0;
  std::uint64_t slice_start_ticks_ = 0, slice_start_ns_ = 0;
  std::uint64_t slice_ns_;
  std::uint32_t slices_ = 0, rows_ = 0;  // of this length
  std::uint32_t sites_told_ = 0;
};

}  // namespace fathom::sources::heap
