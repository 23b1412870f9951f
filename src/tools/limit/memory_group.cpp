#include "tools/limit/memory_group.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>

#include "base/fd.h"
#include "base/files.h"
#include "base/parse.h"
#include "base/stable_sort.h"
#include "linux/memory/memory_sampler.h"
#include "linux/process/fields.h"

namespace fathom::limit {
namespace {

namespace fs = std::filesystem;

using process::next_field;
using process::next_line;

using Values = std::map<std::string, std::uint64_t, std::less<>>;

constexpr std::size_t kLongestFile = std::size_t{4} << 20;

// "name number" on each line.
Values read_values(const std::string& path) {
  Values values;
  const auto text = read_file(path, kLongestFile);
  if (!text) return values;
  std::string_view rest = *text, line;
  while (next_line(rest, line)) {
    const std::string_view name = next_field(line);
    if (const auto value = parse_number(next_field(line))) values.emplace(name, *value);
  }
  return values;
}

std::uint64_t of(const Values& values, std::string_view name) {
  const auto found = values.find(name);
  return found == values.end() ? 0 : found->second;
}

void add_part(GroupState& state, const char* name, std::uint64_t bytes) {
  if (bytes != 0) state.parts.emplace_back(name, bytes);
}

std::uint64_t less(std::uint64_t all, std::uint64_t part) {
  return all > part ? all - part : 0;
}

// The groups below it, deepest first, and itself.
std::vector<std::string> folders_of(const std::string& directory) {
  std::vector<std::string> folders;
  std::error_code error;
  for (auto at =
           fs::recursive_directory_iterator(directory, fs::directory_options::skip_permission_denied, error);
       !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::error_code inner;
    if (at->is_directory(inner) && !at->is_symlink(inner)) folders.push_back(at->path().string());
  }
  std::ranges::sort(folders, std::greater{}, &std::string::size);
  folders.push_back(directory);
  return folders;
}

std::vector<int> processes_in(const std::string& folder) {
  std::vector<int> pids;
  const auto text = read_file(folder + "/cgroup.procs", kLongestFile);
  if (!text) return pids;
  std::string_view rest = *text, line;
  while (next_line(rest, line))
    if (const auto pid = parse_number<int>(next_field(line)); pid && *pid > 0) pids.push_back(*pid);
  return pids;
}

void end_processes_in(const std::string& folder) {
  end_if_inside(processes_in(folder), [&] { return processes_in(folder); });
}

// A task that is frozen or held at the limit cannot end.
void let_go(int version, const std::string& folder) {
  if (version == 2) {
    (void)write_control(folder + "/cgroup.freeze", "0").has_value();
    (void)write_control(folder + "/memory.high", "max").has_value();
  } else {
    (void)write_control(folder + "/memory.oom_control", "0").has_value();
  }
}

}  // namespace

Result<> write_control(const std::string& path, const std::string& value) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return system_error(path, errno);
  if (::write(fd.get(), value.data(), value.size()) != static_cast<ssize_t>(value.size()))
    return system_error(fmt::format("{}: {}", path, value), errno);
  return {};
}

bool has_swap(const std::string& proc_swaps) {
  return std::ranges::count(proc_swaps, '\n') > 1;  // the first line is its header
}

bool machine_has_swap() {
  const auto text = read_file("/proc/swaps");
  return text && has_swap(*text);
}

Result<> MemoryGroup::create() const {
  if (::mkdir(directory_.c_str(), 0755) != 0) return system_error(directory_, errno);
  return {};
}

std::optional<std::uint64_t> MemoryGroup::number(const char* name) const {
  const auto text = read_file(file(name), kLongestFile);
  if (!text) return std::nullopt;
  std::string_view rest = *text, line;
  return next_line(rest, line) ? parse_number(next_field(line)) : std::nullopt;
}

// The kernel keeps whole pages, and rounds down.
Result<> MemoryGroup::set(const char* name, std::uint64_t value) const {
  if (auto written = write_control(file(name), std::to_string(value)); !written) return written;
  const auto confirmed = number(name);
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  if (!confirmed || *confirmed > value || value - *confirmed >= page)
    return fail(ErrorKind::kSystem,
                fmt::format("{}: {} was written, and the kernel says {}: the limit would not hold",
                            file(name), value, confirmed ? std::to_string(*confirmed) : "nothing"));
  return {};
}

Result<> MemoryGroup::apply(const Limits& limits, bool machine_swaps) const {
  return version_ == 1 ? apply_version_1(limits, machine_swaps) : apply_version_2(limits, machine_swaps);
}

Result<> MemoryGroup::apply_version_1(const Limits& limits, bool machine_swaps) const {
  // In this order: the sum may never be below the memory.
  if (auto done = set("memory.limit_in_bytes", limits.memory_bytes); !done) return done;
  const bool knows_swap = ::access(file("memory.memsw.limit_in_bytes").c_str(), F_OK) == 0;
  if (knows_swap) {
    if (auto done = set("memory.memsw.limit_in_bytes", limits.memory_bytes + limits.swap_bytes); !done)
      return done;
  } else if (machine_swaps) {
    return fail(ErrorKind::kUnsupported,
                "this kernel does not limit swap, and the machine has some: the limit would be evaded",
                "boot with swapaccount=1, or swapoff -a while the command runs");
  }
  if (limits.swappiness)
    if (auto done = set("memory.swappiness", static_cast<std::uint64_t>(*limits.swappiness)); !done)
      return done;
  return {};
}

Result<> MemoryGroup::apply_version_2(const Limits& limits, bool machine_swaps) const {
  if (limits.swappiness)
    return fail(ErrorKind::kUnsupported, "control groups of version 2 have no swappiness of their own",
                "--swap 0, or --swap SIZE to allow that much swap");
  if (auto done = set("memory.max", limits.memory_bytes); !done) return done;
  if (::access(file("memory.swap.max").c_str(), F_OK) == 0) return set("memory.swap.max", limits.swap_bytes);
  if (machine_swaps)
    return fail(ErrorKind::kUnsupported,
                "this kernel does not limit swap, and the machine has some: the limit would be evaded",
                "boot with swapaccount=1, or swapoff -a while the command runs");
  return {};
}

GroupState MemoryGroup::read() const {
  GroupState state;
  version_ == 1 ? read_version_1(state) : read_version_2(state);
  stable_sort_rows(state.parts, std::greater{}, [](const auto& part) { return part.second; });
  return state;
}

void MemoryGroup::read_version_1(GroupState& state) const {
  state.usage_bytes = number("memory.usage_in_bytes").value_or(0);
  state.peak_bytes = number("memory.max_usage_in_bytes");
  state.peak_with_swap_bytes = number("memory.memsw.max_usage_in_bytes");
  state.oom_kills = of(read_values(file("memory.oom_control")), "oom_kill");
  state.ooms = state.oom_kills;
  // Kernel 6.18 does not count when the sum with swap meets its limit; each kill is at least one such time.
  const std::uint64_t counted =
      number("memory.failcnt").value_or(0) + number("memory.memsw.failcnt").value_or(0);
  state.limit_hits = std::max(counted, state.ooms);
  const Values stat = read_values(file("memory.stat"));
  // The sums with the groups below; `rss` is anonymous memory alone.
  state.swap_bytes = of(stat, "total_swap");
  state.minor_faults = less(of(stat, "total_pgfault"), of(stat, "total_pgmajfault"));
  state.major_faults = of(stat, "total_pgmajfault");
  state.refaults = of(stat, "total_workingset_refault_anon") + of(stat, "total_workingset_refault_file");
  const std::uint64_t shmem = of(stat, "total_shmem");
  const std::uint64_t files = less(of(stat, "total_cache"), shmem);
  const std::uint64_t dirty = std::min(files, of(stat, "total_dirty") + of(stat, "total_writeback"));
  add_part(state, "anonymous", of(stat, "total_rss"));
  add_part(state, "shared memory and tmpfs", shmem);
  add_part(state, "files, not yet written", dirty);
  add_part(state, "files, clean", files - dirty);
  add_part(state, "kernel (page tables, stacks, objects)", number("memory.kmem.usage_in_bytes").value_or(0));
}

void MemoryGroup::read_version_2(GroupState& state) const {
  state.usage_bytes = number("memory.current").value_or(0);
  state.peak_bytes = number("memory.peak");
  state.swap_bytes = number("memory.swap.current").value_or(0);
  state.swap_peak_bytes = number("memory.swap.peak");
  const Values events = read_values(file("memory.events"));
  state.limit_hits = of(events, "max");
  state.high_hits = of(events, "high");
  state.ooms = of(events, "oom");
  state.oom_kills = of(events, "oom_kill");
  const Values stat = read_values(file("memory.stat"));
  state.minor_faults = less(of(stat, "pgfault"), of(stat, "pgmajfault"));
  state.major_faults = of(stat, "pgmajfault");
  state.refaults = of(stat, "workingset_refault_anon") + of(stat, "workingset_refault_file");
  const std::uint64_t shmem = of(stat, "shmem");
  const std::uint64_t files = less(of(stat, "file"), shmem);
  const std::uint64_t dirty = std::min(files, of(stat, "file_dirty") + of(stat, "file_writeback"));
  add_part(state, "anonymous", of(stat, "anon"));
  add_part(state, "shared memory and tmpfs", shmem);
  add_part(state, "files, not yet written", dirty);
  add_part(state, "files, clean", files - dirty);
  add_part(state, "page tables", of(stat, "pagetables"));
  add_part(state, "kernel stacks", of(stat, "kernel_stack"));
  add_part(state, "kernel objects (slab)", of(stat, "slab"));
  if (const auto text = read_file(file("memory.pressure"), kLongestFile))
    if (const auto pressure = sources::parse_pressure(*text))
      state.pressure = Pressure{pressure->some_us, pressure->full_us};
}

std::vector<int> MemoryGroup::processes() const {
  std::vector<int> all;
  for (const std::string& folder : folders_of(directory_)) {
    const std::vector<int> pids = processes_in(folder);
    all.insert(all.end(), pids.begin(), pids.end());
  }
  return all;
}

void MemoryGroup::end_processes() const {
  for (const std::string& folder : folders_of(directory_)) end_processes_in(folder);
}

void end_if_inside(std::span<const int> pids, const std::function<std::vector<int>()>& now_inside) {
  constexpr std::size_t kAtOnce = 256;  // descriptors
  for (std::size_t first = 0; first < pids.size(); first += kAtOnce) {
    std::vector<std::pair<int, Fd>> held;
    for (const int pid : pids.subspan(first, std::min(kAtOnce, pids.size() - first)))
      held.emplace_back(pid, static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    std::vector<int> inside = now_inside();
    std::ranges::sort(inside);
    for (const auto& [pid, fd] : held)
      if (fd && std::ranges::binary_search(inside, pid))
        ::syscall(SYS_pidfd_send_signal, fd.get(), SIGKILL, nullptr, 0);
  }
}

bool remove_group(int version, const std::string& directory, int patience_ms) {
  constexpr int kPauseMs = 5;
  for (int waited = 0;; waited += kPauseMs) {
    bool gone = true;
    for (const std::string& folder : folders_of(directory)) {
      if (::rmdir(folder.c_str()) == 0 || errno == ENOENT) continue;
      gone = false;
      const int reason = errno;
      end_processes_in(folder);
      if (reason == EBUSY) let_go(version, folder);
    }
    if (gone) return true;
    if (waited >= patience_ms) return false;
    ::usleep(kPauseMs * 1000);
  }
}

}  // namespace fathom::limit
