#include "linux/memory/memory_sampler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"
#include "base/parse.h"
#include "linux/process/cgroup.h"
#include "linux/process/fields.h"
#include "linux/process/status.h"

namespace fathom::sources {
namespace {

Fd open_file(const std::string& path) {
  return Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

// Each read from the start makes the kernel write files of /proc and cgroups again.
Result<> read_again(const Fd& fd, std::string& text) {
  constexpr std::size_t kMost = 64 * 1024;
  text.resize(kMost);
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::pread(fd.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("reading memory use", errno);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  text.resize(done);
  return {};
}

}  // namespace

std::optional<Pressure> parse_pressure(std::string_view text) {
  Pressure pressure;
  bool found = false;
  std::string_view line;
  while (process::next_line(text, line)) {
    const std::string_view kind = process::next_field(line);
    const std::size_t at = line.find("total=");
    if (at == std::string_view::npos) continue;
    std::string_view rest = line.substr(at + 6);
    const auto total = parse_number(process::next_field(rest));
    if (!total) continue;
    if (kind == "some") pressure.some_us = *total;
    if (kind == "full") pressure.full_us = *total;
    found = found || kind == "some" || kind == "full";
  }
  return found ? std::optional(pressure) : std::nullopt;
}

Refaults parse_refaults(std::string_view text) {
  Refaults refaults;
  std::string_view line;
  while (process::next_line(text, line)) {
    std::string_view name = process::next_field(line);
    // Version 1 has those of the groups below it, too, under this name.
    if (name.starts_with("total_")) name.remove_prefix(6);
    // Before 5.9 there was one count for both.
    if (name == "workingset_refault_file" || name == "workingset_refault")
      refaults.file = parse_number(process::next_field(line));
    if (name == "workingset_refault_anon") refaults.anon = parse_number(process::next_field(line));
  }
  return refaults;
}

std::optional<std::uint64_t> parse_memory_limit(std::string_view text) {
  constexpr std::uint64_t kNoLimit = std::uint64_t{1}
                                     << 60;  // version 1: the largest multiple of a page below 2^63
  std::string_view line;
  process::next_line(text, line);
  const auto limit = parse_number(line);
  return limit && *limit < kNoLimit ? limit : std::nullopt;
}

namespace {

constexpr std::uint32_t kReadsPerStat = 10;

struct Resource {
  std::string_view name, cgroup_some, cgroup_full, system_some, system_full;
};
constexpr Resource kResources[] = {
    {"memory", "cgroup.memory_stall_some", "cgroup.memory_stall_full", "system.memory_stall_some",
     "system.memory_stall_full"},
    {"cpu", "cgroup.cpu_stall_some", "", "system.cpu_stall_some", ""},
    {"io", "cgroup.io_stall_some", "cgroup.io_stall_full", "system.io_stall_some", "system.io_stall_full"},
};

}  // namespace

Result<MemorySampler> MemorySampler::open(int pid) {
  MemorySampler sampler;
  sampler.status_ = open_file(fmt::format("/proc/{}/status", pid));
  if (!sampler.status_) return system_error(fmt::format("/proc/{}/status", pid), errno);
  sampler.stat_ = open_file(fmt::format("/proc/{}/stat", pid));
  if (!sampler.stat_) return system_error(fmt::format("/proc/{}/stat", pid), errno);
  std::string pressure_folder;
  if (auto cgroup = process::read_memory_cgroup(pid); cgroup && *cgroup) {
    const std::string& directory = (*cgroup)->directory;
    const bool version_2 = (*cgroup)->version == 2;
    sampler.cgroup_ = open_file(directory + (version_2 ? "/memory.current" : "/memory.usage_in_bytes"));
    sampler.cgroup_stat_ = open_file(directory + "/memory.stat");
    if (auto text = read_file(directory + (version_2 ? "/memory.max" : "/memory.limit_in_bytes")))
      sampler.limit_bytes_ = parse_memory_limit(*text);
    if (version_2) pressure_folder = directory;
  }
  // Each falls back by itself: a control group may have the controller of one resource and not of another.
  for (const Resource& resource : kResources) {
    Fd of_group = pressure_folder.empty()
                      ? Fd()
                      : open_file(fmt::format("{}/{}.pressure", pressure_folder, resource.name));
    if (of_group) {
      sampler.pressures_.push_back({std::move(of_group), resource.cgroup_some, resource.cgroup_full});
    } else if (Fd of_machine = open_file(fmt::format("/proc/pressure/{}", resource.name)); of_machine) {
      sampler.pressures_.push_back({std::move(of_machine), resource.system_some, resource.system_full});
    }
  }
  return sampler;
}

Result<> MemorySampler::read(std::vector<SeriesValue>& out) {
  if (auto done = read_again(status_, text_); !done) return done;
  const auto status = process::parse_status(text_);
  if (!status) return tl::unexpected(status.error());
  if (auto done = read_again(stat_, text_); !done) return done;
  const auto stat = process::parse_stat(text_);
  if (!stat) return tl::unexpected(stat.error());

  const auto add = [&](std::string_view name, std::string_view unit, std::uint64_t value) {
    out.push_back({name, unit, static_cast<double>(value)});
  };
  // A process that is on its way out has given up its memory: no measurement, rather than a fall to zero.
  if (stat->state != 'Z' && stat->state != 'X') {
    add("memory.rss_anon", "bytes", status->rss_anon);
    add("memory.rss_file", "bytes", status->rss_file);
    add("memory.rss_shmem", "bytes", status->rss_shmem);
    add("memory.swap", "bytes", status->swap);
    add("memory.page_tables", "bytes", status->page_tables);
    add("memory.major_faults", "count", stat->major_faults);
    add("memory.minor_faults", "count", stat->minor_faults);
  }
  // The cgroup may be removed before the process is waited for: the rest goes on without it.
  if (cgroup_ && read_again(cgroup_, text_)) {
    if (const auto use = parse_number(std::string_view(text_).substr(0, text_.find('\n'))))
      add("cgroup.memory", "bytes", *use);
  }
  // The kernel adds up the counters of all CPUs for this file, so it is not read each time.
  if (cgroup_stat_ && reads_++ % kReadsPerStat == 0 && read_again(cgroup_stat_, text_)) {
    const Refaults refaults = parse_refaults(text_);
    if (refaults.file) add("cgroup.refaults_file", "count", *refaults.file);
    if (refaults.anon) add("cgroup.refaults_anon", "count", *refaults.anon);
  }
  for (const PressureFile& of : pressures_) {
    if (!read_again(of.file, text_)) continue;
    const auto pressure = parse_pressure(text_);
    if (!pressure) continue;
    add(of.some, "us", pressure->some_us);
    if (!of.full.empty()) add(of.full, "us", pressure->full_us);
  }
  return {};
}

}  // namespace fathom::sources
