#include "support/environment.h"

#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "base/fd.h"

namespace fathom::support {
namespace {

Fd open_cpu_clock(pid_t pid, int cpu, bool with_kernel) {
  perf_event_attr attributes{};
  attributes.size = sizeof(attributes);
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  attributes.sample_period = 1'000'000;
  attributes.disabled = 1;
  attributes.exclude_kernel = with_kernel ? 0 : 1;
  return Fd(static_cast<int>(syscall(SYS_perf_event_open, &attributes, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
}

}  // namespace

std::optional<std::string> why_no_bpf() {
  // r0 = 0; exit
  std::array<bpf_insn, 2> program{};
  program[0].code = BPF_ALU64 | BPF_MOV | BPF_K;
  program[1].code = BPF_JMP | BPF_EXIT;
  constexpr char kLicence[] = "GPL";
  bpf_attr attributes{};
  attributes.prog_type = BPF_PROG_TYPE_PERF_EVENT;
  attributes.insns = reinterpret_cast<std::uint64_t>(program.data());
  attributes.insn_cnt = program.size();
  attributes.license = reinterpret_cast<std::uint64_t>(kLicence);
  const Fd loaded(static_cast<int>(syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof(attributes))));
  if (!loaded) return "loading a program: " + std::string(std::strerror(errno));
  const Fd event = open_cpu_clock(-1, 0, true);
  if (!event) return "opening an event for a CPU: " + std::string(std::strerror(errno));
  if (!std::filesystem::exists("/sys/kernel/btf/vmlinux")) return "the kernel has no BTF";
  return std::nullopt;
}

std::optional<std::string> why_no_perf_event() {
  const Fd event = open_cpu_clock(0, -1, false);
  if (event) return std::nullopt;
  return "opening an event for an own thread: " + std::string(std::strerror(errno));
}

std::optional<std::string> why_no_heap_tracing() {
  const pid_t child = fork();
  if (child < 0) return "fork: " + std::string(std::strerror(errno));
  if (child == 0) {
    pause();
    _exit(0);
  }
  const bool allowed = ptrace(PTRACE_SEIZE, child, nullptr, nullptr) == 0;
  const int error = errno;
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  if (allowed) return std::nullopt;
  return "tracing an own child: " + std::string(std::strerror(error));
}

std::optional<std::string> find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(std::string(path == nullptr ? "" : path) + ":/usr/sbin:/sbin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = folder + "/" + name;
    if (!folder.empty() && access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return std::nullopt;
}

std::optional<std::string> find_redis_server(const std::string& folder) {
  if (auto found = find_program("redis-server")) return found;
  const auto same_program = find_program("redis-check-rdb");
  if (!same_program) return std::nullopt;
  const std::string link = folder + "/redis-server";
  std::filesystem::create_symlink(*same_program, link);
  return link;
}

std::optional<std::string> find_mimalloc() {
  for (const char* path : {"/usr/lib/x86_64-linux-gnu/libmimalloc.so.2.0",
                           "/usr/lib/x86_64-linux-gnu/libmimalloc.so.2", "/usr/lib64/libmimalloc.so.2"})
    if (std::filesystem::exists(path)) return path;
  return std::nullopt;
}

TempDir::TempDir() : TempDir(std::filesystem::temp_directory_path().string()) {}

TempDir::TempDir(const std::string& below) {
  std::string name = std::filesystem::path(below) / "fathom-test-XXXXXX";
  if (mkdtemp(name.data()) == nullptr)
    throw std::runtime_error("mkdtemp: " + std::string(std::strerror(errno)));
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace fathom::support
