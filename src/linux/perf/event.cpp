#include "linux/perf/event.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include "base/files.h"
#include "base/parse.h"
#include "linux/process/fields.h"
#include "linux/process/status.h"

namespace fathom::sources {
namespace {

std::string setting(const char* name) {
  auto text = read_file(fmt::format("/proc/sys/kernel/{}", name));
  return text ? text->substr(0, text->find('\n')) : "?";
}

std::string remedy_for(int error_number) {
  switch (error_number) {
    case EACCES:
    case EPERM:
      return remedy_for_rights(true);
    case EMFILE:
      return "raise the limit of open files: ulimit -n 65536";
    case EINVAL:
      return fmt::format(
          "a lower frequency: the kernel allows at most {} Hz (kernel.perf_event_max_sample_rate)",
          setting("perf_event_max_sample_rate"));
    default:
      return {};
  }
}

bool is_strict(const std::string& paranoid) {
  return parse_number<int>(paranoid).value_or(0) > 2;
}

}  // namespace

std::string remedy_for_rights(bool own, const Rights& rights) {
  const bool strict = is_strict(rights.paranoid);
  const char* capabilities = strict ? "--cap-add SYS_ADMIN --cap-add SYS_PTRACE"
                                    : "--cap-add BPF --cap-add PERFMON --cap-add SYS_PTRACE";
  if (rights.filtered)
    return fmt::format(
        "run fathom outside of the container, or start that with --security-opt seccomp=unconfined {}",
        capabilities);
  if (rights.root) return fmt::format("start the container with {}", capabilities);
  if (own && strict)
    return fmt::format(
        "run as root; or allow your own processes (kernel.perf_event_paranoid is {}): sudo fathom allow, for a while, or sudo sysctl kernel.perf_event_paranoid=2",
        rights.paranoid);
  if (own)
    return fmt::format(
        "run as root, or lower kernel.perf_event_paranoid (now {}): sysctl kernel.perf_event_paranoid=2 allows your own processes, 1 their kernel side too, -1 everything",
        rights.paranoid);
  const char* setcap = "sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep fathom";
  if (!strict) return fmt::format("run as root, or give fathom the capabilities: {}", setcap);
  return fmt::format("run as root, or: sudo sysctl kernel.perf_event_paranoid=2 (it is {}) && {}",
                     rights.paranoid, setcap);
}

std::string remedy_for_rights(bool own) {
  const auto status = process::read_status(::getpid());
  return remedy_for_rights(own, {.root = ::geteuid() == 0,
                                 .filtered = status && status->seccomp == 2,
                                 .paranoid = setting("perf_event_paranoid")});
}

perf_event_attr base_attributes() {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  attributes.sample_id_all = 1;
  attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
  return attributes;
}

Result<Fd> open_event(const perf_event_attr& attributes, int pid, int cpu, std::string_view what) {
  perf_event_attr copy = attributes;  // on E2BIG the kernel writes its own size into it
  const long fd = ::syscall(SYS_perf_event_open, &copy, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd >= 0) return Fd(static_cast<int>(fd));
  return tl::unexpected(open_event_error(attributes, what, errno));
}

Error open_event_error(const perf_event_attr& attributes, std::string_view what, int error_number) {
  // Most virtual machines pass no counters on.
  const bool no_such =
      error_number == ENOENT || error_number == ENODEV || error_number == ENXIO || error_number == EOPNOTSUPP;
  if (attributes.type == PERF_TYPE_HARDWARE && no_such)
    return {ErrorKind::kUnsupported,
            fmt::format("this machine has no hardware counter for {} (perf_event_open: {})", what,
                        std::strerror(error_number)),
            "fathom record without -e: the default, cpu-clock, samples CPU time without a counter"};
  Error error = system_error(fmt::format("perf_event_open ({})", what), error_number).value();
  error.remedy = remedy_for(error_number);
  return error;
}

Result<> redirect_output(int fd, int output_fd) {
  if (::ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, output_fd) != 0)
    return system_error("PERF_EVENT_IOC_SET_OUTPUT", errno);
  return {};
}

std::vector<int> parse_cpu_list(std::string_view text) {
  constexpr int kMaxCpus = 1 << 16;
  std::vector<int> cpus;
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  while (!text.empty()) {
    const std::string_view range = take_until(text, ',');
    const std::size_t dash = range.find('-');
    const auto first = parse_number<int>(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_number<int>(range.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMaxCpus) return {};
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::vector<int> online_cpus() {
  std::vector<int> cpus;
  if (auto text = read_file("/sys/devices/system/cpu/online")) cpus = parse_cpu_list(*text);
  if (cpus.empty()) {
    const long count = ::sysconf(_SC_NPROCESSORS_ONLN);
    for (int cpu = 0; cpu < std::max(count, 1L); ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace fathom::sources
