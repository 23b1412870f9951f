// What each event changes: which blocks are live, and the sums of their sites.
#include <algorithm>
#include <utility>

#include "record/heap/collector.h"

namespace fathom::sources::heap {
namespace {

// Ticks take 56 bits in an event; a time that is given in a word of its own may claim more.
constexpr std::uint64_t kMostTicks = (1ull << 56) - 1;

}  // namespace

// Two steps, so that many events wait for memory at once: the places of the blocks were asked for when the
// events came; now what they lead to, the sites of those that are freed.
void Collector::apply_pending() {
  const std::span events(pending_.data(), std::exchange(pending_count_, 0));
  find_short_lived(events);
  for (Pending& event : events) apply(event);
}

// Many blocks are allocated and freed within these few events: they need not become live in between. A free
// is put together with an allocation if nothing between them names the address.
void Collector::find_short_lived(std::span<Pending> events) {
  const bool all_followed = log_ || live_.size() + kPending >= most_blocks_;
  std::array<Pending*, kPending> recent{};
  for (Pending& event : events) {
    const auto recent_of = [&](std::uint64_t block) -> Pending*& { return recent[(block >> 4) % kPending]; };
    if (event.kind == kAllocatedAndFreed) {
      recent_of(event.block) = nullptr;
      continue;
    }
    const bool frees = is_free(event.kind);
    if (frees && TRACER_BLOCK_ALLOCATOR(event.block) == TRACER_NO_ALLOCATOR) continue;
    if (frees || event.kind == TRACER_EVENT_REALLOC) {
      const std::uint64_t block = frees ? event.block : event.old_block;
      Pending* const before = std::exchange(recent_of(block), nullptr);
      LiveSet::Glimpse freed;
      if (before != nullptr && before->block == block) {
        freed = {before->site, before->ticks};
        if (frees && before->kind == TRACER_EVENT_ALLOC && event.ticks >= before->ticks && block != 0 &&
            !all_followed) {
          before->short_lived = event.short_lived = true;
          event.allocation = before;
        }
      } else {
        freed = live_.glimpse(block);
      }
      const std::uint64_t age = event.ticks > freed.ticks ? event.ticks - freed.ticks : 0;
      if (freed.site != LiveSet::kNoSite) sites_.prefetch(freed.site, Histogram::kLifetime, lifetime_ns(age));
    }
    if (!frees) recent_of(event.block) = &event;
  }
}

// Most blocks of many programs are freed by the thread that allocated them before it or another one does
// anything else with the heap: all that such a block changes is sums.
void Collector::allocate_and_free(Pending& event) {
  // A free of the previous block was not seen, or is further behind; or that of this one has come already; or
  // lives are logged.
  if (log_ || !may_follow_more() || !is_possible(event) || is_live(event.block) ||
      out_of_order_.free_of(event.block, event.ring, event.ticks) != nullptr) {
    allocate(event);
    Pending freed = event;
    freed.kind = event.sized ? TRACER_EVENT_FREE_SIZED : TRACER_EVENT_FREE;
    freed.size = event.claimed_size;
    return free(event.block, event.freed_ticks, freed);
  }
  ++counters_.allocations;
  ++counters_.frees;
  state_of(event.ring, event.tid).last_block = 0;
  checks_.other_event(event.ring, event.tid, event.ticks);
  checks_.freed({event.ring, event.block, event.sized, event.claimed_size}, event.site, event.size,
                {1, static_cast<double>(event.size)});
  Sites::Freed freed;
  freed.lifetime_ticks = event.freed_ticks - event.ticks;
  freed.lifetime_ns = lifetime_ns(freed.lifetime_ticks);
  freed.temporary = true;
  freed.in_slice = true;
  sites_.allocate_and_free(event.site, event.size, event.ticks, freed);
}

void Collector::apply(Pending& event) {
  switch (event.kind) {
    case TRACER_EVENT_ALLOC:
    case TRACER_EVENT_SAMPLE:
      return allocate(event);
    case TRACER_EVENT_FREE:
    case TRACER_EVENT_FREE_SIZED:
      return free(event.block, event.ticks, event);
    case TRACER_EVENT_REALLOC:
      return reallocate(event);
    case kAllocatedAndFreed:
      return allocate_and_free(event);
    default:
      return resize(event);
  }
}

void Collector::allocate(Pending& event) {
  if (!is_possible(event)) [[unlikely]] {
    event.short_lived = false;  // its free, too, is one of nothing
    ++counters_.impossible;
    return;
  }
  ++counters_.allocations;
  LiveBlock block;
  block.ticks = std::min(event.ticks, kMostTicks);
  block.size = event.size;
  block.site = event.site;
  if (event.kind == TRACER_EVENT_SAMPLE) block.mean = mean_number(static_cast<std::uint32_t>(event.mean));
  const std::uint64_t key = event.block;
  checks_.other_event(event.ring, event.tid, event.ticks);
  if (key == 0) return;
  LiveBlock old;
  if (!may_follow_more()) {
    // It counts as allocated, and as freed at once: what is live is too small by what was not followed.
    ++counters_.not_followed;
    if (most_blocks_ < options_.max_live_blocks) ++counters_.impossible;  // it has no memory for so many
    const Weight weight = weight_of(block);
    sites_.allocate(block.site, weight, block.size, event.ticks);
    sites_.free(block.site, weight, {UINT64_MAX, 0, false, true});
    if (log_) log_->lose();
    return;
  }
  event.short_lived = event.short_lived && out_of_order_.is_quiet(event.ticks) && !is_live(key);
  if (!event.short_lived) {
    if (OutOfOrderEvents::Free* free = out_of_order_.free_of(key, event.ring, event.ticks)) [[unlikely]]
      return allocate_freed(event, block, std::exchange(*free, {}));
    checks_.allocated(key);
    if (live_.put(key, block, old)) {
      // Its free was not seen, or stands further behind: in a realloc that has not been written yet.
      ++counters_.unseen_frees;
      book_free(key, old, event.ticks, 0, false);
      out_of_order_.allocated_live(key, event.ring, event.ticks);
    }
  }
  if (log_) log_->allocated(key, block.ticks);
  if (block.mean == 0)  // apart, so that all of it stays in registers
    sites_.allocate(block.site, exact_weight(block.size), block.size, event.ticks);
  else
    sites_.allocate(block.site, weight_of(block), block.size, event.ticks);
  RingState& state = state_of(event.ring, event.tid);
  state.last_block = key;
  state.last_ticks = event.ticks;
}

// Its free has come before, and was taken for one of nothing.
void Collector::allocate_freed(const Pending& event, const LiveBlock& block,
                               const OutOfOrderEvents::Free& free) {
  --(free.freed_before ? counters_.invalid_frees : counters_.unknown_frees);
  ++counters_.early_frees;
  if (free.freed_before) checks_.clear_suspect(free.block, free.ticks);
  if (!is_live(event.block)) checks_.freed_early(event.block, block.site, block.size);
  if (log_) log_->allocated(event.block, block.ticks);
  sites_.allocate(block.site, weight_of(block), block.size, event.ticks);
  book_free(event.block, block, event.ticks, free.tid, false);
}

void Collector::free(std::uint64_t block, std::uint64_t ticks, const Pending& event) {
  const FreeChecks::Free freed{event.ring, block, event.kind == TRACER_EVENT_FREE_SIZED, event.size};
  if (freed.sized && TRACER_BLOCK_ALLOCATOR(block) == TRACER_NO_ALLOCATOR) return checks_.claim(freed);
  ++counters_.frees;
  RingState& state = state_of(event.ring, event.tid);
  LiveBlock live;
  const auto free_live = [&] {
    const bool temporary = state.last_block == block && live.mean == 0;
    if (temporary) state.last_block = 0;
    checks_.freed(freed, live.site, live.size, weight_of(live).sum);
    book_free(block, live, ticks, event.tid, temporary);
  };
  if (event.short_lived && event.allocation->short_lived) {
    live = {event.allocation->ticks, event.allocation->size, event.allocation->site, 0};
    return free_live();
  }
  const std::uint64_t own_ticks = state.last_block == block ? state.last_ticks : 0;
  if (out_of_order_.is_of_block_before(block, event.ring, own_ticks, ticks)) [[unlikely]] {
    ++counters_.late_frees;
    if (counters_.unseen_frees != 0) --counters_.unseen_frees;
    return;
  }
  switch (live_.take(block, ticks, live)) {
    case LiveSet::Taken::kTaken:
      return free_live();
    case LiveSet::Taken::kUnknown:
      return free_unknown(freed, ticks, event.tid);
    case LiveSet::Taken::kNewer:
      ++counters_.late_frees;
      if (counters_.unseen_frees != 0) --counters_.unseen_frees;
      return;
  }
}

void Collector::free_unknown(const FreeChecks::Free& freed, std::uint64_t ticks, std::uint32_t tid) {
  const FreeChecks::Unknown what = checks_.unknown(freed);
  if (what == FreeChecks::Unknown::kSameCall) {
    --counters_.frees;
    return;
  }
  const std::uint64_t address = TRACER_BLOCK_ADDRESS(freed.block);
  for (std::uint32_t other = 0; other < checks_.allocators(); ++other) {
    LiveBlock live;
    const std::uint64_t own = TRACER_BLOCK(address, other);
    if (own == freed.block || live_.take(own, ticks, live) != LiveSet::Taken::kTaken) continue;
    ++counters_.foreign_frees;
    checks_.freed_elsewhere(freed, own, live.site, live.size, weight_of(live).sum);
    return book_free(own, live, ticks, tid, false);
  }
  const bool freed_before = what == FreeChecks::Unknown::kFreedBefore;
  ++(freed_before ? counters_.invalid_frees : counters_.unknown_frees);
  if (freed_before) checks_.suspect(freed, ticks, tid);
  out_of_order_.freed_nothing({freed.block, ticks, freed.ring, tid, freed_before});
}

void Collector::book_free(std::uint64_t address, const LiveBlock& block, std::uint64_t ticks,
                          std::uint32_t tid, bool temporary) {
  Sites::Freed freed;
  freed.lifetime_ticks = ticks > block.ticks ? ticks - block.ticks : 0;
  freed.lifetime_ns = lifetime_ns(freed.lifetime_ticks);
  freed.temporary = temporary;
  freed.in_slice = block.ticks >= slice_start_ticks_;
  if (block.mean == 0)
    sites_.free(block.site, exact_weight(block.size), freed);
  else
    sites_.free(block.site, weight_of(block), freed);
  if (!log_) return;
  BlockLife life = life_of(address, block);
  life.lifetime_ns = freed.lifetime_ns;
  life.last_slice = log_->slice();
  life.freed_by = tid;
  life.temporary = temporary;
  log_->ended(address, life);
}

BlockLife Collector::life_of(std::uint64_t block, const LiveBlock& live) const {
  BlockLife life;
  life.address = TRACER_BLOCK_ADDRESS(block);
  life.size = live.size;
  life.allocated_ns = ns_of(live.ticks);
  life.site = live.site;
  life.first_slice = log_->slice_of(block, live.ticks);
  life.mean = means_[live.mean];
  return life;
}

// The old block was freed at some time between before and after; before is when another thread could first
// have been given its address.
void Collector::reallocate(Pending& event) {
  if (event.old_block != 0) free(event.old_block, std::min(event.ticks_before, event.ticks), event);
  if (event.block != 0) allocate(event);
}

void Collector::resize(const Pending& event) {
  LiveBlock old;
  Pending now = event;
  if (live_.take(event.block, event.ticks, old) == LiveSet::Taken::kTaken) {
    book_free(event.block, old, event.ticks, event.tid, false);
    if (sites_.key(now.site).stack == 0) now.site = old.site;
  } else {
    ++counters_.unknown_frees;
  }
  allocate(now);
}

std::uint8_t Collector::mean_number(std::uint32_t mean) {
  counters_.mean = mean;
  for (std::size_t i = means_.size(); i-- > 1;)
    if (means_[i] == mean) return static_cast<std::uint8_t>(i);
  // The mean adapts by doubling, so there are a few; hostile ones beyond 255 take the nearest.
  if (means_.size() < 256) {
    means_.push_back(mean);
    return static_cast<std::uint8_t>(means_.size() - 1);
  }
  const auto distance = [&](std::uint32_t known) { return known > mean ? known - mean : mean - known; };
  const auto nearest = std::min_element(means_.begin() + 1, means_.end(),
                                        [&](auto a, auto b) { return distance(a) < distance(b); });
  return static_cast<std::uint8_t>(nearest - means_.begin());
}

}  // namespace fathom::sources::heap
