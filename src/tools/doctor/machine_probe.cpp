#include "tools/doctor/machine_probe.h"

#include <linux/bpf.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/attempt.h"
#include "base/capabilities.h"
#include "base/fd.h"
#include "base/files.h"
#include "base/parse.h"
#include "binary/symbolize/symbol_cache.h"
#include "linux/perf/event.h"
#include "linux/perf/ring_set.h"
#include "linux/perf/side_band.h"
#include "linux/process/counter_trust.h"
#include "linux/process/directory.h"
#include "linux/process/fields.h"
#include "linux/process/kallsyms.h"
#include "record/bpf/bpf_engine.h"
#include "record/session/engine_ladder.h"
#include "tools/doctor/memory_controller.h"

namespace fathom::doctor {
namespace {

constexpr std::uint64_t kInitialPidNamespace = 0xEFFFFFFC;  // PROC_PID_INIT_INO, include/linux/proc_ns.h

template <class T>
Trial trial_of(const Result<T>& result) {
  return result ? Trial{true, {}} : Trial{false, result.error().message};
}

std::optional<int> setting_at(const std::string& path) {
  auto text = read_file(path);
  if (!text) return std::nullopt;
  std::string_view rest = *text;
  std::string_view line;
  process::next_line(rest, line);
  const bool negative = line.starts_with('-');
  const auto number = parse_number<int>(negative ? line.substr(1) : line);
  return number && negative ? std::optional(-*number) : number;
}

std::optional<int> setting(const char* name) {
  return setting_at(std::string("/proc/sys/kernel/") + name);
}

// Returns 0. The type is that of our sampling programs, as rights depend on it.
Trial try_bpf_program() {
  bpf_insn instructions[2] = {};
  instructions[0].code = BPF_ALU64 | BPF_MOV | BPF_K;
  instructions[1].code = BPF_JMP | BPF_EXIT;
  const char license[] = "Dual MIT/GPL";
  bpf_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.prog_type = BPF_PROG_TYPE_PERF_EVENT;
  attributes.insns = reinterpret_cast<std::uint64_t>(instructions);
  attributes.insn_cnt = 2;
  attributes.license = reinterpret_cast<std::uint64_t>(license);
  const Fd program(static_cast<int>(::syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof attributes)));
  if (program) return {true, {}};
  return {false, std::string("bpf(BPF_PROG_LOAD): ") + std::strerror(errno)};
}

Trial try_event(perf_event_attr attributes, int pid, int cpu, std::string_view what) {
  attributes.disabled = 1;
  return trial_of(sources::open_event(attributes, pid, cpu, what));
}

perf_event_attr clock_event(bool with_kernel) {
  perf_event_attr attributes = sources::base_attributes();
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  attributes.freq = 1;
  attributes.sample_freq = 99;
  attributes.exclude_kernel = with_kernel ? 0 : 1;
  attributes.exclude_hv = 1;
  return attributes;
}

void probe_events(MachineFacts& facts) {
  const int cpu = sources::online_cpus().front();
  facts.cpu_clock_all = try_event(clock_event(true), -1, cpu, "cpu-clock, all processes");
  facts.cpu_clock_own = try_event(clock_event(false), 0, -1, "cpu-clock, user mode");
  facts.cpu_clock_own_kernel = try_event(clock_event(true), 0, -1, "cpu-clock");

  perf_event_attr side_band = sources::base_attributes();
  side_band.config = PERF_COUNT_SW_DUMMY;
  sources::report_tasks(side_band);
  facts.side_band = try_event(side_band, -1, cpu, "mappings, all processes");

  perf_event_attr cycles = clock_event(false);
  cycles.type = PERF_TYPE_HARDWARE;
  cycles.config = PERF_COUNT_HW_CPU_CYCLES;
  facts.cycles = try_event(cycles, 0, -1, "cycles");

  perf_event_attr ring_owner = sources::base_attributes();
  ring_owner.config = PERF_COUNT_SW_DUMMY;
  ring_owner.exclude_kernel = 1;
  auto rings = sources::RingSet::open(
      sources::RecordDecoder(ring_owner), 4 << 20, 32 << 10,
      [&](int on_cpu, std::size_t) { return sources::open_event(ring_owner, 0, on_cpu, "ring"); });
  if (rings) facts.ring_bytes = rings->memory_bytes() / sources::online_cpus().size();
}

// A process of this user that waits: what `record` would sample if it were started.
class WaitingChild {
 public:
  WaitingChild() : pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) ::pause();
  }
  ~WaitingChild() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  WaitingChild(const WaitingChild&) = delete;
  WaitingChild& operator=(const WaitingChild&) = delete;
  int pid() const { return pid_; }

 private:
  pid_t pid_;
};

void probe_engines(MachineFacts& facts, int target) {
  std::optional<WaitingChild> child;
  if (target == 0) target = child.emplace().pid();
  session::RecordOptions options;
  options.give_up_privileges = true;
  const auto try_engine = [&](session::Engine engine) {
    return trial_of(session::open_engine(options, engine, {target}));
  };
  facts.record_bpf = try_engine(session::Engine::kBpf);
  facts.record_perf = try_engine(session::Engine::kPerf);
  facts.record_proc = try_engine(session::Engine::kProc);
  facts.cpu_clock_without_admin = trial_of(attempt_in_child([] {
    (void)keep_capabilities(own_capabilities() & ~capability(CAP_SYS_ADMIN));
    const auto event = sources::open_event(clock_event(false), 0, -1, "cpu-clock, user mode");
    return event ? Result<>() : tl::unexpected<Error>(event.error());
  }));
}

// A folder that is made for this is removed again.
Trial try_name_cache() {
  const std::string path = symbolize::default_cache_directory();
  if (path.empty()) return {false, "neither XDG_CACHE_HOME nor HOME names a folder"};
  const symbolize::CacheDirectory cache(path, 0);
  return {cache.refusal().empty(), cache.refusal()};
}

void probe_identity(MachineFacts& facts) {
  utsname name{};
  if (::uname(&name) == 0) {
    facts.kernel = name.release;
    facts.architecture = name.machine;
  }
  facts.cpus = static_cast<unsigned>(sources::online_cpus().size());
  if (auto path = process::read_link("/proc/self/exe")) facts.own_path = *path;
  facts.uid = ::geteuid();
  if (auto status = process::read_status(::getpid())) {
    facts.capabilities = status->effective_capabilities;
    facts.seccomp = status->seccomp;
  }
  facts.initial_pid_namespace = process::read_namespaces(::getpid()).pid == kInitialPidNamespace;
  if (auto memberships = process::read_cgroup(::getpid()))
    facts.container = process::guess_container(*memberships);
  if (!facts.container && ::access("/.dockerenv", F_OK) == 0)
    facts.container = process::Container{"docker", {}};
  if (!facts.container && ::access("/run/.containerenv", F_OK) == 0)
    facts.container = process::Container{"podman", {}};
  if (auto mountinfo = read_file("/proc/self/mountinfo")) {
    const auto mounts = process::parse_cgroup_mounts(*mountinfo);
    for (const auto& mount : mounts)
      (mount.version == 1 ? facts.cgroup_version_1 : facts.cgroup_version_2) = true;
    facts.memory_controller = probe_memory_controller(mounts);
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    facts.memlock_limit_bytes = limit.rlim_cur;
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0)
    facts.open_files_limit = limit.rlim_max;  // soft limits we raise
}

}  // namespace

std::string parse_lockdown(std::string_view text) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']', open == std::string_view::npos ? 0 : open);
  if (open == std::string_view::npos || close == std::string_view::npos) return {};
  return std::string(text.substr(open + 1, close - open - 1));
}

MachineFacts probe_machine(int target) {
  MachineFacts facts;
  probe_identity(facts);
  facts.perf_event_paranoid = setting("perf_event_paranoid");
  facts.perf_event_max_sample_rate = setting("perf_event_max_sample_rate");
  facts.perf_event_mlock_kb = setting("perf_event_mlock_kb");
  facts.kptr_restrict = setting("kptr_restrict");
  facts.unprivileged_bpf_disabled = setting("unprivileged_bpf_disabled");
  facts.ptrace_scope = setting("yama/ptrace_scope");
  if (auto text = read_file("/proc/meminfo"))
    facts.swap = parse_swap(*text, setting_at("/proc/sys/vm/swappiness"));
  if (auto text = read_file("/sys/kernel/security/lockdown")) facts.lockdown = parse_lockdown(*text);

  facts.btf.works = ::access("/sys/kernel/btf/vmlinux", R_OK) == 0;
  if (!facts.btf.works) facts.btf.problem = std::string("/sys/kernel/btf/vmlinux: ") + std::strerror(errno);
  facts.bpf_program = try_bpf_program();
  facts.bpf_engine = facts.bpf_probes = {false, "no BPF program loads here"};
  if (facts.bpf_program.works) {
    sources::BpfOptions options;
    options.row_capacity = 4096;  // the verifier is asked, and little memory is locked
    options.ring_bytes = 1 << 16;
    const auto engine = sources::BpfEngine::load(options);
    facts.bpf_engine = trial_of(engine);
    facts.bpf_probes = engine ? trial_of((*engine)->has_probes()) : facts.bpf_engine;
  }
  probe_events(facts);
  probe_engines(facts, target);
  facts.kernel_symbols = trial_of(process::read_kallsyms());
  const process::CounterTrust counter = process::judge_counter(process::read_counter_facts());
  facts.heap_counter = counter.orders ? Trial{true, {}} : Trial{false, counter.reason};
  facts.name_cache = try_name_cache();
  return facts;
}

}  // namespace fathom::doctor
