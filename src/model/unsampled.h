// CPU time of which no sample could be taken, by the scheduler's clock. The one answer to "is there no sample because nothing
// ran, or because nothing could be sampled": the end of a recording, its headline, class and JSON all ask here. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/profile.h"

namespace fathom::model {

// Facts of a recording. All are there or none is.
inline constexpr const char* kNotSampledFact = "not_sampled";  // why: "the kernel does not let this user ..."
inline constexpr const char* kNotSampledTryFact = "not_sampled_try";  // what helps
inline constexpr const char* kNotSampledMsFact =
    "not_sampled_cpu_ms";  // CPU time of the processes that it concerns

struct Unsampled {
  double cpu_s = 0;         // not sampled
  double share = 0;         // of the CPU time of what was asked for
  std::string why, remedy;  // empty: unknown
  bool all = false;         // there is not a single sample
};

// What is asked for: a recording, or the part of it that a report selects.
struct SamplingFigures {
  std::optional<double> cpu_s;  // by the scheduler's clock; nothing: unknown
  std::uint64_t samples = 0, lost = 0;
  bool whole = true;  // of all threads and all of the time
};

// Nothing: it was sampled, too little ran to expect a sample, or samples were taken and lost.
std::optional<Unsampled> find_unsampled(const Meta& meta, const SamplingFigures& figures);

// How long threads ran, waited and queued is known: waits were recorded, whether there were any or not.
bool has_thread_times(const Profile& profile);

}  // namespace fathom::model
