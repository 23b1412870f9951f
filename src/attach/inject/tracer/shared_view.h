// Reads the head in a target's shared memory, as a killed profiler may have left it. The target can write to
// it at any moment, so all readers use this code: it copies the head once into our own memory, checks every
// count, length, kind, offset and size in the copy, and then only uses the copy.
//
// A head that passes is well formed, but may still be false: before anything is restored or unmapped, the
// modules' files and /proc/PID/maps must confirm it (restoration.h, own_places.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attach/inject/stop/remote_memory.h"
#include "base/abi/heap_tracer.h"
#include "base/result.h"
#include "linux/process/maps.h"

namespace fathom::inject {

// The name of the shared memory, as the target's /proc/PID/maps shows it.
inline constexpr std::string_view kSharedName = "fathom-heap";
inline constexpr std::string_view kSharedPath = "/memfd:fathom-heap";

struct SharedView {
  std::int32_t profiler_pid = 0;  // in the profiler's pid namespace
  std::uint64_t profiler_start = 0;
  std::vector<tracer_own_mapping> own;
  std::vector<tracer_journal_entry> journal;  // changes that are in place
};

// The shared memories of tracers in a process, from its maps: one, unless another program uses the name.
std::vector<process::MapEntry> find_shared(std::span<const process::MapEntry> maps);
// kMalformed: it is damaged, and the message says where. kUnsupported: another version of fathom wrote it.
Result<SharedView> read_shared(const RemoteMemory& memory, const process::MapEntry& shared);
// The same for an existing copy. Pure. `mapped_bytes`: of the shared memory.
Result<SharedView> check_head(const tracer_shared& copy, std::uint64_t mapped_bytes);

// The profiler that the head names, if that process is alive and has this very memory mapped: the head alone
// could name any process. nullopt: it is gone. If its maps are not readable, its start time is used instead.
std::optional<int> living_profiler(const SharedView& view, const process::MapEntry& shared);

// The process that has locked this memory (shared_memory.h), as `locks`, the text of /proc/locks, says. The target cannot make it
// look as if there were none. nullopt: there is none, or it is in another pid namespace.
std::optional<int> locking_profiler(std::string_view locks, const process::MapEntry& shared);

}  // namespace fathom::inject
