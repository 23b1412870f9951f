// Names of code made at run time, written by the program itself. Source:
// tools/perf/Documentation/jit-interface.txt, "START SIZE name" with hexadecimal numbers. The file belongs to
// the target and may say anything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/fd.h"
#include "base/result.h"

namespace fathom::process {

struct PerfMapEntry {
  ProcessAddress start;
  std::uint64_t size = 0;
  std::string name;
  bool operator==(const PerfMapEntry&) const = default;
};

// Sorted and without overlaps. The file grows at its end, so of two entries that overlap the later one is
// true: the code of the earlier was freed and its memory used again, and the earlier goes as a whole. Lines
// that do not parse are left out; so is a last line without newline, which is still being written.
std::vector<PerfMapEntry> parse_perf_map(std::string_view text);

// The map, or the jit dump, of a running process, resolved in its own /tmp and with its own pid. Read only if
// it is a regular file owned by root or by the owner of the process: anyone may create files in /tmp.
Result<std::vector<PerfMapEntry>> read_perf_map(int pid);
// The same in two steps, so that one process can open the map and another one read it. `path` is for
// messages.
Result<Fd> open_perf_map(int pid);
Result<std::vector<PerfMapEntry>> read_perf_map(const Fd& file, const std::string& path);
// "/proc/PID/root/tmp/perf-NSPID.map", existing or not; where it does not exist and the process has mapped a jit dump
// (jit_dump.h), that.
std::string perf_map_path(int pid);

}  // namespace fathom::process
