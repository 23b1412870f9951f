#include "record/bpf/bpf_engine.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/arch/call_numbers.h"
#include "base/clock.h"
#include "base/files.h"
#include "bpf_skeleton/fathom_bpf.skel.h"
#include "linux/perf/event.h"
#include "record/bpf/load_error.h"
#include "record/bpf/older_programs.h"
#include "record/bpf/ring_events.h"

namespace fathom::sources {
namespace {

constexpr std::uint32_t kPageCapacity = 1u << 18;  // 64 KiB of text each: 16 GiB in all
constexpr std::uint32_t kRowsPerLine = 16;         // as record/bpf_programs/tables.h packs them

constexpr std::uint32_t kMostRingBytes = 8u << 20;

std::uint32_t ring_of(std::uint64_t bytes, std::uint32_t least) {
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(std::bit_ceil(bytes), least, kMostRingBytes));
}

// Whether a table of programs that trace may take its elements one by one. Before, it could wait for itself there.
bool takes_elements_by_need() {
  return kernel_is_at_least(6, 1);  // "bpf: Introduce any context BPF specific memory allocator"
}

template <class T>
TableArray<T> array_of(const bpf_map* map, std::uint32_t size) {
  return {size, [fd = bpf_map__fd(map)](std::uint32_t first, std::span<const T> elements) {
            return write_array(fd, std::uint64_t{first} * sizeof(T), std::as_bytes(elements));
          }};
}

tl::unexpected<Error> needs_linux_5_15(std::string_view what) {
  utsname name{};
  ::uname(&name);
  return fail(
      ErrorKind::kUnsupported,
      fmt::format("bpf: {} need Linux 5.15 or later (bpf_get_attach_cookie); this is {}", what, name.release),
      "a newer kernel");
}

// libbpf explains failures on stderr by itself; its text is kept for the error message instead.
std::string g_libbpf_text;  // the callback has no parameter for a context
int keep_text(libbpf_print_level level, const char* format, va_list arguments) {
  constexpr std::size_t kMost = 64 << 10;  // the last lines of the verifier's log have the reason
  if (level != LIBBPF_WARN || g_libbpf_text.size() > kMost) return 0;
  char* text = nullptr;
  const int size = ::vasprintf(&text, format, arguments);
  if (size < 0) return 0;
  const std::unique_ptr<char, decltype(&::free)> owner(text, &::free);
  const std::string_view all(text, static_cast<std::size_t>(size));
  if (all.size() <= kMost)
    g_libbpf_text += all;
  else
    g_libbpf_text.append(all.substr(0, kMost / 2)).append("\n").append(all.substr(all.size() - kMost / 2));
  return 0;
}

tl::unexpected<Error> load_error(int error_number) {
  return tl::unexpected<Error>(explain_load_error(error_number, g_libbpf_text, look_at_kernel()));
}

// A signal that reaches the loading thread makes the verifier give up (EAGAIN). Signals wait until this is destroyed.
class SignalsWait {
 public:
  SignalsWait() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;
  ~SignalsWait() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

// As fathom_bpf__open() does with bytes of its own.
fathom_bpf* open_skeleton(std::span<const std::byte> bytes) {
  auto* opened = static_cast<fathom_bpf*>(std::calloc(1, sizeof(fathom_bpf)));
  if (opened == nullptr) return nullptr;
  int error = fathom_bpf__create_skeleton(opened);
  if (error == 0) {
    opened->skeleton->data =
        const_cast<std::byte*>(bytes.data());  // libbpf has no const there, and only reads
    opened->skeleton->data_sz = bytes.size();
    error = bpf_object__open_skeleton(opened->skeleton, nullptr);
  }
  if (error == 0) return opened;
  fathom_bpf__destroy(opened);
  errno = -error;
  return nullptr;
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
  if (!off_cpu && !mappings && !probes && !heap_probes) return 4096;
  if (ring_bytes != 0) return ring_bytes;
  return mappings ? kMostRingBytes : ring_of(std::uint64_t{cpus} * cpu_walks_per_second() << 10, 2u << 20);
}

// What is not asked for is as small as the kernel lets it be.
void BpfEngine::size_maps() {
  auto& maps = skeleton_->maps;
  const std::size_t cpus = online_cpus().size();
  const std::uint32_t sample_ring = options_.cpu ? options_.sample_ring_bytes(cpus) : 4096;
  const std::uint32_t wait_ring = options_.wait_ring_bytes(cpus);
  const std::uint32_t row_lines = (options_.row_capacity + kRowsPerLine - 1) / kRowsPerLine;
  bpf_map__set_max_entries(maps.unwind_rows, row_lines);
  bpf_map__set_max_entries(maps.unwind_pages, kPageCapacity);
  bpf_map__set_max_entries(maps.cpu_ring, sample_ring);
  bpf_map__set_max_entries(maps.off_cpu_ring, wait_ring);
  skeleton_->rodata->cpu_ring_wakeup_bytes = sample_ring / 4;
  skeleton_->rodata->off_cpu_ring_wakeup_bytes = wait_ring / 4;
  const bool probes = options_.probes || options_.heap_probes;
  const bool walks_waits = options_.off_cpu || options_.mappings || probes;
  if (options_.probes) {
    bpf_map__set_max_entries(maps.probe_accounts, PROBE_ACCOUNTS);
    bpf_map__set_max_entries(maps.probe_calls, PROBE_CALLS);
  }
  if (probes) {
    bpf_map__set_max_entries(maps.probe_values, MAX_PROBE_VALUES);
    bpf_map__set_max_entries(maps.stack_buffers, bpf_map__max_entries(maps.stack_buffers) +
                                                     bpf_map__max_entries(maps.probe_buffers_taken));
    skeleton_->rodata->probe_budget = std::max(1u, options_.probed_calls_per_second / 10);
  }
  if (options_.heap_probes) {
    bpf_map__set_max_entries(maps.heap_probe_sums, MAX_PROCESSES);
    bpf_map__set_max_entries(maps.heap_probe_rounds, MAX_PROCESSES);
  }
  if (!options_.cpu) bpf_map__set_max_entries(maps.cpu_seen, 1);
  if (!walks_waits) bpf_map__set_max_entries(maps.off_cpu_seen, 1);
  if (!options_.off_cpu) {
    bpf_map__set_max_entries(maps.thread_accounts, 1);
    bpf_map__set_max_entries(maps.crowded_accounts, 1);
  } else if (takes_elements_by_need()) {
    bpf_map__set_map_flags(maps.crowded_accounts, BPF_F_NO_PREALLOC);
  }
  if (older_) bpf_map__set_max_entries(maps.thread_accounts, 1);
  kernel_memory_bytes_ = std::uint64_t{sample_ring} + wait_ring +
                         row_lines * sizeof(unwind_row) * kRowsPerLine + kPageCapacity * sizeof(unwind_page) +
                         UNWIND_MAX_RULES * sizeof(unwind_rule) + MAX_MAPPINGS * sizeof(unwind_mapping);
  for (const bpf_map* map : {maps.cpu_seen, maps.off_cpu_seen})
    kernel_memory_bytes_ += std::uint64_t{bpf_map__max_entries(map)} * 8;
  if (options_.probes)
    kernel_memory_bytes_ += PROBE_ACCOUNTS * (sizeof(probe_key) + sizeof(probe_account)) +
                            PROBE_CALLS * (sizeof(probe_call_key) + sizeof(probe_call));
  if (!options_.off_cpu) return;
  if (!older_) kernel_memory_bytes_ += ACCOUNTS * sizeof(thread_account);
  if (!takes_elements_by_need()) kernel_memory_bytes_ += CROWDED_ACCOUNTS * sizeof(thread_account);
}

// Everything up to loading: the programs and maps as the options want them. 0, or an error number.
int BpfEngine::open_programs() {
  skeleton_ = open_skeleton(older_ ? older_programs() : newest_programs());
  if (skeleton_ == nullptr) return errno;
  size_maps();
  auto& programs = skeleton_->progs;
  for (bpf_program* program :
       {programs.thread_switched, programs.thread_born, programs.thread_execed, programs.thread_woken,
        programs.thread_ended, programs.page_faulted, programs.call_returned, programs.count_fault})
    bpf_program__set_autoload(program, options_.off_cpu);
  bpf_program__set_autoload(programs.sample_cpu, options_.cpu);
  bpf_program__set_autoload(programs.memory_changed, options_.mappings);
  bpf_program__set_autoload(programs.probe_entered, options_.probes);
  bpf_program__set_autoload(programs.probe_left, options_.probes);
  bpf_program__set_autoload(programs.heap_probe_alloc, options_.heap_probes);
  bpf_program__set_autoload(programs.heap_probe_free, options_.heap_probes);
  auto& settings = *skeleton_->rodata;
  settings.follow_children = options_.follow_children;
  settings.copies_stacks = options_.copies_stacks;
  settings.thread_budget = std::max(1u, options_.thread_walks_per_second() / 10);
  settings.cpu_budget = std::max(1u, options_.cpu_walks_per_second() / 10);
  settings.waker_threshold_ns = options_.waker_threshold_ns;
  return 0;
}

Result<> BpfEngine::load_programs() {
  constexpr int kTries = 5;  // SIGSTOP and the freezer of cgroups interrupt all the same
  const SignalsWait wait;
  for (int attempt = 1;; ++attempt) {
    g_libbpf_text.clear();
    if (const int error = open_programs(); error != 0) return load_error(error);
    const int error = -fathom_bpf__load(skeleton_);
    if (error == 0) return {};
    fathom_bpf__destroy(std::exchange(skeleton_, nullptr));
    if (error != EAGAIN || attempt == kTries) return load_error(error);
  }
}

Result<std::unique_ptr<BpfEngine>> BpfEngine::load(const BpfOptions& options) {
  if (auto numbers = has_numbers_of_the_kernel(); !numbers) return tl::unexpected(numbers.error());
  libbpf_set_print(keep_text);
  std::unique_ptr<BpfEngine> engine(new BpfEngine);
  engine->options_ = options;
  engine->older_ = options.programs == BpfPrograms::kBeforeLinux515 || kernel_needs_older_programs();
  if (engine->older_ && options.probes) return needs_linux_5_15("probes of functions");
  if (engine->older_) engine->options_.heap_probes = false;
  if (auto loaded = engine->load_programs(); !loaded) return tl::unexpected(loaded.error());

  auto& maps = engine->skeleton_->maps;
  if (options.off_cpu && !engine->older_)
    engine->accounts_.emplace(bpf_map__fd(maps.thread_accounts), sizeof(thread_account), ACCOUNTS);
  const int processes = bpf_map__fd(maps.processes);
  const std::uint32_t rows = bpf_map__max_entries(maps.unwind_rows) * kRowsPerLine;
  engine->tables_ =
      std::make_unique<TableSpace>(TableArrays{array_of<unwind_row>(maps.unwind_rows, rows),
                                               array_of<unwind_page>(maps.unwind_pages, kPageCapacity),
                                               array_of<unwind_rule>(maps.unwind_rules, UNWIND_MAX_RULES),
                                               array_of<unwind_mapping>(maps.unwind_mappings, MAX_MAPPINGS)},
                                   [processes](std::uint32_t pid, const tracked_process& process) {
                                     bpf_map_update_elem(processes, &pid, &process, BPF_ANY);
                                   });

  engine->rings_ = ring_buffer__new(bpf_map__fd(maps.cpu_ring), &BpfEngine::on_event, engine.get(), nullptr);
  if (engine->rings_ == nullptr) return load_error(errno);
  for (const bpf_map* ring : {maps.exit_ring, maps.off_cpu_ring}) {
    if (ring_buffer__add(engine->rings_, bpf_map__fd(ring), &BpfEngine::on_event, engine.get()) != 0)
      return load_error(errno);
  }
  return engine;
}

Result<> BpfEngine::has_probes() const {
  if (older_) return needs_linux_5_15("probes of functions");
  return {};
}

BpfEngine::~BpfEngine() {
  stop();
  if (rings_ != nullptr) ring_buffer__free(rings_);
  if (skeleton_ != nullptr) fathom_bpf__destroy(skeleton_);
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

void BpfEngine::set_key_distance(std::int32_t pid, std::int32_t distance) {
  bpf_map_update_elem(bpf_map__fd(skeleton_->maps.key_distances), &pid, &distance, BPF_ANY);
}

void BpfEngine::forget(std::int32_t pid) {
  bpf_map_delete_elem(bpf_map__fd(skeleton_->maps.key_distances), &pid);
  bpf_map_delete_elem(bpf_map__fd(skeleton_->maps.processes), &pid);
  bpf_map_delete_elem(bpf_map__fd(skeleton_->maps.programs_executed), &pid);
  tables_->forget(static_cast<std::uint32_t>(pid));
}

int BpfEngine::ring_fd() const {
  return ring_buffer__epoll_fd(rings_);
}

int BpfEngine::on_event(void* self, void* data, std::size_t size) {
  auto& engine = *static_cast<BpfEngine*>(self);
  auto& out = *engine.drained_;
  const std::size_t before = out.size();
  decode_ring_event({static_cast<const std::byte*>(data), size}, out);
  if (out.size() == before) return 0;
  if (const auto* wait = std::get_if<Waited>(&out.back());
      wait != nullptr && wait->state != 0 && call_has_result(wait->system_call))
    engine.newest_transfer_ns_ =
        std::max(engine.newest_transfer_ns_, wait->out_ns + wait->waited_ns + wait->queued_ns);
  return 0;
}

Result<> BpfEngine::drain(std::vector<Event>& out) {
  drained_ = &out;
  const int consumed = ring_buffer__consume(rings_);
  drained_ = nullptr;
  if (consumed < 0) return system_error("bpf: reading the ring", -consumed);
  if (!links_.empty()) watch_results();  // not when all has been detached, and the rest is drained
  return {};
}

}  // namespace fathom::sources
