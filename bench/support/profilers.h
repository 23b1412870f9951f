// The compared profilers behind one interface: attach, stop, and the cost.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/command.h"

namespace fathom::bench {

enum class Kind {
  kNone,
  kFathom,         // CPU and the memory series
  kFathomDefault,  // these and waits
  kFathomCpu,
  kFathomWaits,
  kFathomMemory,
  kFathomCpuAndWaits,
  kFathomWaitsAndMemory,
  kFathomHeap,
  kFathomHeapExact,
  kPerfFramePointers,
  kPerfDwarf
};

struct Profiler {
  Kind kind = Kind::kNone;
  int frequency_hz = 0;
  bool before = false;  // use the program that the environment variable BEFORE names instead of this build
  std::string name() const;
  // Records process `pid` into `file` until it is stopped.
  std::vector<std::string> command(pid_t pid, const std::string& file) const;
};

// No profiler, and fathom and perf at 99 and 999 Hz.
std::vector<Profiler> all_profilers();
// No profiler, the default recording, and its parts: each one alone, and each one left out.
std::vector<Profiler> parts_of_the_default();
// No profiler, and each engine of this build and of another one, whose program the environment variable
// BEFORE names. Throws std::runtime_error if it is not set.
std::vector<Profiler> engines_beside_before();

struct Recorded {
  double seconds = 0;           // from attaching to the request to stop
  double stop_seconds = 0;      // from then to the end of the recorder
  double cpu_seconds = 0;       // of the recorder's process
  std::uint64_t rss_bytes = 0;  // its peak
  std::uint64_t file_bytes = 0;
  int samples = 0;
  double complete_percent = 0;  // stacks that reach the start of their thread
};

// One recording. Throws std::runtime_error if the recorder fails.
class Recording {
 public:
  Recording(const Profiler& profiler, pid_t pid, std::string file);  // returns once it has had time to start
  Recorded stop();
  // Reads the file and fills in samples and complete_percent.
  void judge(Recorded& recorded) const;

 private:
  Profiler profiler_;
  std::string file_;
  support::Running running_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace fathom::bench
