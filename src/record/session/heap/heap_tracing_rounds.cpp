// What the tracer sends while the process runs: the rounds of the collecting thread, the names of new stacks and threads, and the
// slices of time that go into the profile.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "record/session/budgeted_urgency.h"
#include "record/session/heap/heap_tracing.h"

namespace fathom::session {
namespace {

constexpr std::uint64_t kRoundNs = 50'000'000;  // one round, with the lock held
// What may wait for refresh(): 8 MB of stacks. A compiler has 30,000 words of new ones in 10 ms.
constexpr std::size_t kMostWordsWaiting = 1 << 20, kMostThreadsWaiting = 1 << 14;
constexpr std::uint64_t kThreadsNs = 20'000'000;  // unannounced threads to check each time
constexpr std::uint64_t kMostUnknownThreads = 1 << 16;
// What the stacks of one heap may take in the profile: some 200 MB with what finds them again.
constexpr std::size_t kMostStackRows = 1 << 20, kMostFrameRows = 1 << 17;
constexpr int kMostNowhere = 3;  // frames of a stack that lie in no code of the process
constexpr auto kSampledPause = std::chrono::milliseconds(20);
constexpr auto kExactPause = std::chrono::milliseconds(1);
constexpr auto kHurryPause = std::chrono::microseconds(20);
// A summary looks at every live block, and each one is written as a whole: every 10 s, and later after
// another eighth of the time that the recording has lasted, so that their bytes grow with its logarithm only.
constexpr std::uint64_t kSummaryEveryNs = 10'000'000'000;
constexpr std::uint64_t kSummaryShare = 8;
constexpr std::size_t kMostSlicesWaiting = 64;    // for a profile that is not written for long
constexpr std::size_t kBlocksPerWrite = 1 << 18;  // 19 MB

}  // namespace

HeapTracing::Drained HeapTracing::drain(std::uint64_t until_ns) {
  const std::lock_guard guard(lock_);
  sources::heap::Collector::Budget budget;
  budget.events.until_ns = std::min(until_ns, monotonic_ns() + kRoundNs);
  budget.stack_words = stacks_full_ ? 0 : kMostWordsWaiting - std::min(kMostWordsWaiting, waiting_words_);
  budget.threads = kMostThreadsWaiting - std::min(kMostThreadsWaiting, new_threads_.size());
  sources::heap::Round round = collector_->drain(sources::heap::read_clocks(), budget);
  for (const sources::heap::NewStack& stack : round.stacks) waiting_words_ += stack.addresses.size() + 1;
  std::ranges::move(round.stacks, std::back_inserter(new_stacks_));
  new_threads_.insert(new_threads_.end(), round.threads.begin(), round.threads.end());
  cut_slice(false);
  return {round.events, round.hurry, round.stopped};
}

// The collecting thread cuts them, because it alone runs often enough. If they are not taken the slice
// continues.
void HeapTracing::cut_slice(bool last) {
  if (!last && slices_.size() >= kMostSlicesWaiting) return;
  if (auto slice = collector_->slice(last)) slices_.push_back(std::move(*slice));
}

void HeapTracing::collect() {
  // The target's threads fill the rings as fast as they can allocate: the thread that drains them needs
  // priority.
  const bool exact = options_.mode == Heap::kExact;
  BudgetedUrgency urgency;
  while (!stop_) {
    const Drained drained = drain(UINT64_MAX);
    urgency.account();
    if (!exact)
      if (const auto mean = interval_.after_round(drained.events, monotonic_ns())) order_mean(*mean);
    if (drained.hurry)
      std::this_thread::sleep_for(kHurryPause);
    else
      wait_for_next_round(exact ? kExactPause : kSampledPause);
  }
}

void HeapTracing::wait_for_next_round(std::chrono::milliseconds pause) {
  if (tracer_->layout().clock == TRACER_CLOCK_COUNTER) return std::this_thread::sleep_for(pause);
  const auto end = std::chrono::steady_clock::now() + pause;
  do {
    std::this_thread::sleep_for(kAdvancePause);
    collector_->advance_clock(monotonic_ns());
  } while (!stop_ && std::chrono::steady_clock::now() < end);
}

void HeapTracing::resolve_new() {
  std::vector<sources::heap::NewStack> stacks;
  std::vector<std::int32_t> threads;
  {
    const std::lock_guard guard(lock_);
    stacks.swap(new_stacks_);
    threads.swap(new_threads_);
    waiting_words_ = 0;
  }
  resolve_threads(std::move(threads));
  for (sources::heap::NewStack& stack : stacks) resolve_stack(stack);
  if (stacks_refused_ == 0) return;
  const std::lock_guard guard(lock_);
  stacks_full_ = true;
}

// A thread that is neither there nor was announced has ended before anybody looked, or was never there: of such only so
// many are believed.
void HeapTracing::resolve_threads(std::vector<std::int32_t> threads) {
  if (threads.empty()) return;
  inner_threads_.refresh();
  std::sort(threads.begin(), threads.end());
  threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
  const std::uint64_t until_ns = monotonic_ns() + kThreadsNs;
  for (const std::int32_t tid : threads) {
    const auto outer = inner_threads_.outer(tid);
    if (!outer && context_.processes.pid_of(tid) != pid_ &&
        (unknown_threads_ >= kMostUnknownThreads || monotonic_ns() >= until_ns)) {
      ++threads_refused_;
      continue;
    }
    if (!outer) ++unknown_threads_;
    thread_rows_[static_cast<std::uint32_t>(tid)] = context_.processes.thread_row(pid_, outer.value_or(tid));
  }
}

// A walk continues from code in a module, so a stack whose frames are all outside modules is made up.
// Real-looking stacks are reported up to their share of memory.
void HeapTracing::resolve_stack(sources::heap::NewStack& stack) {
  model::Profile& profile = context_.profile;
  if (stack_rows_ >= kMostStackRows || frame_rows_ >= kMostFrameRows) {
    ++stacks_refused_;
    return;
  }
  int nowhere = 0;
  for (std::size_t i = 0; i < stack.addresses.size(); ++i) {
    const std::uint64_t address = stack.addresses[i] & ~WALK_EXACT;
    if (address == WALK_LEFT_OUT || context_.processes.find(pid_, address) != nullptr) continue;
    if (++nowhere < kMostNowhere) continue;
    stack.addresses.resize(i + 1);
    stack.end = WALK_NO_MAPPING;
    break;
  }
  const std::size_t stacks = profile.stacks.size(), frames = profile.frames.size();
  sources::StackSeen seen;
  seen.pid = pid_;
  seen.user = std::move(stack.addresses);
  seen.end = stack.end;
  rows_->stack(stack.stack, context_.stacks.resolve(seen).stack, stack.end);
  stack_rows_ += profile.stacks.size() - stacks;
  frame_rows_ += profile.frames.size() - frames;
}

void HeapTracing::order_mean(std::uint32_t mean) {
  const std::lock_guard guard(lock_);
  collector_->order_mean(mean);
  __atomic_store_n(&tracer_->shared().mean, mean, __ATOMIC_RELAXED);
}

// Owners of rings that have ended. They owned them before the look, so one that it did not find is no thread
// that was born meanwhile. /proc is read without the lock: the rings fill up as long as it is held.
std::unordered_set<std::int32_t> HeapTracing::gone_threads() {
  std::unordered_set<std::int32_t> owners;
  {
    const std::lock_guard guard(lock_);
    collector_->release_rings([&](std::int32_t tid) {
      owners.insert(tid);
      return true;
    });
  }
  inner_threads_.refresh();
  std::erase_if(owners, [this](std::int32_t tid) { return inner_threads_.outer(tid).has_value(); });
  return owners;
}

void HeapTracing::write_slices(SliceEnd end) {
  const bool last = end == SliceEnd::kLast;
  std::vector<sources::heap::Slice> slices;
  sources::heap::BlockBatch batch;
  std::optional<sources::heap::SummaryInParts> summary;
  sources::heap::Counters counters;
  std::vector<sources::heap::Outage> outages;
  const std::uint64_t now = monotonic_ns();
  const auto gone = gone_threads();
  {
    const std::lock_guard guard(lock_);
    if (end != SliceEnd::kWhenLong) cut_slice(true);
    slices.swap(slices_);
    batch = collector_->take_blocks();  // after the slices: its sites come after theirs
    if (last || now >= next_summary_ns_) summary.emplace(*collector_);
    counters = collector_->counters();
    outages = collector_->outages();
    collector_->release_rings([&](std::int32_t tid) { return !gone.contains(tid); });
  }
  // The rings do not wait for all of it.
  for (bool more = summary.has_value(); more;) {
    const std::lock_guard guard(lock_);
    more = summary->next();
  }
  if (summary) next_summary_ns_ = now + std::max(kSummaryEveryNs, (now - start_ns_) / kSummaryShare);
  if (options_.mode != Heap::kExact && now > last_publish_ns_)
    if (const auto mean = interval_.after_second(
            (counters.allocations - last_allocations_) * 1'000'000'000 / (now - last_publish_ns_), now))
      order_mean(*mean);
  last_allocations_ = counters.allocations;
  last_publish_ns_ = now;
  resolve_new();  // every stack that the slices name was added before them
  for (const sources::heap::Slice& slice : slices)
    rows_->add(slice, [this](std::uint32_t tid) { return thread_of(tid); });
  rows_->add(batch, [this](std::uint32_t tid) { return thread_of(tid); });
  if (summary) rows_->finish(summary->take(), counters, outages);
}

model::ThreadId HeapTracing::thread_of(std::uint32_t tid) const {
  const auto known = thread_rows_.find(tid);
  return known == thread_rows_.end() ? model::kNoThread : known->second;
}

void HeapTracing::take_blocks() {
  std::vector<sources::heap::Slice> slices;
  sources::heap::BlockBatch batch;
  {
    const std::lock_guard guard(lock_);
    slices.swap(slices_);
    batch = collector_->take_blocks();  // after the slices: its sites come after theirs
  }
  resolve_new();
  for (const sources::heap::Slice& slice : slices)
    rows_->add(slice, [this](std::uint32_t tid) { return thread_of(tid); });
  rows_->add(batch, [this](std::uint32_t tid) { return thread_of(tid); });
}

// There may be as many as the process has memory for, so rows do not wait for the end. The code that ends the
// recording reports a full disk.
void HeapTracing::write_live_blocks() {
  bool written = true;
  std::uint64_t left_out = 0;
  collector_->for_each_live_life([&](const sources::heap::BlockLife& life) {
    if (written && context_.profile.heap.blocks.size() >= kBlocksPerWrite)
      written = context_.write().has_value();
    if (!written) {
      ++left_out;
      return;
    }
    rows_->add(life, [this](std::uint32_t tid) { return thread_of(tid); });
  });
  if (left_out != 0) notes_.push_back(fmt::format("heap: {} live blocks could not be written", left_out));
}

}  // namespace fathom::session
