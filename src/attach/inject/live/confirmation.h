// Checks in the running process whether assumed allocator functions behave as such: which ones to watch, for
// how long, and the result in words. Only reads the process; breakpoints.h describes the cost.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attach/allocators/nameless/candidate.h"
#include "attach/inject/live/breakpoints.h"
#include "attach/inject/live/judge.h"
#include "base/result.h"
#include "binary/elf/elf_file.h"

namespace fathom::inject {

struct BelievedEntry {
  allocators::nameless::Role role;
  ElfAddress address;
  std::uint64_t size = 0;     // bytes
  std::uint64_t callers = 0;  // places that call it
};

// Uses of the four registers: calls and returns of one function that allocates, calls of one that frees, and
// of one that resizes if a register is left.
struct WatchPlan {
  std::vector<WatchedPoint> points;  // with ELF addresses
  std::vector<std::size_t>
      watched;    // of the entries: the one that allocates, the one that frees, and the one that resizes, if
                  // any
  Belief belief;  // all_ends_watched: as far as the choice of functions allows
};

// Indexes into the entries.
struct WatchChoice {
  std::size_t gives = 0;
  std::optional<std::size_t> frees{}, resizes{};
};

bool gives_blocks(allocators::nameless::Role role);
bool frees_blocks(allocators::nameless::Role role);
bool resizes_blocks(allocators::nameless::Role role);

// For each kind, the entry with the most callers, preferring the plain one, among those that can be watched
// and are not in `quiet`. kUnsupported, with the reason: none allocates, or none frees.
Result<WatchChoice> choose_to_watch(const elf::ElfFile& file, std::span<const BelievedEntry> entries,
                                    std::span<const std::size_t> quiet = {});
// kUnsupported: the return instruction of the allocating function is unknown.
Result<WatchPlan> plan_watch(const elf::ElfFile& file, std::span<const BelievedEntry> entries,
                             const WatchChoice& choice);

struct Confirmation {
  Verdict verdict;
  std::string functions;          // "malloc, sdallocx and realloc"
  std::vector<bool> met;          // by entry: it was called
  std::uint64_t hits = 0;         // hits that the process paid for
  std::uint64_t duration_ns = 0;  // time that it was watched
  std::size_t threads = 0;
};

// `bias`: of the file in the process. kUnsupported, with the reason: it cannot be watched.
Result<Confirmation> confirm(int pid, std::uint64_t bias, std::span<const BelievedEntry> entries,
                             const WatchPlan& plan, const WatchLimits& limits);

// "seen at work in the process (malloc, sdallocx and realloc; 300 hits of breakpoints in 4 ms, 5 threads): 93 blocks given, ...".
std::string describe(const Confirmation& confirmation);

}  // namespace fathom::inject
