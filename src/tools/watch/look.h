// One reading of a process's memory: the cheap values each time, and the composition when it is due. Stops
// nothing and writes nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/memory/memory_lines.h"
#include "attach/allocators/state/state.h"
#include "base/result.h"
#include "linux/memory/memory_limits.h"
#include "linux/memory/memory_map.h"
#include "linux/memory/memory_reading.h"
#include "linux/memory/memory_sampler.h"
#include "linux/memory/page_cache.h"
#include "linux/memory/smaps_rollup.h"
#include "linux/process/find.h"
#include "linux/process/resource_counts.h"
#include "model/counted_limit.h"
#include "record/session/memory/composition_reading.h"
#include "tools/watch/mappings.h"

namespace fathom::watch {

// Bytes, unless stated otherwise.
struct Figures {
  std::uint64_t rss = 0, anonymous = 0, file = 0, shared = 0, swap = 0, page_tables = 0, rss_peak = 0,
                virtual_size = 0;
  std::uint64_t huge_files = 0;
  std::uint64_t minor_faults = 0, major_faults = 0;  // since the process started
  std::uint64_t user_cpu_ns = 0, system_cpu_ns = 0;  // likewise
  std::uint32_t threads = 0;
};

enum class Way : std::uint8_t { kPageScan, kSmaps, kStatus };
std::string_view to_string(Way way);  // "pagemap_scan", "smaps", "status"

// What the memory consists of, at one moment.
struct Composition {
  Way way = Way::kStatus;  // kStatus: the mappings could not be read, and the lines are three
  std::uint64_t time_ns = 0;
  analysis::MemoryLines lines;
  bool moved = false;                           // RSS was another one after the reading than before
  std::uint64_t zero_bytes = 0;                 // mapped to the page of zeros: no memory, yet page tables
  std::optional<sources::SmapsRollup> sharing;  // at most ten seconds older; nullopt: of a large process
  std::uint64_t took_ns = 0, longest_call_ns = 0;
  std::vector<sources::CachedFile>
      files;  // mapped ones, with what the page cache holds of them; databases first
};

struct Look {
  std::uint64_t time_ns = 0, wall_ns = 0;  // CLOCK_MONOTONIC, CLOCK_REALTIME
  Figures figures;
  std::shared_ptr<const Composition> composition;  // the newest; null: there was none yet
  sources::Limits limits;                          // at most a second old
  std::vector<model::CountedLimit> counted;        // of mappings, descriptors and so on
  std::optional<std::uint64_t> descriptors;        // open ones
  std::optional<process::ChildCounts> children;    // at most a second old, and rarer where it has many
  std::optional<sources::Pressure> pressure;       // since boot
  bool pressure_of_group = false;
};

// Reads the target's data. Tests may pass functions that hang.
struct WaysToRead {
  session::MakeReader records = session::reader_of_processes();
  sources::AskFiles files = sources::ask_files;
};

class Watched {
 public:
  // kNotFound: no such process. What this user may not read is in missing().
  static Result<Watched> open(std::int32_t pid, WaysToRead ways = {});

  // kNotFound: it has ended. `compose`: read the memory composition even if it is not due; else only when it
  // is due: so rarely that it takes half a per cent of a CPU, and more often while it grows.
  Result<Look> look(bool compose);

  // Every mapping, ascending by address. For --maps.
  Result<std::vector<WatchedMapping>> mappings();

  const process::ProcessInfo& process() const { return process_; }
  const std::vector<std::string>& missing() const { return missing_; }

 private:
  Watched() = default;
  Result<Figures> read_figures();
  Result<sources::MemoryReading> read_mappings(bool by_smaps, std::uint64_t& beside_ns);
  allocators::AllocatorStates read_held(const sources::MemoryReading& reading);
  std::vector<sources::CachedFile> read_files(std::span<const sources::MemoryMapping> mappings);
  void follow_exec();
  Composition compose(const Figures& before);
  void miss(std::string what);

  process::ProcessInfo process_;
  Fd status_, stat_, pressure_;
  bool pressure_of_group_ = false;
  std::shared_ptr<const Composition> composition_;
  std::uint64_t due_ns_ = 0, grown_due_ns_ = 0;
  sources::Limits limits_;
  std::uint64_t limits_ns_ = 0;
  std::vector<model::CountedLimit> counted_;
  std::optional<process::ChildCounts> children_;
  std::uint64_t counted_due_ns_ = 0;
  std::optional<sources::SmapsRollup>
      sharing_;  // read every ten seconds: a thread that maps memory waits for it
  std::uint64_t sharing_due_ns_ = 0;
  std::vector<std::string> missing_;
  WaysToRead ways_;
  bool held_hangs_ = false, files_hang_ = false;  // it is not waited for again
};

// Three lines, as in status: for users who may not see more. Pure.
analysis::MemoryLines lines_of_status(const Figures& figures);

}  // namespace fathom::watch
