#include "record/session/heap/heap_tracing.h"

#include <fmt/format.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "attach/inject/trial/nameless_allocator.h"
#include "attach/tracer/tracer_image.h"
#include "base/cache_folder.h"
#include "base/clock.h"
#include "base/files.h"
#include "binary/unwind/address_space.h"
#include "linux/process/counter_trust.h"
#include "linux/process/status.h"
#include "record/session/budgeted_urgency.h"

namespace fathom::session {
namespace {

using sources::heap::Moment;
using sources::heap::read_clocks;

constexpr std::uint64_t kHeartbeatLimitNs = 5'000'000'000;
constexpr std::uint64_t kWaitLimitNs = 100'000'000;  // of a thread for room in its ring, exact mode
// The same where no event may be lost, and of all threads together. No wait outlasts the heartbeat's limit.
constexpr std::uint64_t kLosslessWaitNs = kHeartbeatLimitNs, kLosslessWaitInAllNs = 60'000'000'000;
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
constexpr std::uint32_t kSampledRingBytes = 1 << 18, kExactRingBytes = 1 << 19;

// How far behind a time may be where a sequence orders the events: it is moved forward so often.
constexpr auto kAdvancePause = std::chrono::milliseconds(1);

double ticks_per_ns(const Moment& from, const Moment& to) {
  return to.ns <= from.ns ? 3
                          : static_cast<double>(to.ticks - from.ticks) / static_cast<double>(to.ns - from.ns);
}

// A line of /proc/PID/status, in bytes; 0: it is not there.
std::uint64_t kilobytes_of(const std::string& status, std::string_view key) {
  const auto at = status.find(key);
  return at == std::string::npos ? 0 : std::strtoull(status.c_str() + at + key.size(), nullptr, 10) * 1024;
}

symbolize::Options symbol_options(const HeapTracingOptions& options) {
  symbolize::Options symbols;
  symbols.symbol_directory = options.symbol_directory;
  return symbols;
}

}  // namespace

HeapTracing::HeapTracing(std::int32_t pid, const HeapTracingOptions& options, const HeapContext& context)
    : pid_(pid),
      options_(options),
      context_(context),
      interval_(options.interval_bytes, options.interval_fixed),
      inner_threads_(pid),
      debug_files_(symbol_options(options)),
      programs_executed_(context.processes.programs_executed(pid)) {}

HeapTracing::~HeapTracing() {
  end();
}

Result<std::unique_ptr<HeapTracing>> HeapTracing::start(std::int32_t pid, const HeapTracingOptions& options,
                                                        const HeapContext& context) {
  std::unique_ptr<HeapTracing> tracing(new HeapTracing(pid, options, context));
  if (auto placed = tracing->place(); !placed) return tl::unexpected<Error>(placed.error());
  if (tracing->blind_) return tracing;
  if (auto hooked = tracing->hook(); !hooked) return tl::unexpected<Error>(hooked.error());
  tracing->thread_ = std::thread([&self = *tracing] { self.collect(); });
  return tracing;
}

Result<> HeapTracing::place() {
  if (auto possible = inject::Tracer::check(pid_); !possible) return possible;
  find_allocators();
  if (target_.hooks.empty()) {
    blind_ = ended_ = true;
    start_ns_ = monotonic_ns();
    add_heap();
    add_unseen_rows();
    return {};
  }

  const bool exact = options_.mode == Heap::kExact;
  const Moment before = read_clocks();
  inject::Options placing;
  placing.image = tracer::image();
  placing.mean = options_.interval_bytes;
  placing.ring_bytes = exact ? kExactRingBytes : kSampledRingBytes;
  const process::CounterTrust counter = process::judge_counter(process::read_counter_facts());
  placing.clock = counter.orders ? TRACER_CLOCK_COUNTER : TRACER_CLOCK_SEQUENCE;
  auto placed = inject::Tracer::place(pid_, placing);
  if (!placed) return tl::unexpected<Error>(placed.error());
  tracer_.emplace(std::move(*placed));
  if (!counter.orders)
    notes_.push_back(fmt::format(
        "heap: the time-stamp counter cannot order events here: {}. A sequence number orders them; times of heap events are good to some {} ms",
        counter.reason, kAdvancePause.count()));
  const double rate = ticks_per_ns(before, read_clocks());
  tracer_shared& shared = tracer_->shared();
  shared.heartbeat_limit = static_cast<std::uint64_t>(rate * static_cast<double>(kHeartbeatLimitNs));
  const auto ticks = [&](std::uint64_t ns) {
    return static_cast<std::uint64_t>(rate * static_cast<double>(ns));
  };
  shared.sleep_ticks = static_cast<u32>(ticks(TRACER_SLEEP_NS));
  const bool lossless = exact && options_.lossless;
  shared.wait_limit = exact ? ticks(lossless ? kLosslessWaitNs : kWaitLimitNs) : 0;
  shared.wait_total_limit = lossless ? ticks(kLosslessWaitInAllNs) : 0;

  tables_ = std::make_unique<TracerTables>(tracer_->layout(), tracer_->memory());
  for (const std::string& module : tables_->update(pid_, context_.processes.mappings(pid_)))
    notes_.push_back(fmt::format("heap: no room for the unwind table of {}", module));
  sources::heap::CollectorOptions collecting;
  collecting.each_block = options_.each_block;
  collecting.ns_per_tick = 1 / rate;
  collecting.silence_ns = kHeartbeatLimitNs;
  collecting.bounds = [this] { return bounds(); };
  auto collector =
      sources::heap::Collector::create(tracer_->layout(), tracer_->memory(), read_clocks(), collecting);
  if (!collector) return tl::unexpected<Error>(collector.error());
  collector_.emplace(std::move(*collector));
  collector_->order_mean(options_.interval_bytes);
  tell_allocators();
  return {};
}

void HeapTracing::find_allocators() {
  target_.sized_deletes = options_.mode == Heap::kExact;
  target_.may_probe = !options_.no_probe;
  target_.at_work = !options_.from_start;
  target_.cache_folder = default_cache_folder(inject::kFindingFolder);
  const auto mappings = context_.processes.mappings(pid_);
  find_more(target_, pid_, mappings, debug_files_);
  take_target_notes();
  if (!target_.hooks.empty() || !target_.unseen.empty()) return;
  const auto first = std::ranges::find_if(
      mappings, [](const CodeMapping& each) { return each.module != nullptr && each.module->file; });
  if (first == mappings.end()) return;
  target_.unseen.push_back(
      {{allocators::Kind::kOther, "an allocator of its own", "no allocator of the process is known by name",
        "--symbols DIR with an unstripped twin of the program or its debug file"},
       first->module->file->elf().name(),
       first->module->id});
}

void HeapTracing::take_target_notes() {
  for (std::string& note : std::exchange(target_.notes, {})) notes_.push_back(std::move(note));
  for (; found_by_code_told_ < target_.found_by_code.size(); ++found_by_code_told_)
    notes_.push_back("heap: " + target_.found_by_code[found_by_code_told_]);
}

// Before any of their hooks goes in.
void HeapTracing::tell_allocators() {
  const std::lock_guard guard(lock_);
  for (std::uint32_t number = 0; number < target_.allocators.size(); ++number)
    collector_->allocator(number, sources::heap::size_rule(target_.allocators[number].label));
}

// The allocators that have no row yet, and these hooks.
void HeapTracing::add_rows(const std::vector<inject::PlannedHook>& planned) {
  for (const inject::PlannedHook& hook : planned)
    if (hook.kind != TRACER_HOOK_NONE &&
        std::ranges::none_of(witnesses_, [&](const inject::PlannedHook& known) {
          return known.hook.module_start == hook.hook.module_start;
        }))
      witnesses_.push_back(hook);
  model::Profile& profile = context_.profile;
  while (allocator_rows_.size() < target_.allocators.size()) {
    const auto& allocator = target_.allocators[allocator_rows_.size()];
    const model::HeapAllocatorId row{static_cast<std::uint32_t>(profile.heap.allocators.size())};
    profile.heap.allocators.push_back({context_.builder.string(allocator.label), allocator.module});
    rows_->allocator(static_cast<std::uint32_t>(allocator_rows_.size()), row);
    allocator_rows_.push_back(row);
  }
  for (const inject::PlannedHook& hook : planned) {
    if (hook.hook.allocator == TRACER_NO_ALLOCATOR) {
      if (hook.kind == TRACER_HOOK_NONE) notes_.push_back(fmt::format("heap: {}", hook.text));
      continue;  // its events are of other allocators' blocks
    }
    model::HeapHook row;
    row.allocator = allocator_rows_[hook.hook.allocator];
    row.function = context_.builder.string(hook.hook.name);
    row.kind = hook.kind == TRACER_HOOK_SLOT    ? model::HookKind::kSlot
               : hook.kind == TRACER_HOOK_ENTRY ? model::HookKind::kEntry
                                                : model::HookKind::kNone;
    if (hook.kind == TRACER_HOOK_NONE) {
      row.note = context_.builder.string(hook.text);
      notes_.push_back(fmt::format("heap: {}", hook.text));
    }
    profile.heap.hooks.push_back(row);
  }
  add_unseen_rows();
}

// An allocator with no hooked functions: readers recognize it by that.
void HeapTracing::add_unseen_rows() {
  model::Profile& profile = context_.profile;
  for (; unseen_told_ < target_.unseen.size(); ++unseen_told_) {
    const HeapTarget::UnseenOfModule& unseen = target_.unseen[unseen_told_];
    model::HeapHook row;
    row.allocator = {static_cast<std::uint32_t>(profile.heap.allocators.size())};
    row.function = context_.builder.string("every function");
    row.note = context_.builder.string(unseen.what.remedy.empty()
                                           ? unseen.what.why
                                           : fmt::format("{} ({})", unseen.what.why, unseen.what.remedy));
    profile.heap.allocators.push_back({context_.builder.string(unseen.what.label), unseen.module});
    profile.heap.hooks.push_back(row);
    notes_.push_back("heap: " + text_of(unseen));
  }
}

void HeapTracing::expect_tracer_code() {
  for (const tracer_own_mapping& own : tracer_->own_mappings())
    context_.processes.expect_tracer(pid_, own.address, own.address + own.bytes);
}

// A library that was unloaded and loaded again at the same place is as its file has it: its functions are to
// be hooked once more, as those of a new one.
void HeapTracing::look_for_reloads() {
  std::erase_if(witnesses_, [&](const inject::PlannedHook& witness) {
    if (!tracer_->is_undone(witness)) return false;
    std::erase_if(target_.hooks,
                  [&](const inject::Hook& hook) { return hook.module_start == witness.hook.module_start; });
    std::erase_if(target_.modules, [&](const auto& module) {
      return std::ranges::any_of(context_.processes.mappings(pid_), [&](const CodeMapping& mapping) {
        return mapping.module == module.first && mapping.bias == module.second &&
               mapping.start >= witness.hook.module_start.value &&
               mapping.start < witness.hook.module_end.value;
      });
    });
    return true;
  });
}

// A library that was loaded meanwhile may hold an allocator of its own.
void HeapTracing::hook_new_modules() {
  look_for_reloads();
  const std::size_t known = target_.hooks.size();
  if (!find_more(target_, pid_, context_.processes.mappings(pid_), debug_files_)) return;
  take_target_notes();
  if (target_.hooks.size() == known) {
    add_unseen_rows();
    if (mapped_) mapped_->know(target_, allocator_rows_);
    return;
  }
  tell_allocators();
  auto planned =
      tracer_->plan({target_.hooks.begin() + static_cast<std::ptrdiff_t>(known), target_.hooks.end()});
  leave_out_halves(target_, planned);
  if (auto hooked = tracer_->hook(planned); !hooked) {
    notes_.push_back(
        fmt::format("heap: modules loaded during the recording are not traced: {}", hooked.error().message));
    return;
  }
  stops_ = tracer_->stops();
  expect_tracer_code();
  add_rows(planned);
  if (mapped_) mapped_->know(target_, allocator_rows_);
}

model::Heap HeapTracing::add_heap() {
  model::Heap heap;
  const model::ThreadId main_thread = context_.processes.thread_row(pid_, pid_);
  heap.process = context_.profile.threads[main_thread.value].process;
  heap.mode = options_.mode == Heap::kExact ? model::HeapMode::kExact : model::HeapMode::kSampled;
  heap.from_start = options_.from_start;
  if (options_.mode != Heap::kExact) heap.mean_bytes = options_.interval_bytes;
  heap.each_block = options_.each_block;
  if (const auto memory = process::read_memory(pid_); memory && !options_.from_start)
    heap.earlier_rss_bytes = memory->rss_anon;
  heap.start_ns = heap.end_ns = start_ns_;
  rows_.emplace(context_.profile, heap);
  return heap;
}

Result<> HeapTracing::hook() {
  auto planned = tracer_->plan(target_.hooks);
  leave_out_halves(target_, planned);
  // Hooks go in one after the other, and words of data before entries: a block that was recorded while the
  // function that frees it had no hook yet would live for ever. So all of them begin at once.
  if (auto hooked = tracer_->hook(planned); !hooked) return hooked;
  const bool exact = options_.mode == Heap::kExact;
  __atomic_store_n(&tracer_->shared().mode, exact ? TRACER_EXACT : TRACER_SAMPLED, __ATOMIC_RELEASE);
  stops_ = tracer_->stops();
  expect_tracer_code();
  last_publish_ns_ = start_ns_ = monotonic_ns();
  const model::Heap heap = add_heap();
  add_rows(planned);
  if (options_.mappings) mapped_.emplace(context_.profile, context_.builder, context_.processes, pid_, heap);
  if (mapped_) mapped_->know(target_, allocator_rows_);
  return {};
}

// What the kernel says that the process had at most.
sources::heap::ProcessBounds HeapTracing::bounds() const {
  sources::heap::ProcessBounds bounds;
  const auto text = read_file(fmt::format("/proc/{}/status", pid_));
  const auto status = text ? process::parse_status(*text) : tl::unexpected<Error>(text.error());
  const std::uint64_t virtual_peak = text ? kilobytes_of(*text, "\nVmPeak:") : 0;
  if (!status || virtual_peak == 0) {
    // It has ended, and its size is unknown: no more than the machine's memory.
    struct sysinfo machine {};
    if (::sysinfo(&machine) != 0) return bounds;
    bounds.address_space = bounds.resident =
        (std::uint64_t{machine.totalram} + machine.totalswap) * machine.mem_unit;
    return bounds;
  }
  std::uint64_t own = 0;
  for (const tracer_own_mapping& mapping : tracer_->own_mappings()) own += mapping.bytes;
  bounds.address_space = virtual_peak - std::min(virtual_peak, own);
  // What is shared is mostly our rings.
  bounds.resident = std::max(status->rss_anon + status->rss_file,
                             status->rss_peak - std::min(status->rss_peak, status->rss_shmem)) +
                    status->swap + status->huge_files;
  return bounds;
}

HeapTracing::Drained HeapTracing::drain(std::uint64_t until_ns) {
  const std::lock_guard guard(lock_);
  sources::heap::Collector::Budget budget;
  budget.events.until_ns = std::min(until_ns, monotonic_ns() + kRoundNs);
  budget.stack_words = stacks_full_ ? 0 : kMostWordsWaiting - std::min(kMostWordsWaiting, waiting_words_);
  budget.threads = kMostThreadsWaiting - std::min(kMostThreadsWaiting, new_threads_.size());
  sources::heap::Round round = collector_->drain(read_clocks(), budget);
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

void HeapTracing::refresh() {
  if (ended_) return;
  hook_new_modules();
  for (const std::string& module : tables_->update(pid_, context_.processes.mappings(pid_)))
    notes_.push_back(fmt::format("heap: no room for the unwind table of {}", module));
  resolve_new();
  if (options_.each_block) take_blocks();
}

void HeapTracing::order_mean(std::uint32_t mean) {
  const std::lock_guard guard(lock_);
  collector_->order_mean(mean);
  __atomic_store_n(&tracer_->shared().mean, mean, __ATOMIC_RELAXED);
}

std::string HeapTracing::interval_changes() const {
  const std::string text = interval_.sentence(context_.profile.meta.start_ns);
  return text.empty()
             ? text
             : fmt::format("heap: {}{}",
                           context_.profile.heap.heaps.size() > 1 ? fmt::format("process {}: ", pid_) : "",
                           text);
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

void HeapTracing::take(std::span<const EventSink::MemoryCall> calls) {
  if (ended_ || !mapped_) return;
  for (const EventSink::MemoryCall& call : calls) mapped_->take(call, own_mappings());
}

std::span<const tracer_own_mapping> HeapTracing::own_mappings() {
  return tracer_->own_mappings();
}

model::HeapAllocatorId HeapTracing::libc_allocator() const {
  for (std::size_t i = 0; i < allocator_rows_.size(); ++i)
    if (target_.allocators[i].kind == allocators::Kind::kLibc) return allocator_rows_[i];
  return {};
}

void HeapTracing::publish(bool cut) {
  if (ended_) return;
  write_slices(cut ? SliceEnd::kNow : SliceEnd::kWhenLong);
  if (mapped_) mapped_->write_slice(monotonic_ns(), cut);
}

}  // namespace fathom::session
