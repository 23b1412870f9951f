// Blocks that were allocated and never freed, grouped by stack as in sanitizers. Whether something still
// points to a block is unknown: reading a running program's memory for that takes seconds, and a server's
// leak is as often a container that never shrinks. Data and sentences, written as text and JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/core/ending.h"
#include "analysis/core/heap.h"
#include "analysis/core/heap_losses.h"
#include "analysis/core/unseen_allocators.h"
#include "analysis/heap/suppressions.h"

namespace fathom::analysis {

struct LeakOptions {
  Selection selection = {};  // pid and thread; blocks of the whole recording, whatever its window
  std::vector<Suppression> suppressions = {};
  double min_bytes = 0, min_blocks = 0;  // of a group
  double older_s = 0;                    // only blocks that have lived longer
  bool mappings = false;                 // also what the program mapped without an allocator
};

struct LeakFrame {
  std::string function;    // "[module+0x10]" without a name
  std::string module;      // short
  std::string file;        // empty if unknown
  std::uint32_t line = 0;  // 0 if unknown
  auto operator<=>(const LeakFrame&) const = default;
};

// All blocks whose stacks read alike.
struct LeakGroup {
  std::vector<LeakFrame> frames;  // innermost first, without the allocator's own; empty: no stack
  HeapAmounts amounts;
  // The blocks have lived longer than the first and less than the second; ages are kept in powers of two ns.
  // Not there where the recording has no ages.
  std::optional<double> youngest_s, oldest_s;
  std::uint64_t sites = 0;
  std::vector<std::string> threads;  // names of those that allocated them, sorted
};

struct SuppressionUse {
  const Suppression* suppression = nullptr;  // in LeakReport::suppressions
  HeapAmounts taken;
  std::uint64_t sites = 0;
};

// How reliable the groups are. Lost events may have been frees of blocks that look leaked, and nothing is
// known about an untraced allocator.
enum class LeakAnswer : std::uint8_t {
  kNothing,   // there is no group, and no allocator that was not traced
  kLeft,      // something is left, whatever was lost
  kNotKnown,  // lost or unseen frees may have freed all that looks left, or what is left was not seen
};
// "nothing", "left", "not known": for JSON.
std::string_view to_string(LeakAnswer answer);

struct LeakReport {
  std::string target;
  bool ended = false;    // every traced process ended inside of the recording: what is left was never freed
  bool of_dump = false;  // a heap dump of the program itself
  bool from_start = false;  // blocks from before are not in it otherwise
  bool sampled = false;
  bool no_ages = false;  // the recorder was killed before it could write them
  std::uint64_t mean_bytes = 0;
  double duration_s = 0;
  // total = shown + suppressed + small + young, each with what it stands for; mappings come on top.
  HeapAmounts total, shown, suppressed, small, young, mappings;
  double asked_older_s = 0;
  double older_s = 0;  // what that came to: the next power of two ns below
  LeakAnswer answer = LeakAnswer::kNothing;
  // Of the blocks in the groups at least so many are left for sure. Where nothing was lost that is all of
  // them.
  double sure_blocks = 0;
  HeapLosses losses;
  // fathom missed some frees, of unknown blocks, although it lost no event.
  bool frees_unseen = false, partly_hooked = false;
  std::vector<LeakGroup> groups;  // most bytes first
  std::vector<Suppression> suppressions;
  std::vector<SuppressionUse> uses;  // those that took something, most bytes first
  HeapDropped dropped;
  std::vector<std::string> traced;      // allocators
  std::vector<UnseenAllocator> unseen;  // of whose blocks nothing is known
  // If all of them ended alike: how is unknown, or by a signal, so they had no chance to free their blocks.
  bool end_not_known = false;
  std::optional<int> ended_by_signal;
  std::vector<Ending>
      stopped_short;            // of several, that did not end alike: those that did not end by themselves
  bool truncated = false;       // the recorder was killed, or
  bool still_recorded = false;  // it has not ended yet
  bool empty() const { return groups.empty(); }
};

// kNotFound if the heap was not traced; kUnsupported if ages are requested but were not recorded.
Result<LeakReport> find_leaks(const model::Profile& profile, const LeakOptions& options);

}  // namespace fathom::analysis
