// Who or what ended a recorded program. Pure: decides from the reports of the parent, the control group and
// the kernel's log.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tools/oom/records.h"

namespace fathom::flight {

// The counters of control groups for OOM kills. Version 2 only.
enum class CountedCause : std::uint8_t { kNotKnown, kLimit, kMachine };

enum class Verdict : std::uint8_t {
  kGroupLimit,     // the kernel, at the limit of a control group
  kMachine,        // the kernel, as the machine (or its cpuset) had no memory left
  kWantOfMemory,   // the kernel, out of memory; whose limit it was is unknown
  kAskedFor,       // the kernel's OOM killer, called by hand (SysRq)
  kSomebodysKill,  // SIGKILL, and the kernel did not do it
  kKill,           // SIGKILL; the sender is unknown
  kCrash,          // a signal of an error of its own
  kSignal,         // any other signal
};
std::string_view to_string(Verdict verdict);  // "group-limit" ...: for JSON

struct EndFacts {
  int signal = 0;                                // that ended it; 0: not known
  bool group_counted = false;                    // its control group counted an OOM kill meanwhile
  CountedCause cause = CountedCause::kNotKnown;  // of that kill
  bool group_watched = true;                     // else that counter was not read
  bool log_read = false;                         // the kernel's log of that time was read, to its end
  // The kernel's record about this process; null: there is none. Outlives the call only.
  const oom::Record* record = nullptr;
  // The record names another process of its group as the victim.
  bool record_is_of_another = false;
};

// nullopt: it exited normally, is still running, or no signal is known to have ended it.
std::optional<Verdict> judge(const EndFacts& facts);

}  // namespace fathom::flight
