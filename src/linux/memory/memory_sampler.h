// The cheap numbers about a process's memory, read a few times a second: 15 us of CPU each time, and nothing
// that walks page tables (smaps stalls a process of 100 GB for seconds). Source: proc(5), cgroups(7), the
// kernel's accounting/psi.rst.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::sources {

// A value of one of the series below. Name and unit live as long as the program.
struct SeriesValue {
  std::string_view name;
  std::string_view unit;  // "bytes", "count", "us"
  double value = 0;
  bool operator==(const SeriesValue&) const = default;
};

// The total time that tasks stalled on one resource, since boot.
struct Pressure {
  std::uint64_t some_us = 0, full_us = 0;  // at least one task; all tasks at once
  bool operator==(const Pressure&) const = default;
};
std::optional<Pressure> parse_pressure(std::string_view text);

// Pages of a control group that were needed again soon after they had been reclaimed, since it was made: too little memory for what is in
// use. From memory.stat of either version; nothing where the kernel does not count them.
struct Refaults {
  std::optional<std::uint64_t> file, anon;
  bool operator==(const Refaults&) const = default;
};
Refaults parse_refaults(std::string_view text);

// "max", and the huge number that version 1 has in its place, are no limit.
std::optional<std::uint64_t> parse_memory_limit(std::string_view text);

class MemorySampler {
 public:
  // Opens the files and keeps them open, so that a later process with the same number is never taken for this
  // one. The cgroup's and pressure files are optional; without them there are fewer series.
  static Result<MemorySampler> open(int pid);

  // Appends what can be read now:
  //   memory.rss_anon, memory.rss_file, memory.rss_shmem, memory.swap, memory.page_tables   bytes
  //   memory.major_faults, memory.minor_faults                                             count, since its
  //   start cgroup.memory                                                                        bytes
  //   cgroup.refaults_file, cgroup.refaults_anon (5.9 and newer)                           count, with the first of ten reads
  //   cgroup.memory_stall_some, cgroup.memory_stall_full (version 2), or else
  //   system.memory_stall_some, system.memory_stall_full                                   us, since boot
  //   likewise cpu_stall_some, io_stall_some, io_stall_full
  // kNotFound: the process has ended.
  Result<> read(std::vector<SeriesValue>& out);

  std::optional<std::uint64_t> cgroup_limit_bytes() const { return limit_bytes_; }

 private:
  MemorySampler() = default;
  // One of the files of accounting/psi.rst, and what its series are called.
  struct PressureFile {
    Fd file;
    std::string_view some, full;  // full is empty where it means nothing: of the CPU of a machine it is 0
  };
  Fd status_, stat_, cgroup_, cgroup_stat_;
  std::vector<PressureFile> pressures_;
  std::optional<std::uint64_t> limit_bytes_;
  std::string text_;
  std::uint32_t reads_ = 0;
};

}  // namespace fathom::sources
