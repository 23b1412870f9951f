// The memory map of a process. Source: proc(5), /proc/PID/maps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/result.h"

namespace fathom::process {

// One range of a process's memory. `path` is what the kernel prints, as the target sees it, without
// " (deleted)": a file, "[vdso]", "[heap]", "[stack]", "[anon:name]", "/memfd:name", "/SYSV00000000",
// "anon_inode:..." or nothing at all.
struct MapEntry {
  ProcessAddress start, end;  // `end` is the first address after it
  bool readable = false, writable = false, executable = false, shared = false;
  FileOffset offset;
  std::uint32_t device_major = 0, device_minor = 0;
  std::uint64_t inode = 0;  // 0: no file behind it
  std::string path;
  // The file is gone under this name (replaced by an upgrade, or a memfd): open it through map_files, never
  // by path.
  bool deleted = false;

  bool is_file() const { return inode != 0 && !path.empty(); }
  std::uint64_t size() const { return end.value - start.value; }
  auto operator<=>(const MapEntry&) const = default;
};

// In the order of the text, which is ascending. One bad line refuses the text: its author is the kernel, and
// guessing on would give frames to the wrong file. Newlines in paths arrive as "\012" and are turned back.
Result<std::vector<MapEntry>> parse_maps(std::string_view text);

// kNotFound: no such process. kPermission: needs ptrace access. A process that has exited but was not waited
// for, and a kernel thread, have no mappings: an empty list, no error.
Result<std::vector<MapEntry>> read_maps(int pid);

// How to open the file behind `entry`, whatever became of its name: needs CAP_SYS_ADMIN or
// CAP_CHECKPOINT_RESTORE.
std::string map_files_path(int pid, const MapEntry& entry);

// Splits " (deleted)" off a path as the kernel prints it, in maps and in perf's mapping records alike.
bool strip_deleted(std::string& path);

}  // namespace fathom::process
