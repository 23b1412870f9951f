// One reading of a process's memory composition, concurrent with the recording: its pages, then the records
// of its allocators. The target can slow down both: it may have a terabyte, change its records while they are
// read, or handle the next page's fault itself (userfaultfd), which blocks a reader forever. So a separate
// thread reads, and the recording continues without readings that do not return.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "attach/allocators/state/present_memory.h"
#include "attach/allocators/state/state.h"
#include "base/abandonable.h"
#include "base/result.h"
#include "linux/memory/memory_reading.h"
#include "linux/memory/page_cache.h"
#include "model/free_before.h"
#include "record/session/memory/memory_composition.h"

namespace fathom::session {

// The memory of a process for the readers of allocators. A test may hand in one that hangs.
using MakeReader = std::function<std::unique_ptr<allocators::MemoryReader>(std::int32_t pid)>;
MakeReader reader_of_processes();

// The records of the allocators, within their limits. `present`: the pages that are in memory.
struct HeldInTime {
  std::optional<allocators::AllocatorStates> states;
  // No states: the thread did not come back in time, and is given up; else it was not begun, as too many are gone already.
  bool hangs = false;
};
HeldInTime read_held_in_time(std::int32_t pid, std::vector<process::MapEntry> maps,
                             allocators::AddressRanges present, const MakeReader& make_reader);

// What the page cache holds of mapped databases. A file system may not answer, here too.
using AskDatabases = std::function<std::vector<sources::CachedFile>(
    std::int32_t pid, std::span<const sources::MemoryMapping> mappings)>;
std::vector<sources::CachedFile> ask_databases(std::int32_t pid,
                                               std::span<const sources::MemoryMapping> mappings);
std::vector<sources::CachedFile> ask_no_database(std::int32_t pid,
                                                 std::span<const sources::MemoryMapping> mappings);

struct CompositionOptions {
  bool by_smaps = false;
  // Of a process whose blocks are recorded: only the mappings and pages, as the blocks are added by the recording.
  bool traced = false;
  bool free_before = false;     // of such a process, also what its allocators keep free
  std::uint64_t budget_ns = 0;  // of the pages alone; no further call is begun after it
  sources::AskFiles ask_files = sources::ask_files;
  AskDatabases ask_databases = session::ask_databases;
};

class CompositionReading {
 public:
  // What was read; not `traced`: put together already.
  struct Outcome {
    Result<> read;  // kNotFound: the process is gone
    sources::ReadingWay way = sources::ReadingWay::kPageScan;
    bool whole = false;
    std::vector<sources::JudgedMapping> mappings;  // traced
    sources::ResidentPages pages;                  // traced
    std::optional<MemoryComposition> composition;  // not traced
    std::optional<model::FreeBefore> free_before;  // traced; nullopt: not asked for, or not read in time
    bool held_cut = false;                         // not all records of the allocators were read
    std::vector<sources::CachedFile> databases;    // mapped ones, with what the page cache holds of them
    std::uint64_t took_ns = 0, longest_ns = 0;     // of the pages: by the clock; one call
    std::uint64_t cpu_ns = 0;                      // of the thread
  };

  // nullopt: too many readings hang already.
  static std::optional<CompositionReading> start(std::int32_t pid, std::uint64_t time_ns,
                                                 const CompositionOptions& options,
                                                 const MakeReader& make_reader);

  std::uint64_t time_ns() const { return time_ns_; }
  bool wait_until(std::uint64_t until_ns) { return work_.wait_until(until_ns); }  // true: it is over
  Outcome take();                                                                 // once it is over
  // The composition by the map and the pages alone, as soon as these are read, and since when; null: they are not, or
  // the process is traced. For a reading that hangs behind it.
  std::pair<std::shared_ptr<const MemoryComposition>, std::uint64_t> without_records() const;
  // Since when it waits for a file behind a mapping; 0: it does not.
  std::uint64_t waits_for_file_since() const;

 private:
  struct Plain {
    std::mutex mutex;
    std::shared_ptr<const MemoryComposition> composition;
    std::uint64_t since_ns = 0, files_since_ns = 0;
  };
  CompositionReading(Abandonable<Outcome> work, std::shared_ptr<Plain> plain, std::uint64_t time_ns)
      : work_(std::move(work)), plain_(std::move(plain)), time_ns_(time_ns) {}
  static Outcome read(std::int32_t pid, const CompositionOptions& options, const MakeReader& make_reader,
                      Plain& plain);

  Abandonable<Outcome> work_;
  std::shared_ptr<Plain> plain_;
  std::uint64_t time_ns_;
};

// From the end of the pages on: what the readers of allocators may take, and when they count as hanging.
inline constexpr std::uint64_t kHeldNs = 1'000'000'000, kHeldHangsNs = 2'000'000'000;
// The time after which a file behind a mapping counts as unresponsive.
inline constexpr std::uint64_t kFilesHangNs = 2'000'000'000;

}  // namespace fathom::session
