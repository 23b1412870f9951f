// What became of a command under its limit, and what that means. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/limit/memory_group.h"
#include "tools/oom/records.h"

namespace fathom::limit {

enum class Verdict : std::uint8_t {
  kPassed,       // it ended with 0, within the limit and without swap
  kSwapped,      // it ended with 0, but only as some of it was swapped out
  kDied,         // the OOM killer killed it, or one of its processes
  kFailed,       // it ended by itself, not with 0
  kKilled,       // a signal ended it that the limit has nothing to do with
  kInterrupted,  // the user ended it
};

// A function that asked for memory which was live at the end.
struct Holder {
  std::string name, module;
  double bytes = 0;
  double error_bytes = 0;  // half of the 95 % interval; 0 where every call was seen
};

struct Outcome {
  Limits limits;
  int version = 0;
  std::string group;          // as the kernel's records name it
  int pid = 0;                // of the command
  std::optional<int> status;  // as a shell has it; nullopt: it did not end before we ended it
  int signal = 0;             // that ended it
  bool interrupted = false;
  GroupState state;                 // at the end
  std::uint64_t swapped_bytes = 0;  // the most that was seen in swap
  std::uint64_t sampled_peak_bytes = 0;
  std::optional<Pressure>
      machine_pressure;  // while it ran, of all processes, where the group has none of its own
  double seconds = 0;
  std::size_t left_behind = 0;       // processes that still ran when the command had ended
  std::vector<oom::Record> records;  // of the kernel, about this group
  bool log_unreadable = false;
  std::uint64_t held = 0;  // times that it stood at the wall
  std::string recording;   // of its heap; empty: none
  std::vector<Holder> holders;
  std::optional<std::uint64_t> limit_above;  // a lower limit of a group above
};

Verdict judge(const Outcome& outcome);
const char* word_of(Verdict verdict);
// "passed", "passed, but swapped 103 MiB", "killed by the kernel at its limit of 200 MiB" ...
std::string describe(const Outcome& outcome);

// The most that was used at a time: the kernel's own peak, or the largest value that was read.
std::uint64_t peak_of(const Outcome& outcome);
std::optional<std::uint64_t> peak_with_swap_of(const Outcome& outcome);

// Those of `records` that are about this group or one below it. Of more than ten kills in five seconds the kernel prints one
// line alone, without the group: then a process of `pids` has to be the victim.
std::vector<oom::Record> about(std::vector<oom::Record> records, const std::string& group,
                               const std::set<int>& pids);

std::string to_text(const Outcome& outcome, std::size_t width);
std::string to_json(const Outcome& outcome);

// Exit status of fathom limit.
int exit_status(Verdict verdict);

}  // namespace fathom::limit
