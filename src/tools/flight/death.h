// How a recorded program died, and what it held when it did: the verdict first, then what explains it. Facts; their
// sentences are in death_text.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/core/heap.h"
#include "analysis/core/last_place.h"
#include "analysis/memory/memory_lines.h"
#include "model/profile.h"
#include "tools/flight/growth_kind.h"
#include "tools/flight/verdict.h"
#include "tools/oom/records.h"

namespace fathom::flight {

// A function that asked for memory which was live at death.
struct Holder {
  std::string name, module;
  analysis::HeapAmount bytes, blocks;
};

// The task that met the wall: the allocation that no memory was left for, which need not be the one to blame.
struct WallStack {
  std::string thread;                  // "worker (12)"
  std::vector<std::string> functions;  // leaf first
};

// Bytes a second, and the 95 % interval.
struct Rate {
  double per_second = 0, low = 0, high = 0;
  bool grows() const { return low > 0; }
};

struct Death {
  Verdict verdict = Verdict::kSignal;
  int signal = 0;
  std::int32_t pid = 0;
  std::string name;
  // Of a control group: its limit was met. From the kernel's record, else from its files.
  std::string group;
  std::optional<std::uint64_t> limit_bytes;
  std::optional<oom::Record> record;  // the kernel's, about it or its group
  std::string gone_group;             // its control group, gone before its kills were counted
  bool log_unread = false;  // this user may not read the kernel's log, or its numbers of processes are others

  // The heap, to the last event before death. Empty: it was not traced.
  std::vector<Holder> holders;  // most bytes first
  std::optional<analysis::HeapAmounts> live;
  bool sampled = false;
  std::uint64_t lost_events = 0;

  // What its memory consisted of at the last look before it fell apart, and how long before the end that was.
  std::optional<analysis::MemoryLines> lines;
  double lines_before_s = 0;
  // The last of the cheap readings: resident bytes and how long before the end.
  std::optional<double> last_rss;
  double last_rss_before_s = 0;

  double window_s = 0;        // over which growth was looked at
  std::optional<Rate> slope;  // of anonymous memory
  GrowthFacts facts;
  GrowthVerdict growth;
  Headroom headroom;
  // Of a crash: the signal with its stack, and what the stack shows.
  std::optional<model::FatalSignal> fatal;
  analysis::LastPlace place;
  std::optional<WallStack> wall;
  std::string wall_unseen;         // of a flight recording without one: why
  std::vector<std::string> marks;  // what the flight recorder noted on the way, in words, oldest first
};

// nullopt: it exited normally, is still running, or its end is unknown. The file is untrusted: facts that
// make no sense are left out.
std::optional<Death> death_of(const model::Profile& profile);

// Names of facts.
inline constexpr const char* kKernelRecordFact = "kernel_record";  // lines of the kernel's log
inline constexpr const char* kKernelLogFact =
    "kernel_log";  // "read", "unreadable", "other-numbers" (pid namespace), or "overwritten" before it was read
inline constexpr const char* kWallStackFact = "wall_stack";    // "thread (tid)", then functions, a line each
inline constexpr const char* kWallUnseenFact = "wall_unseen";  // why there is none, in words
inline constexpr const char* kMarksFact = "flight_marks";      // a line each
inline constexpr const char* kHoldsFact =
    "flight_holds";  // how often the target was held for a look, and how long
inline constexpr const char* kEarlierMarksFact = "flight_earlier_marks";  // how many were dropped before them

}  // namespace fathom::flight
