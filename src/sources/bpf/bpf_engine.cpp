#include "sources/bpf/bpf_engine.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string_view>
#include <utility>

#include "arch/call_numbers.h"
#include "base/clock.h"
#include "base/files.h"
#include "bpf_skeleton/fathom_bpf.skel.h"
#include "sources/bpf/older_programs.h"
#include "sources/perf/event.h"

namespace fathom::sources {
namespace {

constexpr std::uint32_t kPageCapacity = 1u << 18;  // 64 KiB of text each: 16 GiB in all
constexpr std::uint32_t kRowsPerLine = 16;         // as bpf/tables.h packs them

constexpr std::uint32_t kMostRingBytes = 8u << 20;

std::uint32_t ring_of(std::uint64_t bytes, std::uint32_t least) {
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(std::bit_ceil(bytes), least, kMostRingBytes));
}

bool kernel_is_at_least(int major, int minor) {
  utsname name{};
  std::pair version(0, 0);
  return ::uname(&name) == 0 && std::sscanf(name.release, "%d.%d", &version.first, &version.second) == 2 &&
         version >= std::pair(major, minor);
}

// Whether a table of programs that trace may take its elements one by one. Before, it could wait for itself there.
bool takes_elements_by_need() {
  return kernel_is_at_least(6, 1);  // "bpf: Introduce any context BPF specific memory allocator"
}

// Before Linux 5.11 maps count as locked memory of their owner.
bool is_short_of_locked_memory() {
  rlimit limit{};
  return !kernel_is_at_least(5, 11) && ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 &&
         limit.rlim_cur != RLIM_INFINITY;
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
  if (level != LIBBPF_WARN || g_libbpf_text.size() > 4000) return 0;
  char line[512];
  std::vsnprintf(line, sizeof(line), format, arguments);
  g_libbpf_text += line;
  return 0;
}

tl::unexpected<Error> load_error(int error_number) {
  if (error_number == EPERM && is_short_of_locked_memory())
    return fail(
        ErrorKind::kPermission,
        "bpf: before Linux 5.11 the programs' tables need locked memory, and this user may lock little",
        "run as root, or raise the limit first: ulimit -l unlimited");
  if (error_number == EPERM || error_number == EACCES) {
    return fail(ErrorKind::kPermission, "bpf: this user may not load BPF programs", remedy_for_rights(false));
  }
  std::string why = g_libbpf_text.substr(0, g_libbpf_text.find('\n'));
  return fail(ErrorKind::kUnsupported,
              fmt::format("bpf: the kernel refused the programs: {}{}{}", std::strerror(error_number),
                          why.empty() ? "" : "; ", why),
              "fathom doctor names what this kernel lacks; kernels from 5.10 on with BTF are known to work");
}

// As fathom_bpf__open(), which has no parameter for other bytes.
fathom_bpf* open_older_programs() {
  auto* opened = static_cast<fathom_bpf*>(std::calloc(1, sizeof(fathom_bpf)));
  if (opened == nullptr) return nullptr;
  int error = fathom_bpf__create_skeleton(opened);
  if (error == 0) {
    const auto bytes = older_programs();
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

Waited waited(const off_cpu_event_wait& event) {
  Waited wait;
  wait.out_ns = event.out_ns;
  wait.waited_ns = event.waited_ns;
  wait.queued_ns = event.queued_ns;
  wait.pid = static_cast<std::int32_t>(event.pid);
  wait.tid = static_cast<std::int32_t>(event.tid);
  wait.waker_pid = static_cast<std::int32_t>(event.waker_pid);
  wait.waker_tid = static_cast<std::int32_t>(event.waker_tid);
  wait.stack_id = event.stack_id;
  wait.waker_stack_id = event.waker_stack_id;
  wait.system_call = event.system_call;
  wait.weight = event.weight;
  wait.state = event.state;
  std::copy(std::begin(event.arguments), std::end(event.arguments), wait.arguments);
  wait.fault_address = event.fault_address;
  wait.inode = event.inode;
  wait.device = event.device;
  wait.file_mode = event.file_mode;
  wait.peer_family = event.peer_family;
  std::copy(std::begin(event.peer_address), std::end(event.peer_address), wait.peer_address.begin());
  wait.peer_port = event.peer_port;
  wait.local_port = event.local_port;
  wait.throttled = event.throttled != 0;
  if (event.result != WAIT_NO_RESULT) wait.result = event.result;
  wait.lock_key = event.lock_key;
  return wait;
}

// Of a stack deeper than what is kept: the ring behind the first frames, from its oldest frame on, which gives its place
// to the mark.
void put_in_order(std::vector<std::uint64_t>& user, std::uint32_t walked) {
  const auto ring = user.begin() + WALK_LEAF_FRAMES;
  std::rotate(ring, user.begin() + slot_of_frame(walked - WALK_ROOT_FRAMES), user.end());
  *ring = WALK_LEFT_OUT;
}

// BPF programs see the process numbers of the initial namespace. Where fathom has others, it would look for its targets in vain.
Result<> has_numbers_of_the_kernel() {
  constexpr std::string_view kInitial = "pid:[4026531836]";  // PROC_PID_INIT_INO of the kernel
  std::array<char, 64> link{};
  const auto length = ::readlink("/proc/self/ns/pid", link.data(), link.size());
  if (length <= 0 || std::string_view(link.data(), static_cast<std::size_t>(length)) == kInitial) return {};
  return fail(ErrorKind::kUnsupported,
              "bpf: fathom runs in a process namespace of its own, where processes have other numbers than "
              "in the kernel",
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

Result<std::unique_ptr<BpfEngine>> BpfEngine::load(const BpfOptions& options) {
  if (auto numbers = has_numbers_of_the_kernel(); !numbers) return tl::unexpected(numbers.error());
  libbpf_set_print(keep_text);
  g_libbpf_text.clear();
  std::unique_ptr<BpfEngine> engine(new BpfEngine);
  engine->options_ = options;
  engine->older_ = options.programs == BpfPrograms::kBeforeLinux515 || kernel_needs_older_programs();
  if (engine->older_ && options.probes) return needs_linux_5_15("probes of functions");
  if (engine->older_) engine->options_.heap_probes = false;
  engine->skeleton_ = engine->older_ ? open_older_programs() : fathom_bpf__open();
  if (engine->skeleton_ == nullptr) return load_error(errno);
  engine->size_maps();
  auto& maps = engine->skeleton_->maps;
  engine->skeleton_->rodata->follow_children = options.follow_children;
  engine->skeleton_->rodata->copies_stacks = options.copies_stacks;
  auto& programs = engine->skeleton_->progs;
  for (bpf_program* program :
       {programs.thread_switched, programs.thread_born, programs.thread_execed, programs.thread_woken,
        programs.thread_ended, programs.page_faulted, programs.call_returned, programs.count_fault})
    bpf_program__set_autoload(program, options.off_cpu);
  bpf_program__set_autoload(programs.sample_cpu, options.cpu);
  bpf_program__set_autoload(programs.memory_changed, options.mappings);
  bpf_program__set_autoload(programs.probe_entered, options.probes);
  bpf_program__set_autoload(programs.probe_left, options.probes);
  bpf_program__set_autoload(programs.heap_probe_alloc, engine->options_.heap_probes);
  bpf_program__set_autoload(programs.heap_probe_free, engine->options_.heap_probes);
  engine->skeleton_->rodata->thread_budget = std::max(1u, options.thread_walks_per_second() / 10);
  engine->skeleton_->rodata->cpu_budget = std::max(1u, options.cpu_walks_per_second() / 10);
  engine->skeleton_->rodata->waker_threshold_ns = options.waker_threshold_ns;
  if (const int error = fathom_bpf__load(engine->skeleton_); error != 0) return load_error(-error);

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

Result<> BpfEngine::open_event(int cpu, const std::function<int(int cpu)>& output_fd) {
  perf_event_attr attributes = base_attributes();
  if (options_.event == "cycles") {
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.config = PERF_COUNT_HW_CPU_CYCLES;
  } else {
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  }
  attributes.freq = 1;
  attributes.sample_freq = options_.frequency_hz;
  attributes.exclude_idle = 1;
  attributes.disabled = 1;
  // Per CPU, for all processes: an event of one process is armed and disarmed at each of its context
  // switches, which was measured to cost ten times as much as the program's look at processes that are not
  // recorded.
  auto opened = sources::open_event(attributes, -1, cpu, options_.event);
  if (!opened) return tl::unexpected<Error>(opened.error());
  Fd fd = std::move(*opened);
  if (const int output = output_fd ? output_fd(cpu) : -1; output >= 0)
    (void)redirect_output(fd.get(), output);  // else throttling is only seen as missing samples
  bpf_link* link = bpf_program__attach_perf_event(skeleton_->progs.sample_cpu, fd.get());
  if (link == nullptr) return system_error("bpf: attaching to " + options_.event, errno);
  cpu_events_[cpu].links.push_back(link);
  cpu_events_[cpu].events.push_back(std::move(fd));
  return {};
}

// For all processes, as the timer is. An exact count of minor faults would be a walk for each page that a
// program ever touches.
Result<> BpfEngine::open_fault_events(int cpu) {
  for (const bool major : {true, false}) {
    perf_event_attr attributes = base_attributes();
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = major ? PERF_COUNT_SW_PAGE_FAULTS_MAJ : PERF_COUNT_SW_PAGE_FAULTS_MIN;
    attributes.sample_period = major ? 1 : MINOR_FAULTS_PER_EVENT;
    attributes.disabled = 1;
    auto opened = sources::open_event(attributes, -1, cpu, "page faults");
    if (!opened) return tl::unexpected<Error>(opened.error());
    Fd fd = std::move(*opened);
    bpf_link* link = bpf_program__attach_perf_event(skeleton_->progs.count_fault, fd.get());
    if (link == nullptr) return system_error("bpf: attaching to page faults", errno);
    cpu_events_[cpu].links.push_back(link);
    cpu_events_[cpu].events.push_back(std::move(fd));
  }
  return {};
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
  return started;
}

Result<> BpfEngine::start_on(const std::vector<int>& cpus, const std::function<int(int cpu)>& output_fd) {
  std::vector<bpf_program*> programs = {skeleton_->progs.process_forked, skeleton_->progs.process_execed,
                                        skeleton_->progs.thread_exited};
  if (options_.off_cpu) {
    for (bpf_program* program :
         {skeleton_->progs.thread_born, skeleton_->progs.thread_execed, skeleton_->progs.thread_woken,
          skeleton_->progs.thread_ended, skeleton_->progs.thread_switched})
      programs.push_back(program);
  }
  for (bpf_program* program : programs) {
    bpf_link* link = bpf_program__attach(program);
    if (link == nullptr)
      return system_error(std::string("bpf: attaching ") + bpf_program__name(program), errno);
    links_.push_back(link);
  }
  if (options_.off_cpu) {  // a kernel without this tracepoint cannot tell which page a fault waited for; that
                           // is all
    if (bpf_link* link = bpf_program__attach(skeleton_->progs.page_faulted)) links_.push_back(link);
  }
  if (options_.mappings) {
    bpf_link* link = bpf_program__attach(skeleton_->progs.memory_changed);
    if (link == nullptr) return system_error("bpf: attaching memory_changed", errno);
    links_.push_back(link);
  }
  for (const int cpu : cpus) {
    if (auto added = add_cpu(cpu, output_fd); !added) return added;
  }
  if (options_.off_cpu) {
    newest_transfer_ns_ = monotonic_ns();
    watch_results();
  }
  return {};
}

Result<> BpfEngine::add_cpu(int cpu, const std::function<int(int cpu)>& output_fd) {
  if (options_.off_cpu)
    if (auto opened = open_fault_events(cpu); !opened) return opened;
  return options_.cpu ? open_event(cpu, output_fd) : Result<>();
}

void BpfEngine::remove_cpu(int cpu) {
  const auto events = cpu_events_.find(cpu);
  if (events == cpu_events_.end()) return;
  for (bpf_link* link : events->second.links) bpf_link__destroy(link);
  cpu_events_.erase(events);
}

// The program at the end of system calls runs for those of every process of the machine. So it is there only
// for the first two seconds, and while the target waits in calls that have a result: after a pause the first
// such waits, up to the next drain, have none.
void BpfEngine::watch_results() {
  constexpr std::uint64_t kPatienceNs = 2'000'000'000;
  const bool wanted = monotonic_ns() < newest_transfer_ns_ + kPatienceNs;
  if (wanted == (results_ != nullptr) || (wanted && results_refused_)) return;
  skeleton_->bss->results_wanted = wanted ? 1 : 0;
  if (wanted) {
    results_ = bpf_program__attach(skeleton_->progs.call_returned);
    results_refused_ = results_ == nullptr;
    if (results_refused_) skeleton_->bss->results_wanted = 0;
  } else {
    bpf_link__destroy(std::exchange(results_, nullptr));
  }
}

void BpfEngine::stop() {
  if (results_ != nullptr) bpf_link__destroy(std::exchange(results_, nullptr));
  for (void* link : links_) bpf_link__destroy(static_cast<bpf_link*>(link));
  links_.clear();
  remove_all_heap_probes();
  while (!cpu_events_.empty()) remove_cpu(cpu_events_.begin()->first);
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

Result<> BpfEngine::drain(std::vector<Event>& out) {
  drained_ = &out;
  const int consumed = ring_buffer__consume(rings_);
  drained_ = nullptr;
  if (consumed < 0) return system_error("bpf: reading the ring", -consumed);
  if (!links_.empty()) watch_results();  // not when all has been detached, and the rest is drained
  return {};
}

std::optional<StackCopied> stack_copied(std::span<const std::byte> bytes) {
  cpu_event_stack event;
  if (bytes.size() < sizeof(event)) return std::nullopt;
  std::memcpy(&event, bytes.data(), sizeof(event));
  const auto payload = bytes.subspan(sizeof(event));
  const std::size_t kernel_bytes = std::size_t{event.kernel_count} * 8,
                    user_bytes = std::size_t{event.user_count} * 8;
  std::uint64_t registers[COPIED_REGISTERS];
  if (user_bytes < sizeof(registers) || payload.size() < kernel_bytes + user_bytes) return std::nullopt;
  StackCopied copied;
  copied.time_ns = copied.seen.time_ns = event.time_ns;
  copied.seen.stack_id = event.stack_id;
  copied.seen.pid = static_cast<std::int32_t>(event.pid);
  copied.seen.epoch = event.epoch;
  copied.seen.end = event.end;
  copied.seen.kernel.resize(event.kernel_count);
  std::memcpy(copied.seen.kernel.data(), payload.data(), kernel_bytes);
  std::memcpy(registers, payload.data() + kernel_bytes, sizeof(registers));
  copied.instruction_pointer = registers[0];
  copied.stack_pointer = registers[1];
  copied.frame_pointer = registers[2];
  const auto stack = payload.subspan(kernel_bytes + sizeof(registers), user_bytes - sizeof(registers));
  copied.stack.assign(stack.begin(), stack.end());
  return copied;
}

int BpfEngine::on_event(void* self, void* data, std::size_t size) {
  auto& engine = *static_cast<BpfEngine*>(self);
  auto& out = *engine.drained_;
  const auto* bytes = static_cast<const std::byte*>(data);
  switch (static_cast<std::uint8_t>(bytes[0])) {
    case CPU_EVENT_SAMPLE: {
      cpu_event_sample event;
      if (size < sizeof(event)) break;
      std::memcpy(&event, data, sizeof(event));
      StackSample sample;
      sample.time_ns = event.time_ns;
      sample.tid = static_cast<std::int32_t>(event.tid);
      sample.stack_id = event.stack_id;
      sample.cpu = event.cpu;
      sample.end = event.end;
      out.emplace_back(sample);
      break;
    }
    case CPU_EVENT_STACK: {
      cpu_event_stack event;
      if (size < sizeof(event)) break;
      std::memcpy(&event, data, sizeof(event));
      const std::size_t kept = std::min<std::size_t>(event.user_count, WALK_MAX_FRAMES);
      const std::size_t count = event.kernel_count + kept;
      if (size < sizeof(event) + count * 8) break;
      StackSeen stack;
      stack.time_ns = event.time_ns;
      stack.stack_id = event.stack_id;
      stack.pid = static_cast<std::int32_t>(event.pid);
      stack.epoch = event.epoch;
      stack.end = event.end;
      stack.kernel.resize(event.kernel_count);
      stack.user.resize(kept);
      std::memcpy(stack.kernel.data(), bytes + sizeof(event), stack.kernel.size() * 8);
      std::memcpy(stack.user.data(), bytes + sizeof(event) + stack.kernel.size() * 8, stack.user.size() * 8);
      if (event.user_count > WALK_MAX_FRAMES) put_in_order(stack.user, event.user_count);
      out.emplace_back(std::move(stack));
      break;
    }
    case CPU_EVENT_STACK_COPY: {
      if (auto copied = stack_copied({bytes, size})) out.emplace_back(std::move(*copied));
      break;
    }
    case CPU_EVENT_THREAD_EXIT: {
      cpu_event_thread_exit event;
      if (size < sizeof(event)) break;
      std::memcpy(&event, data, sizeof(event));
      ThreadCpuTime ended{event.time_ns, static_cast<std::int32_t>(event.pid),
                          static_cast<std::int32_t>(event.tid), event.cpu_ns};
      if (event.process_ended != 0)
        ended.process = ProcessEnd{static_cast<int>(event.wait_status), event.out_of_memory != 0};
      out.emplace_back(ended);
      break;
    }
    case OFF_CPU_EVENT_WAIT: {
      off_cpu_event_wait event;
      if (size < sizeof(event)) break;
      std::memcpy(&event, data, sizeof(event));
      out.emplace_back(waited(event));
      if (event.state != 0 && call_has_result(event.system_call))
        engine.newest_transfer_ns_ =
            std::max(engine.newest_transfer_ns_, event.out_ns + event.waited_ns + event.queued_ns);
      break;
    }
    case OFF_CPU_EVENT_FAULT: {
      off_cpu_event_fault event;
      if (size < sizeof(event)) break;
      std::memcpy(&event, data, sizeof(event));
      out.emplace_back(PageFault{event.time_ns, static_cast<std::int32_t>(event.pid),
                                 static_cast<std::int32_t>(event.tid), event.stack_id, event.address,
                                 event.weight, event.major != 0});
      break;
    }
    case OFF_CPU_EVENT_THREAD_END: {
      off_cpu_event_thread_end event;
      if (size < sizeof(event)) break;
      std::memcpy(&event, data, sizeof(event));
      out.emplace_back(ThreadWaitTime{event.time_ns, static_cast<std::int32_t>(event.pid),
                                      static_cast<std::int32_t>(event.tid), event.ran_ns, event.waited_ns,
                                      event.queued_ns, event.waits, event.preemptions, event.unwalked_waits,
                                      event.unwalked_ns});
      break;
    }
    case MEMORY_EVENT_CALL: {
      memory_event event;
      if (size < sizeof(event)) break;
      std::memcpy(&event, data, sizeof(event));
      out.emplace_back(MemoryCall{event.time_ns, static_cast<std::int32_t>(event.pid),
                                  static_cast<std::int32_t>(event.tid), event.stack_id, event.number,
                                  event.anonymous != 0, event.address, event.length, event.argument,
                                  event.result});
      break;
    }
    case HEAP_PROBE_EVENT_ALLOC:
    case HEAP_PROBE_EVENT_FREE: {
      heap_probe_event event;
      if (size < sizeof(event)) break;
      std::memcpy(&event, data, sizeof(event));
      out.emplace_back(HeapProbed{
          event.time_ns, static_cast<std::int32_t>(event.pid), static_cast<std::int32_t>(event.tid),
          event.stack_id, event.kind == HEAP_PROBE_EVENT_FREE, event.block, event.size, event.weight});
      break;
    }
    default:
      out.emplace_back(Lost{0, 1, Lost::What::kMalformed});
  }
  return 0;
}

cpu_counters BpfEngine::counters() const {
  const int cpus =
      libbpf_num_possible_cpus();  // not the online ones: the kernel copies a value for each possible CPU
  std::vector<cpu_counters> values(static_cast<std::size_t>(cpus > 0 ? cpus : 1));
  const std::uint32_t zero = 0;
  cpu_counters sum{};
  if (bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.cpu_counters), &zero, values.data()) != 0) return sum;
  for (const cpu_counters& value : values) {
    sum.samples += value.samples;
    sum.lost_ring_full += value.lost_ring_full;
    sum.stacks_sent += value.stacks_sent;
    sum.stacks_not_sent += value.stacks_not_sent;
    sum.kernel_truncated += value.kernel_truncated;
    sum.runs += value.runs;
    sum.run_ns += value.run_ns;
  }
  return sum;
}

thread_account* BpfEngine::place_of(std::uint32_t tid) const {
  return accounts_ ? static_cast<thread_account*>(accounts_->at(tid % ACCOUNTS)) : nullptr;
}

void BpfEngine::enter_thread(std::int32_t tid, const thread_account& account) {
  const auto key = static_cast<std::uint32_t>(tid);
  thread_account fresh = account;
  thread_account* place = place_of(key);
  if (place == nullptr) {
    if (options_.off_cpu) enter_in_table(key, fresh);
    return;
  }
  std::atomic_ref<std::uint32_t> owner(place->tid);
  if (std::uint32_t nobody = 0; owner.compare_exchange_strong(nobody, ACCOUNT_TAKEN)) {
    fresh.tid = ACCOUNT_TAKEN;
    *place = fresh;
    owner.store(key);
  } else if (nobody != key) {
    skeleton_->bss->is_crowded = 1;
    enter_in_table(key, fresh);
  }
}

void BpfEngine::enter_in_table(std::uint32_t tid, thread_account account) {
  account.tid = tid;
  bpf_map_update_elem(bpf_map__fd(skeleton_->maps.crowded_accounts), &tid, &account, BPF_NOEXIST);
}

std::optional<thread_account> BpfEngine::account_in_table(std::uint32_t tid) const {
  thread_account account{};
  if (bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.crowded_accounts), &tid, &account) != 0)
    return std::nullopt;
  return account;
}

std::optional<thread_account> BpfEngine::account(std::int32_t tid) const {
  const auto key = static_cast<std::uint32_t>(tid);
  thread_account* place = place_of(key);
  if (place == nullptr) return options_.off_cpu ? account_in_table(key) : std::nullopt;
  const std::atomic_ref<std::uint32_t> owner(place->tid);
  thread_account account{};
  if (owner.load() == key) {
    account = *place;
    return owner.load() == key ? std::optional(account) : std::nullopt;  // it may have ended meanwhile
  }
  return skeleton_->bss->is_crowded == 0 ? std::nullopt : account_in_table(key);
}

BpfEngine::SwitchCounters BpfEngine::switch_counters() const {
  SwitchCounters sum;
  if (!options_.off_cpu) return sum;
  const int cpus = libbpf_num_possible_cpus();
  std::vector<off_cpu_counters> values(static_cast<std::size_t>(cpus > 0 ? cpus : 1));
  const std::uint32_t zero = 0;
  if (bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.off_cpu_counters), &zero, values.data()) != 0)
    return sum;
  for (const off_cpu_counters& value : values) {
    sum.switches += value.switches;
    sum.walks += value.walks;
    sum.walk_ns += value.walk_ns;
    sum.run_ns += value.run_ns + value.walk_ns;
    sum.lost_ring_full += value.lost_ring_full;
    sum.lost_accounts += value.lost_accounts;
    sum.lost_faults += value.lost_faults;
    sum.untold_switches += value.untold_switches;
  }
  return sum;
}

std::uint64_t BpfEngine::memory_calls_lost() const {
  if (!options_.mappings) return 0;
  const int cpus = libbpf_num_possible_cpus();
  std::vector<std::uint64_t> values(static_cast<std::size_t>(cpus > 0 ? cpus : 1));
  const std::uint32_t zero = 0;
  if (bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.mapping_losses), &zero, values.data()) != 0) return 0;
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

}  // namespace fathom::sources
