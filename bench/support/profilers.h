// The profilers that are compared, behind one face: attach, stop, and what it cost.
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
  kFathomDefault,  // and waits
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
  bool before = false;  // the program that BEFORE of the environment names, instead of this build
  std::string name() const;
  // Records process `pid` into `file` until it is stopped.
  std::vector<std::string> command(pid_t pid, const std::string& file) const;
};

// Nothing, and fathom and perf at 99 and 999 Hz.
std::vector<Profiler> all_profilers();
// Nothing, the default recording, and what it is made of: each part alone, and each left out.
std::vector<Profiler> parts_of_the_default();
// Nothing, and each engine of this build and of another, whose program the environment variable BEFORE names.
// Throws std::runtime_error if it names none.
std::vector<Profiler> engines_beside_before();

struct Recorded {
  double seconds = 0;           // from attaching to the request to stop
  double stop_seconds = 0;      // from there to the end of the recorder
  double cpu_seconds = 0;       // of the recorder's process
  std::uint64_t rss_bytes = 0;  // its peak
  std::uint64_t file_bytes = 0;
  int samples = 0;
  double complete_percent = 0;  // stacks that reach the start of their thread
};

// One recording. Throws std::runtime_error when the recorder fails.
class Recording {
 public:
  Recording(const Profiler& profiler, pid_t pid, std::string file);  // returns when it has had time to begin
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
