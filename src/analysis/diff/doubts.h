// Reasons not to compare two recordings: another program, another rate, losses ... fathom compares them
// anyway and prints the doubt first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/profile.h"

namespace fathom::analysis {

enum class DoubtKind : std::uint8_t {
  kProgram,    // different executables
  kCompilers,  // different compilers, or versions of them, made the executables
  kRate,       // different sampling rates
  kEngine,     // different sampling methods
  kEvent,      // different events were counted
  kHost,       // different machines, or different numbers of CPUs
  kLosses,     // one side lost more than 1 % of its events
  kStolen,     // the hypervisor took more than 5 % of the CPU time
  kBusy,       // threads of one side waited for a CPU for much of the time when they could run
  kDuration,   // one side took more than twice as long
  kTruncated,  // the recording ended without its last block
  kFailed,     // the programs ended differently
  kUnsampled,  // one side has CPU time and not a single sample of it: its functions are unknown, and not 0
  kUnmeasured,  // a metric that one side has was not measured on the other; base and fresh: what is missing there
};

// The program used CPU time that could not be sampled at all.
bool is_unsampled(const model::Profile& profile);

// Of the time when threads could run, the share they waited for a CPU; 0 if unknown. Such a recording also
// reflects the other programs on the machine: its use per second is what they left over.
double cpu_wait_share(const model::Profile& profile);
inline constexpr double kBusyMachine = 0.1;

// The share of all CPU time of the machine that other programs used; 0 if unknown.
double others_share(const model::Profile& profile);

// The machine that recorded it, and its number of CPUs; empty if unknown.
std::string host_of(const model::Profile& profile);

struct Doubt {
  DoubtKind kind;
  std::string base, fresh;  // the values of both sides, for quoting
};

// Between two recordings, in the order of the enum; none between a recording and itself.
std::vector<Doubt> doubts_between(const model::Profile& base, const model::Profile& fresh);

}  // namespace fathom::analysis
