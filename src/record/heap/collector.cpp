#include "record/heap/collector.h"

#include <algorithm>
#include <utility>

#include "base/arch/ticks.h"
#include "record/heap/slice_of_sites.h"
#include "record/heap/summary_in_parts.h"

namespace fathom::sources::heap {
namespace {

template <class T>
T load(const T& value) {
  return __atomic_load_n(&value, __ATOMIC_RELAXED);
}

std::uint64_t random_seed() {
  return arch::read_ticks() * 0x9e3779b97f4a7c15ull ^ clock_ns(CLOCK_REALTIME);
}

CollectorOptions with_seed(CollectorOptions options) {
  if (options.seed == 0) options.seed = random_seed();
  options.max_sites = std::min(options.max_sites, LiveSet::kMaxSite);
  return options;
}

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::size_t kMostSilences = 1000;  // more of them are one that never ended

}  // namespace

Result<Collector> Collector::create(const tracer_shared& layout, std::span<std::byte> memory,
                                    const Moment& now, const CollectorOptions& options) {
  auto rings = RingReader::open(layout, memory);
  if (!rings) return tl::make_unexpected(rings.error());
  Collector collector(layout, memory, std::move(*rings), with_seed(options));
  collector.cut_ = collector.slice_start_ticks_ = collector.clock_.now(now);
  collector.cut_ns_ = collector.slice_start_ns_ = now.ns;
  if (options.each_block) collector.log_.emplace(options.max_block_rows, collector.cut_);
  return collector;
}

Collector::Collector(const tracer_shared& layout, std::span<std::byte> memory, RingReader rings,
                     const CollectorOptions& options)
    : shared_(reinterpret_cast<tracer_shared*>(memory.data())),
      rings_(std::move(rings)),
      options_(options),
      clock_(layout, *shared_),
      stacks_(options.seed, options.max_stacks),
      sites_(options.max_sites, options.by_thread),
      live_(options.seed),
      checks_(rings_.ring_count(), clock_.is_in_order()),
      out_of_order_(clock_.is_in_order()),
      ring_states_(rings_.ring_count()),
      slice_ns_(options.first_slice_ns) {}

void Collector::order_mean(std::uint32_t mean) {
  if (std::ranges::find(ordered_means_, mean) == ordered_means_.end()) ordered_means_.push_back(mean);
}

// The most that the kernel saw of the process: it grows, and is asked for at most once in a round.
void Collector::learn_bounds() {
  if (std::exchange(learnt_bounds_, true)) return;
  const ProcessBounds bounds = options_.bounds ? options_.bounds() : ProcessBounds{};
  std::uint64_t mean = 0;
  for (const std::uint32_t ordered : ordered_means_) mean = std::max<std::uint64_t>(mean, ordered);
  most_bytes_ = std::max(most_bytes_, most_live_bytes(bounds, mean));
  most_blocks_ = std::max(most_blocks_, std::min(most_live_blocks(bounds), options_.max_live_blocks));
}

// Whether the process can have this block as well, next to all that is live. Sampled blocks stand for others, which
// are bounded in number, too: of blocks without a byte there would be half a million for each.
bool Collector::is_possible(const Pending& event) {
  const bool sampled = event.kind == TRACER_EVENT_SAMPLE;
  if (sampled && !ordered_means_.empty() &&
      std::ranges::find(ordered_means_, static_cast<std::uint32_t>(event.mean)) == ordered_means_.end())
    return false;
  const Weight weight = sampled ? sampled_weight(event.size, event.mean) : exact_weight(event.size);
  const auto fits = [&] {
    return sites_.live().bytes + weight.sum.bytes <= most_bytes_ &&
           (sites_.live().blocks + weight.sum.blocks) * static_cast<double>(kSmallestBlock) <= most_bytes_;
  };
  if (fits()) [[likely]]
    return true;
  learn_bounds();
  return fits();
}

bool Collector::may_follow_more() {
  if (live_.size() < most_blocks_) [[likely]]
    return true;
  learn_bounds();
  return live_.size() < most_blocks_;
}

Round Collector::drain(const Moment& now, const Budget& budget) {
  Round round;
  budget_ = budget;
  learnt_bounds_ = false;
  const std::uint64_t cut = std::max(clock_.now(now), cut_);
  ns_per_tick_ = static_cast<std::uint64_t>(clock_.ns_per_tick() * 4294967296.0);
  epoch_ = load(shared_->table_epoch);
  stacks_.next_round();
  const RingReader::Round read = rings_.drain(
      cut, [&](const TracerEvent& event) { take(event, round); }, budget.events);
  apply_pending();
  // What is behind the budget belongs to the slice that it will be taken in.
  cut_ = std::max(cut_, read.stopped_at.value_or(cut));
  cut_ns_ = std::max(read.stopped_at ? std::min(ns_of(cut_), now.ns) : now.ns, cut_ns_);
  round.events = read.events;
  round.hurry = read.hurry;
  round.stopped = read.stopped_at.has_value();
  __atomic_store_n(&shared_->heartbeat, cut, __ATOMIC_RELEASE);
  if (!round.stopped) watch_silence();
  return round;
}

// The rings are empty and the heartbeat is new: a tracer that paused may begin again. What it says of the
// times is believed as far as it can be true.
void Collector::watch_silence() {
  if (silent_ && silences_.size() < kMostSilences) {
    silences_.back().end = cut_;
    if (const std::uint64_t resumed = __atomic_load_n(&shared_->resumed_ticks, __ATOMIC_ACQUIRE);
        resumed != 0) {
      silences_.back().end = std::clamp(resumed, silences_.back().start, cut_);
      silent_ = false;
    }
  }
  const std::uint64_t silence = __atomic_load_n(&shared_->switched_off, __ATOMIC_ACQUIRE);
  if (silence == TRACER_HEARD) return;
  if (!silent_) {
    const std::uint64_t before = silences_.empty() ? 0 : silences_.back().end;
    // The sequence stands where we moved it last, and the tracer paused that much later.
    const std::uint64_t off = std::min(load(shared_->off_ticks), cut_);
    const std::uint64_t late = clock_.is_in_order() ? options_.silence_ns : 0;
    silences_.push_back({std::clamp(off + late, std::min(before, cut_), cut_), cut_});
    silent_ = true;
  }
  if (silence != TRACER_PAUSED) return;
  __atomic_store_n(&shared_->resumed_ticks, 0, __ATOMIC_RELAXED);
  u64 paused = TRACER_PAUSED;
  (void)__atomic_compare_exchange_n(&shared_->switched_off, &paused, TRACER_HEARD, false, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED);
}

std::vector<Outage> Collector::outages() const {
  std::vector<Outage> outages;
  for (const Silence& silence : silences_) outages.push_back({ns_of(silence.start), ns_of(silence.end)});
  if (silent_) outages.back().end_ns = std::max(outages.back().start_ns, cut_ns_);
  return outages;
}

Sum Collector::end_image() {
  Sum dropped;
  std::vector<std::uint64_t> blocks;
  for (std::size_t part = 0; part < LiveSet::kShards; ++part) {
    blocks.clear();
    live_.for_each_of(part, [&](std::uint64_t block, const LiveBlock&) { blocks.push_back(block); });
    for (const std::uint64_t block : blocks) {
      LiveBlock live;
      if (live_.take(block, cut_, live) != LiveSet::Taken::kTaken) continue;
      dropped.add(weight_of(live).sum);
      book_free(block, live, cut_, 0, false);
    }
  }
  return dropped;
}

void Collector::take(const TracerEvent& event, Round& round) {
  if (event.kind == TRACER_EVENT_STACK) return take_stack(event, round);
  if (event.kind == TRACER_EVENT_THREAD) {
    if (budget_.threads == 0) return;
    --budget_.threads;
    round.threads.push_back(static_cast<std::int32_t>(event.tid));
    return;
  }
  Pending& pending = pending_[pending_count_++];
  pending.ticks = event.ticks;
  pending.block = event.block;
  pending.size = event.size;
  pending.tid = event.tid;
  pending.ring = static_cast<std::uint16_t>(event.ring);
  pending.kind = event.kind;
  pending.short_lived = false;
  ++counters_.events;
  if (event.kind != kAllocatedAndFreed || !checks_.is_free(event.block)) live_.prefetch(event.block);
  if (!is_free(event.kind)) {
    pending.site = site_of(event);
    sites_.prefetch(pending.site, Histogram::kSize, event.size);
  }
  if (event.kind == kAllocatedAndFreed) {
    ++counters_.events;
    pending.freed_ticks = event.freed_ticks;
    pending.claimed_size = event.claimed_size;
    pending.sized = event.sized;
    sites_.prefetch(pending.site, Histogram::kLifetime, lifetime_ns(event.freed_ticks - event.ticks));
  } else if (event.kind == TRACER_EVENT_REALLOC) {
    pending.old_block = event.old_block;
    pending.ticks_before = event.ticks_before;
    live_.prefetch(event.old_block);
  } else if (event.kind == TRACER_EVENT_SAMPLE) {
    pending.mean = event.mean;
  }
  if (pending_count_ == kPending) apply_pending();
}

void Collector::take_stack(const TracerEvent& event, Round& round) {
  std::uint32_t stack = 0;
  const std::span words(event.addresses, std::size_t{event.count} * sizeof(std::uint64_t));
  if (event.count > budget_.stack_words) {
    stacks_.refuse(event.stack);
    return;
  }
  if (!stacks_.add(event.stack, words, event.end, epoch_, stack)) return;
  budget_.stack_words -= event.count;
  NewStack seen{stack, event.end, std::vector<std::uint64_t>(event.count)};
  if (event.count != 0) std::memcpy(seen.addresses.data(), words.data(), words.size());
  round.stacks.push_back(std::move(seen));
}

std::uint32_t Collector::site_of(const TracerEvent& event) {
  const std::uint32_t allocator = TRACER_BLOCK_ALLOCATOR(event.block) % TRACER_ALLOCATORS;
  StackTable::Known* known = event.stack == 0 ? nullptr : stacks_.find(event.stack);
  if (known == nullptr || known->stack == 0) {
    ++counters_.unwalked;
    return sites_.site({0, event.tid, allocator});
  }
  if (known->end != WALK_ROOT) ++counters_.incomplete;
  const bool same_thread = known->tid == event.tid || !options_.by_thread;
  if (known->site == 0 || known->allocator != allocator || !same_thread) {
    known->site = site_of(SiteKey{known->stack, options_.by_thread ? event.tid : 0, allocator});
    known->tid = event.tid;
    known->allocator = static_cast<std::uint8_t>(allocator);
  }
  return known->site;
}

std::uint32_t Collector::site_of(const SiteKey& key) {
  const std::uint64_t hash =
      ((std::uint64_t{key.stack} << 32 | key.tid) + key.allocator) * 0x9e3779b97f4a7c15ull;
  SiteFound& found = sites_found_[hash >> (64 - kSitesFoundLog2)];
  if (!found.known || found.key != key) found = {key, sites_.site(key), true};
  return found.site;
}

std::optional<Slice> Collector::slice(bool last) {
  if (!last && cut_ns_ < slice_start_ns_ + slice_ns_) return std::nullopt;
  Slice slice =
      slice_of_sites(sites_, slice_start_ns_, cut_ns_, ns_of(sites_.slice_peak().ticks), sites_told_);
  sites_.next_slice(cut_);
  if (log_) log_->next_slice(cut_);
  slice_start_ticks_ = cut_;
  slice_start_ns_ = cut_ns_;
  rows_ += static_cast<std::uint32_t>(slice.rows.size());
  const std::uint32_t most_rows =
      slice_ns_ < kSecond ? options_.rows_per_length / 4 : options_.rows_per_length;
  if (++slices_ >= options_.slices_per_length || rows_ >= most_rows) {
    slices_ = rows_ = 0;
    slice_ns_ *= 2;
  }
  return slice;
}

BlockBatch Collector::take_blocks() {
  BlockBatch batch;
  batch.first_new_site = sites_told_;
  batch.new_sites = take_new_sites(sites_, sites_told_);
  if (log_) batch.blocks = log_->take();
  return batch;
}

Summary Collector::summary() const {
  SummaryInParts parts(*this);
  while (parts.next()) continue;
  return parts.take();
}

Counters Collector::counters() const {
  Counters counters = counters_;
  counters.merged = sites_.merged() + stacks_.refused();
  counters.rings_given_up = rings_.rings_given_up();
  counters.lost_ring_full = rings_.lost();
  const double ns_per_tick = clock_.is_in_order() ? options_.ns_per_tick : clock_.ns_per_tick();
  counters.waited_ns =
      static_cast<std::uint64_t>(std::min(1e18, static_cast<double>(rings_.waited()) * ns_per_tick));
  counters.lost_no_ring = load(shared_->lost_no_ring);
  counters.lost_no_slot = load(shared_->lost_no_slot);
  counters.lost_throwing = load(shared_->lost_throwing);
  counters.lost_set_full = load(shared_->lost_set_full);
  counters.nested = load(shared_->nested);
  counters.switched_off = silent_;
  counters.lost_blocks = log_ ? log_->lost() : 0;
  return counters;
}

}  // namespace fathom::sources::heap
