// The second axis of a problem: what its memory does, whatever its time goes to. A program that sleeps may leak.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/summary/report.h"

namespace fathom::analysis {

enum class MemoryProblemKind : std::uint8_t {
  kNone,
  kLeak,   // blocks of a function grow and the work does not
  kGrows,  // resident memory grows, for an unknown reason
  kHeld,   // an allocator keeps memory that is in no block
  kChurn,  // allocating and freeing takes much of the CPU time
};

// The report mentions it from this share up.
struct MemoryThresholds {
  double grown = 0.05;  // of what is resident at the end, within the recording
  double held = 0.25;   // of what is resident at the end
  double churn = 0.2;   // of the CPU time
};
inline constexpr MemoryThresholds kMemoryThresholds;

struct MemoryProblem {
  MemoryProblemKind kind = MemoryProblemKind::kNone;
  double per_s = 0;  // kLeak, kGrows: bytes per second by which resident memory grows; 0: not known
  double share = 0;  // kHeld, kChurn
  std::optional<FirstTouch> first_touch{};  // kLeak, kGrows
};

// Whether resident memory grows without its pages of files: a program that maps a file and reads it fills a cache, which the kernel
// can drop. The trend of all of it where the parts are not known; nullopt: nothing is.
std::optional<Trend> find_kept_trend(const Report& report);

// Who touches most of the memory that grows first. nullopt: unknown, or the heap names a function whose blocks grow. It is the better
// answer: such blocks fill gaps, and the function that they keep from them touches new pages.
std::optional<FirstTouch> toucher_of_growth(const Report& report);

// The gravest that holds.
MemoryProblem find_memory_problem(const Report& report);

}  // namespace fathom::analysis
