// Why two recordings should not be compared: other program, other rate, losses ... They are compared all the same, and the
// doubt is said first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/profile.h"

namespace fathom::analysis {

enum class DoubtKind : std::uint8_t {
  kProgram,    // other executables
  kRate,       // other sampling rates
  kEngine,     // other ways to take samples
  kEvent,      // other events are counted
  kHost,       // other machines, or other numbers of CPUs
  kLosses,     // one side lost more than one event in a hundred
  kStolen,     // the host of a virtual machine took more than one part in twenty
  kBusy,       // threads of one side waited for a CPU for much of the time in which they could run
  kDuration,   // one side took more than twice as long
  kTruncated,  // the recording ended without its last block
  kFailed,     // the programs did not end alike
};

// Of the time in which threads could run, how much they waited for a CPU; 0 where that is not known. Such a recording tells
// of the others on the machine, too: what it used per second is what they left.
double cpu_wait_share(const model::Profile& profile);
inline constexpr double kBusyMachine = 0.1;

// Of the time that all CPUs of its machine had, how much other programs took; 0 where that is not known.
double others_share(const model::Profile& profile);

struct Doubt {
  DoubtKind kind;
  std::string base, fresh;  // what each side is or has, to be quoted
};

// Between two recordings, in the order of the enum; none of a recording and itself.
std::vector<Doubt> doubts_between(const model::Profile& base, const model::Profile& fresh);

}  // namespace fathom::analysis
