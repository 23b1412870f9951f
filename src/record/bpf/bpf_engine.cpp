#include "record/bpf/bpf_engine.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "bpf_skeleton/fathom_bpf.skel.h"
#include "linux/perf/event.h"
#include "record/bpf/array_window.h"
#include "record/bpf/bpf_function_probes.h"
#include "record/bpf/bpf_heap_probes.h"
#include "record/bpf/bpf_kernel_events.h"
#include "record/bpf/bpf_system_calls.h"
#include "record/bpf/breakpoints.h"
#include "record/bpf/cpu_sampling.h"
#include "record/bpf/memory_calls.h"
#include "record/bpf/older_programs.h"
#include "record/bpf/ring_events.h"
#include "record/bpf/switches.h"

namespace fathom::sources {
namespace {

constexpr std::uint32_t kPageCapacity = 1u << 18;  // 64 KiB of text each: 16 GiB in all
constexpr std::uint32_t kRowsPerLine = 16;         // as record/bpf_programs/tables.h packs them

constexpr std::uint32_t kMostRingBytes = 8u << 20;

std::uint32_t ring_of(std::uint64_t bytes, std::uint32_t least) {
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(std::bit_ceil(bytes), least, kMostRingBytes));
}

template <class T>
TableArray<T> array_of(const bpf_map* map, std::uint32_t size) {
  return {size, [fd = bpf_map__fd(map)](std::uint32_t first, std::span<const T> elements) {
            return write_array(fd, std::uint64_t{first} * sizeof(T), std::as_bytes(elements));
          }};
}

std::unique_ptr<TableSpace> tables_of(const fathom_bpf& skeleton) {
  const auto& maps = skeleton.maps;
  const int processes = bpf_map__fd(maps.processes);
  const std::uint32_t rows = bpf_map__max_entries(maps.unwind_rows) * kRowsPerLine;
  return std::make_unique<TableSpace>(
      TableArrays{array_of<unwind_row>(maps.unwind_rows, rows),
                  array_of<unwind_page>(maps.unwind_pages, kPageCapacity),
                  array_of<unwind_rule>(maps.unwind_rules, UNWIND_MAX_RULES),
                  array_of<unwind_mapping>(maps.unwind_mappings, MAX_MAPPINGS)},
      [processes](std::uint32_t pid, const tracked_process& process) {
        bpf_map_update_elem(processes, &pid, &process, BPF_ANY);
      });
}

tl::unexpected<Error> needs_linux_5_15(std::string_view what) {
  utsname name{};
  ::uname(&name);
  return fail(
      ErrorKind::kUnsupported,
      fmt::format("bpf: {} need Linux 5.15 or later (bpf_get_attach_cookie); this is {}", what, name.release),
      "a newer kernel");
}

// BPF programs see the process numbers of the initial namespace. With other numbers fathom would never find
// its targets.
Result<> has_numbers_of_the_kernel() {
  constexpr std::string_view kInitial = "pid:[4026531836]";  // PROC_PID_INIT_INO of the kernel
  std::array<char, 64> link{};
  const auto length = ::readlink("/proc/self/ns/pid", link.data(), link.size());
  if (length <= 0 || std::string_view(link.data(), static_cast<std::size_t>(length)) == kInitial) return {};
  return fail(
      ErrorKind::kUnsupported,
      "bpf: fathom runs in a process namespace of its own, where processes have other numbers than in the kernel",
      "run fathom on the host, or in a container with --pid=host (Kubernetes: hostPID: true)");
}

}  // namespace

std::uint32_t BpfOptions::sample_ring_bytes(std::size_t cpus) const {
  return ring_bytes != 0 ? ring_bytes : ring_of(std::uint64_t{cpus} * frequency_hz << 10, 1u << 20);
}

std::uint32_t BpfOptions::wait_ring_bytes(std::size_t cpus) const {
  if (!uses_wait_ring()) return 4096;
  if (ring_bytes != 0) return ring_bytes;
  return mappings ? kMostRingBytes : ring_of(std::uint64_t{cpus} * cpu_walks_per_second() << 10, 2u << 20);
}

template <class Part, class... Arguments>
Part* BpfEngine::add_part(Arguments&&... arguments) {
  auto part = std::make_unique<Part>(std::forward<Arguments>(arguments)...);
  Part* added = part.get();
  parts_.push_back(std::move(part));
  return added;
}

void BpfEngine::make_parts(const BpfOptions& options, bool older) {
  Breakpoints* breakpoints = nullptr;
  const bool heap_probes = options.heap_probes && !older;
  if (options.probes || heap_probes) breakpoints = add_part<Breakpoints>(options.probed_calls_per_second);
  if (options.cpu) cpu_sampling_ = add_part<CpuSampling>(options.frequency_hz, options.event);
  if (options.off_cpu)
    switches_ =
        add_part<Switches>(SwitchOptions{.older_programs = older,
                                         .walks_when_over = options.programs == BpfPrograms::kForThisKernel,
                                         .thread_walks_per_second = options.thread_walks_per_second(),
                                         .cpu_walks_per_second = options.cpu_walks_per_second(),
                                         .waker_threshold_ns = options.waker_threshold_ns});
  if (options.mappings) memory_calls_ = add_part<MemoryCalls>();
  if (options.probes) function_probes_ = add_part<BpfFunctionProbes>(*breakpoints);
  if (heap_probes) heap_probes_ = add_part<BpfHeapProbes>(*breakpoints);
  if (!options.events.empty())
    kernel_events_ = add_part<BpfKernelEvents>(options.events, options.cpu_walks_per_second());
  if (options.system_calls) system_calls_ = add_part<BpfSystemCalls>(options.thread_walks_per_second());
}

// What no part wants is not loaded, or as small as the kernel lets it be.
void BpfEngine::configure(const BpfOptions& options, fathom_bpf& skeleton) {
  auto& maps = skeleton.maps;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, skeleton.obj) bpf_program__set_autoload(program, false);
  for (bpf_program* follows : {skeleton.progs.process_forked, skeleton.progs.process_execed,
                               skeleton.progs.thread_exited, skeleton.progs.signal_taken})
    bpf_program__set_autoload(follows, true);
  for (bpf_map* map : {maps.cpu_seen, maps.off_cpu_seen, maps.thread_accounts, maps.crowded_accounts})
    bpf_map__set_max_entries(map, 1);

  const std::size_t cpus = online_cpus().size();
  const std::uint32_t sample_ring = options.cpu ? options.sample_ring_bytes(cpus) : 4096;
  const std::uint32_t wait_ring = options.wait_ring_bytes(cpus);
  const std::uint32_t row_lines = (options.row_capacity + kRowsPerLine - 1) / kRowsPerLine;
  bpf_map__set_max_entries(maps.unwind_rows, row_lines);
  bpf_map__set_max_entries(maps.unwind_pages, kPageCapacity);
  bpf_map__set_max_entries(maps.cpu_ring, sample_ring);
  bpf_map__set_max_entries(maps.off_cpu_ring, wait_ring);
  if (options.uses_wait_ring()) bpf_map__set_max_entries(maps.off_cpu_seen, SEEN_SLOTS);
  skeleton.rodata->cpu_ring_wakeup_bytes = sample_ring / 4;
  skeleton.rodata->off_cpu_ring_wakeup_bytes = wait_ring / 4;
  skeleton.rodata->follow_children = options.follow_children;
  skeleton.rodata->copies_stacks = options.copies_stacks;
  for (const auto& part : parts_) part->configure(skeleton);

  kernel_memory_bytes_ = std::uint64_t{sample_ring} + wait_ring +
                         row_lines * sizeof(unwind_row) * kRowsPerLine + kPageCapacity * sizeof(unwind_page) +
                         UNWIND_MAX_RULES * sizeof(unwind_rule) + MAX_MAPPINGS * sizeof(unwind_mapping);
  for (const bpf_map* map : {maps.cpu_seen, maps.off_cpu_seen})
    kernel_memory_bytes_ += std::uint64_t{bpf_map__max_entries(map)} * 8;
  for (const auto& part : parts_) kernel_memory_bytes_ += part->kernel_memory_bytes();
}

Result<std::unique_ptr<BpfEngine>> BpfEngine::load(const BpfOptions& options) {
  if (auto numbers = has_numbers_of_the_kernel(); !numbers) return tl::unexpected(numbers.error());
  keep_libbpf_text();
  std::unique_ptr<BpfEngine> engine(new BpfEngine);
  engine->older_ = options.programs == BpfPrograms::kBeforeLinux515 || kernel_needs_older_programs();
  if (engine->older_ && options.probes) return needs_linux_5_15("probes of functions");
  if (engine->older_ && !options.events.empty()) return needs_linux_5_15("named events");
  if (engine->older_ && options.system_calls) return needs_linux_5_15("counts of system calls");
  engine->make_parts(options, engine->older_);
  auto skeleton = load_skeleton(engine->older_ ? older_programs() : newest_programs(),
                                [&](fathom_bpf& configured) { engine->configure(options, configured); });
  if (!skeleton) return tl::unexpected(skeleton.error());
  engine->skeleton_ = std::move(*skeleton);
  engine->tables_ = tables_of(*engine->skeleton_);
  if (auto opened = engine->open_rings(); !opened) return tl::unexpected(opened.error());
  return engine;
}

void BpfEngine::FreeRings::operator()(ring_buffer* rings) const {
  ring_buffer__free(rings);
}

Result<> BpfEngine::open_rings() {
  const auto& maps = skeleton_->maps;
  rings_.reset(ring_buffer__new(bpf_map__fd(maps.cpu_ring), &BpfEngine::on_event, this, nullptr));
  if (rings_ == nullptr) return load_error(errno);
  for (const bpf_map* ring : {maps.exit_ring, maps.off_cpu_ring}) {
    if (ring_buffer__add(rings_.get(), bpf_map__fd(ring), &BpfEngine::on_event, this) != 0)
      return load_error(errno);
  }
  return {};
}

Result<> BpfEngine::has_probes() const {
  if (older_) return needs_linux_5_15("probes of functions");
  return {};
}

BpfEngine::~BpfEngine() {
  stop();
}

Result<> BpfEngine::start(const std::function<int(int cpu)>& output_fd) {
  return start_on(online_cpus(), output_fd);
}

Result<> BpfEngine::rehearse() {
  const std::uint32_t nobody = 0;
  const int processes = bpf_map__fd(skeleton_->maps.processes);
  const tracked_process none{};
  if (bpf_map_update_elem(processes, &nobody, &none, BPF_ANY) != 0)
    return system_error("bpf: writing to a map", errno);
  (void)bpf_map_delete_elem(processes, &nobody);
  auto started = start_on({online_cpus().front()}, {});
  stop();
  release();
  return started;
}

Result<> BpfEngine::start_on(const std::vector<int>& cpus, const std::function<int(int cpu)>& output_fd) {
  for (bpf_program* program : {skeleton_->progs.process_forked, skeleton_->progs.process_execed,
                               skeleton_->progs.thread_exited, skeleton_->progs.signal_taken}) {
    auto link = attach_program(program);
    if (!link) return tl::unexpected<Error>(link.error());
    links_.push_back(std::move(*link));
  }
  for (const auto& part : parts_) {
    if (auto attached = part->attach(); !attached) return attached;
  }
  for (const int cpu : cpus) {
    if (auto added = add_cpu(cpu, output_fd); !added) return added;
  }
  return {};
}

Result<> BpfEngine::add_cpu(int cpu, const std::function<int(int cpu)>& output_fd) {
  for (const auto& part : parts_) {
    if (auto added = part->add_cpu(cpu, output_fd ? output_fd(cpu) : -1); !added) return added;
  }
  return {};
}

void BpfEngine::remove_cpu(int cpu) {
  for (const auto& part : parts_) part->remove_cpu(cpu);
}

void BpfEngine::stop() {
  if (skeleton_ == nullptr) return;
  for (const auto& part : parts_) part->detach();
  links_.clear();
}

void BpfEngine::release() {
  for (const auto& part : parts_) part->release();
}

void BpfEngine::track_from_exec(std::int32_t pid) {
  tracked_process waiting{};
  waiting.waits_for_exec = 1;
  waiting.copies_left = COPIES_PER_MAPPINGS;
  bpf_map_update_elem(bpf_map__fd(skeleton_->maps.processes), &pid, &waiting, BPF_ANY);
}

void BpfEngine::hold_execs(std::int32_t pid) {
  __atomic_store_n(&skeleton_->bss->hold_execs_of, static_cast<std::uint32_t>(pid), __ATOMIC_SEQ_CST);
}

std::uint64_t BpfEngine::execs_held() const {
  return __atomic_load_n(&skeleton_->bss->execs_held, __ATOMIC_SEQ_CST);
}

void BpfEngine::forget(std::int32_t pid) {
  for (const auto& part : parts_) part->forget(pid);
  bpf_map_delete_elem(bpf_map__fd(skeleton_->maps.processes), &pid);
  bpf_map_delete_elem(bpf_map__fd(skeleton_->maps.programs_executed), &pid);
  tables_->forget(static_cast<std::uint32_t>(pid));
}

int BpfEngine::ring_fd() const {
  return ring_buffer__epoll_fd(rings_.get());
}

int BpfEngine::on_event(void* self, void* data, std::size_t size) {
  auto& engine = *static_cast<BpfEngine*>(self);
  auto& out = *engine.drained_;
  const std::size_t before = out.size();
  decode_ring_event({static_cast<const std::byte*>(data), size}, out);
  if (out.size() == before || engine.switches_ == nullptr) return 0;
  if (const auto* wait = std::get_if<Waited>(&out.back())) engine.switches_->saw(*wait);
  return 0;
}

Result<> BpfEngine::drain(std::vector<Event>& out) {
  drained_ = &out;
  const int consumed = ring_buffer__consume(rings_.get());
  drained_ = nullptr;
  if (consumed < 0) return system_error("bpf: reading the ring", -consumed);
  if (switches_ != nullptr) switches_->watch_results();
  return {};
}

}  // namespace fathom::sources
