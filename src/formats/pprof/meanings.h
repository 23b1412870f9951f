// What the kinds of values of a pprof profile mean in the words of the model. Every writer has names of its own: "cpu",
// "cpu-time", "process_cpu"; "inuse_space", "inuse-space", "space".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fathom::formats {

enum class PprofMeaning : std::uint8_t {
  kOther,
  kSamples,  // how many, of what another kind measures
  kCpuTime,
  kWallTime,
  kOffCpuTime,  // also what waits for locks took
  kWaits,       // how many
  kAllocatedObjects,
  kAllocatedBytes,
  kLiveObjects,
  kLiveBytes,
  kPeakObjects,
  kPeakBytes,
};

PprofMeaning meaning_of(std::string_view type, std::string_view unit);

// "microseconds" -> 1000; nothing for what is no time.
std::optional<std::int64_t> nanoseconds_in(std::string_view unit);

// "kilobytes" -> 1024, as pprof has it; nothing for what is no size.
std::optional<std::int64_t> bytes_in(std::string_view unit);

constexpr bool is_heap(PprofMeaning meaning) {
  return meaning >= PprofMeaning::kAllocatedObjects;
}

}  // namespace fathom::formats
