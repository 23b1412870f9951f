// What has been found out about this machine, this user and one target, by trying. Plain values: the probes
// fill them, the diagnosis reads them, tests make them up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attach/allocators/state/state.h"
#include "linux/process/cgroup.h"
#include "linux/process/find.h"
#include "linux/process/status.h"
#include "model/counted_limit.h"
#include "model/profile.h"

namespace fathom::doctor {

// Something that was tried.
struct Trial {
  bool works = false;
  std::string problem;  // what the kernel said; empty if it works
  bool operator==(const Trial&) const = default;
};

// Numbers of include/uapi/linux/capability.h.
enum class Capability : unsigned {
  kSysPtrace = 19,
  kSysAdmin = 21,
  kSyslog = 34,
  kPerfmon = 38,
  kBpf = 39,
  kCheckpointRestore = 40,
};

// Of control groups: what limits and counts memory.
struct MemoryController {
  enum class State : std::uint8_t {
    kUnknown,
    kUsable,
    kDisabled,  // when the kernel was started
    kNotHere,   // the kernel has it, and no group that we see does
  };
  State state = State::kUnknown;
  int version = 0;           // 1 or 2, where it is usable
  bool counts_swap = false;  // by group
  bool parameter = false;    // kDisabled by cgroup_disable=memory, and not by default
};

struct Swap {
  std::uint64_t bytes = 0, used_bytes = 0;
  std::optional<int> swappiness;
};

struct MachineFacts {
  std::string kernel, architecture;  // "6.1.0-18-amd64", arch::kMachine
  unsigned cpus = 0;
  std::string own_path;  // of the fathom that runs
  std::uint32_t uid = 0;
  std::uint64_t capabilities = 0;
  int seccomp = 0;  // of ourselves: 2 = a filter stands between us and the kernel
  bool initial_pid_namespace = true;
  std::optional<process::Container> container;  // that we are in, or were built as
  bool cgroup_version_1 = false, cgroup_version_2 = false;
  MemoryController memory_controller;
  Swap swap;
  std::optional<std::uint64_t> memlock_limit_bytes;  // nullopt: unlimited
  std::uint64_t open_files_limit = 0;
  // kernel.*; nullopt where there is no such file.
  std::optional<int> perf_event_paranoid, kptr_restrict, unprivileged_bpf_disabled, ptrace_scope;
  std::optional<int> perf_event_max_sample_rate, perf_event_mlock_kb;
  std::string lockdown;  // "none", "integrity", "confidentiality"; empty: not in this kernel

  // Each engine as `fathom record` will use it: on the target if one is named, and with the capabilities that a
  // recording keeps. These decide; what follows says why, and what would help.
  Trial record_bpf, record_perf, record_proc;
  // Sampling ourselves in user mode without CAP_SYS_ADMIN, but with all other capabilities that we have.
  Trial cpu_clock_without_admin;

  Trial bpf_program;           // the smallest program there is
  Trial bpf_engine;            // the real ones, through the verifier
  Trial bpf_probes{true, {}};  // breakpoints in functions and at static probes, with the engine bpf
  Trial btf;
  Trial side_band;             // mappings and names of all processes
  Trial cpu_clock_all;         // a timer event on a whole CPU
  Trial cpu_clock_own;         // on ourselves, user mode only
  Trial cpu_clock_own_kernel;  // on ourselves, kernel side included
  Trial cycles;                // a hardware counter
  Trial kernel_symbols;
  Trial heap_counter;          // the time-stamp counter orders events of the heap
  Trial name_cache;            // the folder that keeps expensive names between recordings
  std::size_t ring_bytes = 0;  // what one perf ring could get of the 4 MiB that we ask for

  bool has(Capability capability) const {
    return (capabilities >> static_cast<unsigned>(capability) & 1) != 0;
  }
  // Debian and Ubuntu patch the kernel: with perf_event_paranoid above 2 perf events need CAP_SYS_ADMIN, and
  // CAP_PERFMON is not enough. Other kernels treat 3 and 4 as 2.
  bool events_need_admin() const {
    return perf_event_paranoid.value_or(2) > 2 && !cpu_clock_without_admin.works;
  }
};

struct ModuleHealth {
  std::string path;  // as the target sees it
  std::uint64_t code_bytes = 0;
  bool deleted = false;  // replaced or removed since it was mapped
  model::SymbolSource symbols = model::SymbolSource::kNone;
  std::string symbols_path{};  // separate file, if the names are from there
  std::string compilers{};     // that made it (elf/compilers.h)
  std::string problem{};       // one line; empty if all is well
  std::string build_id{};      // empty: it has none
  std::string names_from{};    // "its own .symtab"; empty: from nowhere
  std::optional<bool>
      unwind_table{};  // .eh_frame: stacks can be walked without frame pointers; nullopt: not read
};

// Memory is handed out by this, and can be traced through these functions.
struct AllocatorFact {
  std::string label;  // "jemalloc 5.3.0 (_rjem_)"
  std::string module;
  std::vector<std::string> functions;
  std::string evidence{};           // of one that has no names: what says that these are its functions
  std::optional<bool> profiling{};  // of jemalloc: it was built with what writes heap dumps
};

inline bool is_jemalloc(const AllocatorFact& allocator) {
  return allocator.label.starts_with("jemalloc");
}

// Memory is handed out by this, too, and it must not be traced: not all that frees its blocks is known.
struct UnseenFact {
  std::string label;
  std::string module;
  std::string why;
  std::string remedy;  // empty: none is known
};

struct TargetFacts {
  process::ProcessInfo process;
  process::Status status;
  Trial maps, memory,
      map_files;  // /proc/PID/maps; reading its memory; opening mapped files whatever their name
  Trial perf_event, perf_event_kernel;
  bool own_pid_namespace = false, own_mount_namespace = false;  // other ones than ours
  std::optional<process::Container> container;
  std::optional<process::MemoryCgroup> memory_cgroup;
  std::optional<std::uint64_t> memory_limit_bytes;
  std::optional<std::uint64_t>
      swap_limit_bytes{};                     // of its group, in addition; nullopt: unlimited or unknown
  std::vector<model::CountedLimit> limits{};  // of mappings, descriptors and so on
  std::uint64_t anonymous_code_bytes = 0;     // made at run time: a JIT
  Trial perf_map;                             // only tried if there is such code
  std::vector<ModuleHealth> modules;          // by size of code, largest first
  std::vector<AllocatorFact> allocators{};
  std::vector<UnseenFact> unseen_allocators{};
  std::vector<std::string> allocator_notes{};         // functions that cannot be traced, and why
  std::optional<allocators::AllocatorStates> held{};  // what the allocators hold; nullopt: not read
  // The static probes by which it reports its own heap: "/usr/lib/x.so: alloc at 2 places, free at 1"; and
  // what is wrong with them.
  std::vector<std::string> heap_probes{}, heap_probe_problems{};
  bool heap_frees_told = false;  // by one of these; else the tracer is placed all the same
  Trial heap;                    // whether the heap tracer may go in
  std::string heap_remedy{};
  std::optional<int> heap_tracer_of{};  // a tracer is in: the pid of its profiler, 0 if that is gone
};

}  // namespace fathom::doctor
