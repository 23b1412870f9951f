#include "record/session/heap/probed_heap.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/abi/walk.h"
#include "base/clock.h"
#include "base/text.h"
#include "linux/process/status.h"
#include "record/session/tracking/module_catalog.h"

namespace fathom::session {
namespace {

constexpr std::uint32_t kProbesSummaryEvery = 40;  // slices: it looks at every live block

sources::HeapProbePoint point_of(const std::string& path, const probes::UsdtPlace& place, bool frees) {
  sources::HeapProbePoint point;
  point.path = path;
  point.offset = place.offset.value;
  if (place.semaphore) point.semaphore = place.semaphore->value;
  point.frees = frees;
  for (std::size_t i = 0; i < (frees ? 1 : HEAP_PROBE_VALUES); ++i)
    point.values[i] = place.arguments[i].value;
  return point;
}

}  // namespace

ProbedHeap::ProbedHeap(std::int32_t pid, const HeapTracingOptions& options, const HeapContext& context,
                       sources::HeapProbes* probes)
    : pid_(pid),
      options_(options),
      context_(context),
      probes_(probes),
      programs_executed_(context.processes.programs_executed(pid)) {}

ProbedHeap::~ProbedHeap() {
  end();
}

Result<std::unique_ptr<ProbedHeap>> ProbedHeap::start(std::int32_t pid, const HeapTracingOptions& options,
                                                      const HeapContext& context,
                                                      sources::HeapProbes* probes) {
  std::unique_ptr<ProbedHeap> heap(new ProbedHeap(pid, options, context, probes));
  const std::vector<OfModule> modules = heap->find_more();
  const auto none_has = [&](std::vector<probes::UsdtPlace> probes::HeapProbes::*places) {
    return std::ranges::all_of(modules, [&](const OfModule& each) { return (each.probes.*places).empty(); });
  };
  if (none_has(&probes::HeapProbes::allocs)) {
    for (std::string& note : heap->notes_) context.profile.quality.notes.push_back(std::move(note));
    return nullptr;
  }
  if (none_has(&probes::HeapProbes::frees))
    return fail(ErrorKind::kUnsupported, "they do not report frees, so they cannot show live memory");
  if (probes == nullptr)
    return fail(ErrorKind::kUnsupported,
                "reading them needs Linux 5.15 or later, and only engine bpf can read them");
  heap->sums_before_ = probes->sums(pid);
  const std::uint64_t start_ns = monotonic_ns();
  if (auto listening = heap->listen(modules); !listening) {
    heap->finished_ = heap->ended_ = true;
    return tl::unexpected<Error>(listening.error());
  }
  heap->begin(start_ns, modules);
  return heap;
}

std::vector<ProbedHeap::OfModule> ProbedHeap::find_more() {
  std::vector<OfModule> found;
  for (const CodeMapping& mapping : context_.processes.mappings(pid_)) {
    const CodeModule* module = mapping.module;
    if (module == nullptr || !module->file || !module->fd || module->kind != model::ModuleKind::kFile ||
        !looked_into_.insert(module).second)
      continue;
    auto probes = probes::find_heap_probes(module->file->elf());
    if (!probes) {
      notes_.push_back("heap: " + probes.error().message);
      continue;
    }
    std::string path(context_.profile.strings[context_.profile.modules[module->id.value].path]);
    for (const std::string& problem : probes->problems)
      notes_.push_back(fmt::format("heap: {}: {}", path, problem));
    if (!probes->empty()) found.push_back({module, std::move(path), std::move(*probes)});
  }
  return found;
}

Result<> ProbedHeap::listen(const std::vector<OfModule>& modules) {
  std::vector<sources::HeapProbePoint> points;
  for (const OfModule& each : modules) {
    const std::string path = fmt::format("/proc/self/fd/{}", each.module->fd.get());
    for (const probes::UsdtPlace& place : each.probes.allocs) points.push_back(point_of(path, place, false));
    for (const probes::UsdtPlace& place : each.probes.frees) points.push_back(point_of(path, place, true));
  }
  if (auto added = probes_->add(pid_, points); !added) return added;
  return {};
}

void ProbedHeap::begin(std::uint64_t start_ns, const std::vector<OfModule>& modules) {
  model::Heap heap;
  const model::ThreadId main_thread = context_.processes.thread_row(pid_, pid_);
  heap.process = context_.profile.threads[main_thread.value].process;
  heap.mode = model::HeapMode::kSampled;
  heap.from_start = options_.from_start;
  heap.mean_bytes = options_.interval_bytes;  // until the first sample says how the program does it
  if (const auto memory = process::read_memory(pid_); memory && !options_.from_start)
    heap.earlier_rss_bytes = memory->rss_anon;
  heap.start_ns = heap.end_ns = start_ns;
  rows_.emplace(context_.profile, heap);
  collector_.emplace(start_ns, sources::heap::ProbeCollector::Options{});
  const model::HeapAllocatorId allocator{static_cast<std::uint32_t>(context_.profile.heap.allocators.size())};
  context_.profile.heap.allocators.push_back(
      {context_.builder.string(fmt::format("{} probes", probes::kHeapProvider)), modules[0].module->id});
  rows_->allocator(0, allocator);
  for (const OfModule& each : modules) add_rows(each, allocator);
  allocator_ = allocator;
  notes_.push_back(fmt::format(
      "heap: reported by {}: the program samples by itself, and fathom does not see what bypasses its sampler",
      describe()));
}

void ProbedHeap::add_rows(const OfModule& module, model::HeapAllocatorId allocator) {
  modules_.push_back(module);
  const auto add = [&](const char* probe, std::size_t places) {
    if (places == 0) return;
    model::HeapHook row;
    row.allocator = allocator;
    row.function = context_.builder.string(fmt::format("{}:{}", probes::kHeapProvider, probe));
    row.kind = model::HookKind::kProbe;
    context_.profile.heap.hooks.push_back(row);
  };
  add("alloc", module.probes.allocs.size());
  add("free", module.probes.frees.size());
}

std::string ProbedHeap::describe() const {
  std::string modules;
  for (const OfModule& each : modules_)
    modules +=
        fmt::format("{}{} in {}", modules.empty() ? "" : "; ", text_of(each.probes), base_name(each.path));
  return fmt::format("the program's own {} probes ({}); nothing was put into it", probes::kHeapProvider,
                     modules);
}

// A library that was loaded meanwhile may have probes, too.
void ProbedHeap::refresh() {
  if (ended_) return;
  write_slice(false);
  const std::vector<OfModule> more = find_more();
  if (more.empty()) return;
  if (auto listening = listen(more); !listening) {
    notes_.push_back(fmt::format("heap: probes in modules loaded during the recording are not read: {}",
                                 listening.error().message));
    return;
  }
  for (const OfModule& each : more) add_rows(each, allocator_);
}

void ProbedHeap::take(std::span<const EventSink::HeapProbed> events) {
  if (finished_) return;
  for (const EventSink::HeapProbed& event : events) {
    if (event.probed.pid != pid_) continue;
    sources::HeapProbed probed = event.probed;
    probed.stack_id = 0;
    if (const model::StackId stack = event.stack.stack; stack.value != 0) {
      const auto [known, is_new] =
          numbers_.try_emplace(stack.value, static_cast<std::uint32_t>(numbers_.size() + 1));
      if (is_new) rows_->stack(known->second, stack, event.stack.end);
      probed.stack_id = known->second;
      if (event.stack.end != WALK_ROOT) ++incomplete_;
    }
    const auto tid = static_cast<std::uint32_t>(probed.tid);
    threads_[tid] = context_.processes.thread_row(pid_, probed.tid);  // it may have been another one's before
    collector_->take(probed);
  }
}

heap_probe_counters ProbedHeap::sums() const {
  heap_probe_counters sums = probes_->sums(pid_);
  sums.allocs -= sums_before_.allocs;
  sums.frees -= sums_before_.frees;
  sums.run_ns -= sums_before_.run_ns;
  sums.lost_allocs -= sums_before_.lost_allocs;
  sums.lost_frees -= sums_before_.lost_frees;
  sums.lost_weight -= sums_before_.lost_weight;
  sums.unread -= sums_before_.unread;
  sums.unwalked -= sums_before_.unwalked;
  return sums;
}

sources::heap::Counters ProbedHeap::counters() const {
  sources::heap::Counters counters = collector_->counters();
  const heap_probe_counters sums = this->sums();
  counters.lost_ring_full = sums.lost_allocs + sums.lost_frees;
  counters.lost_no_ring = sums.unread;
  counters.incomplete = incomplete_;
  return counters;
}

void ProbedHeap::write_slice(bool last) {
  const std::uint64_t now = monotonic_ns();
  const auto slice = collector_->slice(now, last);
  if (!slice) return;
  rows_->add(*slice, [this](std::uint32_t tid) {
    const auto known = threads_.find(tid);
    return known == threads_.end() ? model::kNoThread : known->second;
  });
  if (last || slices_++ % kProbesSummaryEvery == 0) rows_->finish(collector_->summary(now), counters());
}

void ProbedHeap::publish(bool cut) {
  if (!finished_) write_slice(cut);
}

void ProbedHeap::end() {
  if (std::exchange(ended_, true)) return;
  if (probes_ != nullptr) probes_->remove(pid_);
}

void ProbedHeap::finish() {
  end();
  if (std::exchange(finished_, true)) return;
  write_slice(true);
  const heap_probe_counters sums = this->sums();
  if (sums.lost_allocs + sums.lost_frees != 0)
    notes_.push_back(fmt::format(
        "heap: a ring was full: {} sampled allocations, which stand for {} bytes, and {} frees were lost",
        sums.lost_allocs, sums.lost_weight, sums.lost_frees));
  if (sums.unread != 0)
    notes_.push_back(fmt::format("heap: of {} events of probes a value could not be read", sums.unread));
  auto& facts = context_.profile.meta.facts;
  const auto add = [&](const char* fact, std::uint64_t value) {
    const auto before = facts.find(fact);
    facts[fact] = std::to_string(value + (before == facts.end() ? 0 : std::stoull(before->second)));
  };
  add("heap_probe_hits", sums.allocs + sums.frees);
  add("heap_probe_ns", sums.run_ns);
}

void ProbedHeap::end_image() {
  if (finished_) return;
  end();
  rows_->end_image(collector_->end_image(monotonic_ns()));
  finish();
}

}  // namespace fathom::session
