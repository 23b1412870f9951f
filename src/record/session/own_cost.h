// The profiler's own CPU time by purpose. Pure: gets the times and reads no clock.
//
// The cost of recording is the same each second; setup and symbolization are paid once, so they would make a
// short recording look expensive. Symbolization runs with idle priority, mostly during the recording.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace fathom::session {

// What a sample costs was measured up to this rate (docs/performance.md). Above it the interrupts cost the target more than the
// time that fathom's programs take: at 20,000 Hz a program got 36 % less done where 3 to 20 % were expected.
inline constexpr std::uint32_t kMeasuredFrequencyHz = 1000;

struct OwnCpu {
  std::uint64_t all_ns = 0;     // of the profiler's processes, since they began
  std::uint64_t naming_ns = 0;  // of that: looking up names
};

class OwnCost {
 public:
  void begun(OwnCpu now);  // all is ready: from here on it is recorded
  void ended(OwnCpu now);  // nothing is recorded any more; what follows completes the file

  struct Parts {
    std::uint64_t start_ns = 0, recording_ns = 0, naming_ns = 0;
    bool operator==(const Parts&) const = default;
  };
  // What is missing to `now.all_ns` was used after the end.
  Parts parts(OwnCpu now) const;

 private:
  enum class Phase : std::uint8_t { kStart, kRecording, kAfter };
  Phase phase_ = Phase::kStart;
  std::uint64_t before_ns_ = 0, until_ns_ = 0;  // without naming
};

// The recording's facts about its cost (docs/format.md).
void tell(const OwnCost::Parts& parts, std::map<std::string, std::string>& facts);

}  // namespace fathom::session
