// A recording from start to end: the target, the engine, the clock, the file. Reads like the table of
// contents of a recording; each step is a file of its own.
//
//   side band ─┐
//   engine ────┤─► merge by time ─► process table ─► stacks, samples ─► file, once a second
//   /proc  ────┘                                └─► symbol worker ─► names ─┘
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/profile.h"

namespace fathom::inject {
class DetachGuardian;
}

namespace fathom::session {

enum class Engine : std::uint8_t { kAutomatic, kBpf, kPerf };

enum class Heap : std::uint8_t { kNone, kSampled, kExact };

struct RecordOptions {
  std::vector<std::int32_t> pids;    // attach to these, or
  std::vector<std::string> command;  // launch this
  std::string target;                // what to call it: "redis-server (pid 12)"
  std::uint32_t frequency_hz = 999;
  std::string event = "cpu-clock";
  Engine engine = Engine::kAutomatic;
  bool cpu = true;
  bool off_cpu = true;
  bool memory = true;
  Heap heap = Heap::kNone;
  std::uint32_t heap_interval_bytes = 512 * 1024;  // mean distance of samples; grows when they come too often
  // What the program maps without an allocator. Costs every system call of the machine some 50 ns.
  bool heap_mappings = false;
  bool heap_each_block = false;  // the life of every block, and not only sums
  // Takes heap tracers out if this process dies; started by whoever has one thread only, outlives record().
  inject::DetachGuardian* guardian = nullptr;
  bool follow_children = true;
  std::optional<double> duration_s;
  // Stops when so much is live on the heap, or resident in all recorded processes together.
  std::optional<std::uint64_t> until_live_bytes, until_resident_bytes;
  double delay_s = 0;
  std::string output;                      // path of the file
  bool overwrite = false;                  // an earlier recording
  bool force = false;                      // any regular file
  std::string symbol_directory;            // unstripped twins of stripped binaries
  std::uint32_t stack_copy_bytes = 32768;  // engine perf
  bool redact = false;                     // keep command lines out of the file
  // The program that reads the target's files, as of symbolize::ReaderProcess. Empty: they are read in this
  // process.
  std::string name_reader;
  // The calling thread gives up for good what the rest of the recording does not need (session/privileges.h).
  bool give_up_privileges = false;
};

enum class StopReason : std::uint8_t { kTargetEnded, kDuration, kInterrupted, kMemory };

struct RecordOutcome {
  std::string path;
  StopReason stopped_by = StopReason::kTargetEnded;
  std::optional<int> target_status;  // of a launched command that has ended, as a shell has it
  model::Quality quality;
  double duration_s = 0;
  std::uint64_t file_bytes = 0;
  std::string engine;
  struct HeapOutcome {
    std::uint64_t events = 0, lost = 0;
    double live_bytes = 0;
    std::uint64_t longest_stop_ns = 0;
  };
  std::optional<HeapOutcome> heap;     // of all traced processes together
  std::vector<std::string> obstacles;  // why a better engine was not used
};

// Called now and then from the recording thread, for progress on a terminal.
using Progress = std::function<void(const model::Quality& so_far, double seconds, std::uint64_t file_bytes)>;

// Records until the target ends, the duration is over, or SIGINT or SIGTERM arrives. The two signals are
// blocked in the calling thread (and in those that it starts) meanwhile. Whatever the error: what was
// recorded up to it is in the file.
Result<RecordOutcome> record(const RecordOptions& options, const Progress& progress);

}  // namespace fathom::session
