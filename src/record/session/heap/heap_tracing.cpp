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

namespace fathom::session {
namespace {

using sources::heap::Moment;
using sources::heap::read_clocks;

constexpr std::uint64_t kHeartbeatLimitNs = 5'000'000'000;
constexpr std::uint64_t kWaitLimitNs = 100'000'000;  // of a thread for room in its ring, exact mode
// The same where no event may be lost, and of all threads together. No wait outlasts the heartbeat's limit.
constexpr std::uint64_t kLosslessWaitNs = kHeartbeatLimitNs, kLosslessWaitInAllNs = 60'000'000'000;
constexpr std::uint32_t kSampledRingBytes = 1 << 18, kExactRingBytes = 1 << 19;

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

void HeapTracing::refresh() {
  if (ended_) return;
  hook_new_modules();
  for (const std::string& module : tables_->update(pid_, context_.processes.mappings(pid_)))
    notes_.push_back(fmt::format("heap: no room for the unwind table of {}", module));
  resolve_new();
  if (options_.each_block) take_blocks();
}

std::string HeapTracing::interval_changes() const {
  const std::string text = interval_.sentence(context_.profile.meta.start_ns);
  return text.empty()
             ? text
             : fmt::format("heap: {}{}",
                           context_.profile.heap.heaps.size() > 1 ? fmt::format("process {}: ", pid_) : "",
                           text);
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
