// Whether functions that are believed to be an allocator's behave so in the running process: which of them are watched, for how long,
// and what that says, in words. The process is only read; what it pays is in breakpoints.h.
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

// What four registers are used for: the calls and returns of one function that gives blocks, of one that frees them, and of one that
// resizes them if there is room.
struct WatchPlan {
  std::vector<WatchedPoint> points;  // with the addresses of the file
  std::vector<std::size_t>
      watched;    // of the entries: what gives, what frees, and what resizes if it is there
  Belief belief;  // all_ends_watched: as far as functions go
};

// Which of the entries.
struct WatchChoice {
  std::size_t gives = 0;
  std::optional<std::size_t> frees{}, resizes{};
};

bool gives_blocks(allocators::nameless::Role role);
bool frees_blocks(allocators::nameless::Role role);
bool resizes_blocks(allocators::nameless::Role role);

// Of each kind the one with the most callers, in doubt the plain one, of those that can be watched and are none of `quiet`. kUnsupported: none gives, or none
// frees; why.
Result<WatchChoice> choose_to_watch(const elf::ElfFile& file, std::span<const BelievedEntry> entries,
                                    std::span<const std::size_t> quiet = {});
// kUnsupported: where what gives returns is not known.
Result<WatchPlan> plan_watch(const elf::ElfFile& file, std::span<const BelievedEntry> entries,
                             const WatchChoice& choice);

struct Confirmation {
  Verdict verdict;
  std::string functions;          // "malloc, sdallocx and realloc"
  std::vector<bool> met;          // as the entries: it was called
  std::uint64_t hits = 0;         // that the process paid for
  std::uint64_t duration_ns = 0;  // that it was watched for
  std::size_t threads = 0;
};

// `bias`: of the file in the process. kUnsupported: it cannot be watched, why.
Result<Confirmation> confirm(int pid, std::uint64_t bias, std::span<const BelievedEntry> entries,
                             const WatchPlan& plan, const WatchLimits& limits);

// "seen at work in the process (malloc, sdallocx and realloc; 300 hits of breakpoints in 4 ms, 5 threads): 93 blocks given, ...".
std::string describe(const Confirmation& confirmation);

}  // namespace fathom::inject
