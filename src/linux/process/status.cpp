#include "linux/process/status.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>

#include "base/clock.h"
#include "base/files.h"
#include "linux/process/fields.h"

namespace fathom::process {
namespace {

template <class T>
T number_or_zero(std::string_view text, int base = 10) {
  return parse_number<T>(text, base).value_or(T{});
}

constexpr std::uint64_t kKernelThreadFlag = 0x00200000;  // PF_KTHREAD, include/linux/sched.h
constexpr std::uint64_t kExitingFlag = 0x00000004;       // PF_EXITING
constexpr std::uint64_t kKillMask = std::uint64_t{1} << (SIGKILL - 1);

}  // namespace

Result<Status> parse_status(std::string_view text) {
  Status status;
  bool has_pid = false;
  std::string_view line;
  while (next_line(text, line)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, colon);
    std::string_view rest = line.substr(colon + 1);
    if (key == "Name") {
      if (!rest.empty() && rest[0] == '\t') rest.remove_prefix(1);
      status.name = unescape(rest);
      continue;
    }
    const std::string_view value = next_field(rest);
    const auto bytes = [&] { return number_or_zero<std::uint64_t>(value) * 1024; };  // always in kB
    if (key == "State" && !value.empty()) status.state = value[0];
    if (key == "Tgid") {
      status.pid = number_or_zero<std::int32_t>(value);
      has_pid = status.pid > 0;
    }
    if (key == "PPid") status.parent_pid = number_or_zero<std::int32_t>(value);
    if (key == "TracerPid") status.tracer_pid = number_or_zero<std::int32_t>(value);
    if (key == "Uid") {
      status.uid = number_or_zero<std::uint32_t>(value);
      status.effective_uid = number_or_zero<std::uint32_t>(next_field(rest));
    }
    if (key == "NSpid") {
      for (std::string_view field = value; !field.empty(); field = next_field(rest))
        status.namespace_pids.push_back(number_or_zero<std::int32_t>(field));
    }
    if (key == "Threads") status.threads = number_or_zero<std::uint32_t>(value);
    if (key == "Seccomp") status.seccomp = number_or_zero<std::int32_t>(value);
    if (key == "NoNewPrivs") status.no_new_privileges = value == "1";
    if (key == "CapEff") status.effective_capabilities = number_or_zero<std::uint64_t>(value, 16);
    if (key == "SigPnd") status.killed = (number_or_zero<std::uint64_t>(value, 16) & kKillMask) != 0;
    if (key == "RssAnon") status.rss_anon = bytes();
    if (key == "RssFile") status.rss_file = bytes();
    if (key == "RssShmem") status.rss_shmem = bytes();
    if (key == "VmSwap") status.swap = bytes();
    if (key == "VmPTE") status.page_tables = bytes();
    if (key == "VmHWM") status.rss_peak = bytes();
    if (key == "VmSize") status.virtual_size = bytes();
    if (key == "HugetlbPages") status.huge_files = bytes();
  }
  if (!has_pid) return fail(ErrorKind::kMalformed, "status has no line Tgid");
  return status;
}

Result<Status> read_status(int pid) {
  const std::string path = fmt::format("/proc/{}/status", pid);
  auto text = read_file(path);
  if (!text) return tl::unexpected(text.error());
  auto status = parse_status(*text);
  if (!status) return within(path, status.error());
  return status;
}

Result<Stat> parse_stat(std::string_view text) {
  // The name may hold blanks and parentheses, so it ends at the last one.
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return fail(ErrorKind::kMalformed, "stat has no name in parentheses");
  Stat stat;
  std::string_view before = text.substr(0, open);
  const auto pid = parse_number<std::int32_t>(next_field(before));
  stat.name = unescape(text.substr(open + 1, close - open - 1));

  std::string_view rest = text.substr(close + 1);
  rest = rest.substr(0, rest.find('\n'));
  std::array<std::string_view, 20> fields;  // [0] is field 3 of proc(5)
  for (auto& field : fields) field = next_field(rest);
  if (!pid || fields[19].empty()) return fail(ErrorKind::kMalformed, "stat is cut short");
  stat.pid = *pid;
  stat.state = fields[0][0];
  stat.parent_pid = number_or_zero<std::int32_t>(fields[1]);
  const auto flags = number_or_zero<std::uint64_t>(fields[6]);
  stat.kernel_thread = (flags & kKernelThreadFlag) != 0;
  stat.exiting = (flags & kExitingFlag) != 0;
  stat.minor_faults = number_or_zero<std::uint64_t>(fields[7]);
  stat.major_faults = number_or_zero<std::uint64_t>(fields[9]);
  stat.user_ticks = number_or_zero<std::uint64_t>(fields[11]);
  stat.system_ticks = number_or_zero<std::uint64_t>(fields[12]);
  stat.start_ticks = number_or_zero<std::uint64_t>(fields[19]);
  return stat;
}

namespace {

Result<Stat> read_stat_file(const std::string& path) {
  auto text = read_file(path);
  if (!text) return tl::unexpected(text.error());
  auto stat = parse_stat(*text);
  if (!stat) return within(path, stat.error());
  return stat;
}

}  // namespace

Result<Stat> read_stat(int pid) {
  return read_stat_file(fmt::format("/proc/{}/stat", pid));
}
bool is_ending(int pid) {
  const auto stat = read_stat(pid);
  if (!stat || stat->exiting || stat->state == 'Z' || stat->state == 'X') return true;
  const auto status = read_status(pid);
  return !status || status->killed;
}
bool has_numbers_of_the_kernel() {
  constexpr ino_t kFirst = 0xefff'fffc;  // PROC_PID_INIT_INO, include/linux/proc_ns.h
  struct stat of {};
  return ::stat("/proc/self/ns/pid", &of) == 0 && of.st_ino == kFirst;
}

Result<Stat> read_thread_stat(int pid, int tid) {
  return read_stat_file(fmt::format("/proc/{}/task/{}/stat", pid, tid));
}

std::uint64_t ticks_per_second() {
  const long ticks = ::sysconf(_SC_CLK_TCK);
  return ticks > 0 ? static_cast<std::uint64_t>(ticks) : 100;
}

std::uint64_t start_time_ns(const Stat& stat) {
  const std::uint64_t hertz = ticks_per_second();
  const std::uint64_t since_boot =
      stat.start_ticks / hertz * 1'000'000'000 + stat.start_ticks % hertz * (1'000'000'000 / hertz);
  const std::uint64_t awake = clock_ns(CLOCK_MONOTONIC);  // first: the difference must not be negative
  const std::uint64_t asleep = clock_ns(CLOCK_BOOTTIME) - awake;
  return since_boot > asleep ? since_boot - asleep : 0;
}

Result<MemoryUse> read_memory(int pid) {
  auto status = read_status(pid);
  if (!status) return tl::unexpected(status.error());
  auto stat = read_stat(pid);
  if (!stat) return tl::unexpected(stat.error());
  return MemoryUse{.rss_anon = status->rss_anon,
                   .rss_file = status->rss_file,
                   .rss_shmem = status->rss_shmem,
                   .swap = status->swap,
                   .page_tables = status->page_tables,
                   .major_faults = stat->major_faults,
                   .minor_faults = stat->minor_faults};
}

}  // namespace fathom::process
