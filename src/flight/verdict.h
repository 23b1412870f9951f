// Who or what ended a recorded program. Pure: from what the parent, the control group and the kernel's log told.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "oom/records.h"

namespace fathom::flight {

// What the counters of control groups say of a kill for want of memory. Version 2 alone tells it.
enum class CountedCause : std::uint8_t { kNotKnown, kLimit, kMachine };

enum class Verdict : std::uint8_t {
  kGroupLimit,     // the kernel, at the limit of a control group
  kMachine,        // the kernel, as the machine (or its cpuset) had no memory left
  kWantOfMemory,   // the kernel, for want of memory; whose limit it was nobody told
  kAskedFor,       // the kernel's OOM killer, called by hand (SysRq)
  kSomebodysKill,  // SIGKILL, and the kernel did not do it
  kKill,           // SIGKILL; by whom is not known
  kCrash,          // a signal of an error of its own
  kSignal,         // any other signal
};
std::string_view to_string(Verdict verdict);  // "group-limit" ...: for JSON

struct EndFacts {
  int signal = 0;              // that ended it; 0: not known
  bool group_counted = false;  // its control group counted a kill for want of memory meanwhile
  CountedCause cause = CountedCause::kNotKnown;  // of that kill
  bool group_watched = true;                     // else nobody looked at that counter
  bool log_read = false;                         // the kernel's log of that time was read, to its end
  // The kernel's record about this process; null: there is none. Outlives the call only.
  const oom::Record* record = nullptr;
  // The record names another process of its group as the victim.
  bool record_is_of_another = false;
};

// nullopt: it ended by itself, runs on, or nobody knows that a signal ended it.
std::optional<Verdict> judge(const EndFacts& facts);

}  // namespace fathom::flight
