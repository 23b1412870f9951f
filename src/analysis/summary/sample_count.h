// The number of samples against the CPU time that the scheduler booked for the sampled threads: whether some
// are missing. Pure.
//
// A timer that ticks f times a second hits a stretch of t seconds on a CPU f*t times on average, give or take
// one. So the error grows with the number of stretches and not with their length. A virtual machine's timer
// also fires some microseconds late: in stretches as short as that, most hits fall behind the end.
#pragma once

#include <cstdint>
#include <optional>

namespace fathom::analysis {

struct SampleCount {
  double taken = 0;     // received and lost
  double expected = 0;  // CPU time times rate
  double frequency_hz = 0;
  std::optional<std::uint64_t> runs = {};  // how often the threads were put on a CPU
  std::uint64_t ended_threads = 0;
  std::uint32_t cpus = 1;
  double stolen_share = 0;  // of the CPUs' time, by the host of a virtual machine
};

struct SampleCheck {
  enum class Verdict : std::uint8_t {
    kAgrees,     // within the error
    kMore,       // of threads that ended, not all CPU time was booked
    kShortRuns,  // fewer, as the timer comes late: `run_s`
    kStolen,     // fewer, as the machine stood still
    kTooFew,
  };
  Verdict verdict = Verdict::kAgrees;
  double error = 0;  // of `expected`: 95 of 100 counts differ by less, where no sample is missing
  double run_s = 0;  // mean stretch on a CPU; 0 if unknown
  // Samples that are missing, and how many of them the machine's standing still and the late timer explain.
  double missing = 0, stolen = 0, late = 0;
};

SampleCheck check(const SampleCount& count);

}  // namespace fathom::analysis
