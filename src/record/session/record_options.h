// What is to be recorded, how, and what came of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "binary/probes/wish.h"
#include "linux/perf/named_events.h"
#include "model/left_changed.h"
#include "model/profile.h"
#include "model/unsampled.h"

namespace fathom::inject {
class DetachGuardian;
}

namespace fathom::session {

class Companion;

enum class Engine : std::uint8_t { kAutomatic, kBpf, kPerf, kProc };

enum class Heap : std::uint8_t { kNone, kSampled, kExact };

struct RecordOptions {
  std::vector<std::int32_t> pids;    // attach to these, or
  std::vector<std::string> command;  // launch this
  // Called in the launched child before exec, for what the caller has changed of its own process and the
  // command must not inherit (signals). Async-signal-safe calls only. May be empty.
  std::function<void()> in_child;
  // The pids are of a group, whose processes come and go: ended ones are left out.
  bool pids_are_members = false;
  std::string target;  // what to call it: "redis-server (pid 12)"
  std::uint32_t frequency_hz = 999;
  std::string event = "cpu-clock";
  Engine engine = Engine::kAutomatic;
  bool cpu = true;
  bool off_cpu = true;
  bool memory = true;
  std::uint64_t memory_every_ns = 100'000'000;  // between two values of a series
  // The rings are emptied so often: they must hold what comes between, and a companion sees rows so late.
  std::uint64_t step_every_ns = 50'000'000;
  std::string metrics_url;  // the target's own metrics (metrics::parse_url); empty: they are not read
  Heap heap = Heap::kNone;
  std::uint32_t heap_interval_bytes = 512 * 1024;  // mean distance of samples; grows when they come too often
  bool heap_interval_fixed = false;                // it does not grow: samples may cost more, or be lost
  // What the program maps without an allocator. Costs every system call of the machine some 50 ns.
  bool heap_mappings = false;
  // Threads of the target wait for fathom, where it cannot keep up, rather than that an event is lost: each
  // at most some 5 s at a time, all together at most 60 s. With Heap::kExact.
  bool heap_lossless = false;
  // No private copy of the target's program is started to try functions of an allocator without names.
  bool heap_no_probe = false;
  bool heap_children = false;    // programs that forked processes execute are traced, too
  bool heap_each_block = false;  // the life of every block, and not only sums
  // Removes heap tracers if this process dies; start it while the process has one thread; outlives the
  // session.
  inject::DetachGuardian* guardian = nullptr;
  std::vector<Companion*> companions;  // outlive the session; their order is that of class Companions
  bool companions_walk = false;        // one of them walks stacks: modules keep their unwind tables for it
  bool follow_children = true;
  std::optional<double> duration_s;
  // Stops when so much is live on the heap, or resident in all recorded processes together.
  std::optional<std::uint64_t> until_live_bytes, until_resident_bytes;
  // A limit (time, memory) asks a launched command to end and records that, too: a leak check judges what is
  // left after the program's own shutdown.
  bool record_shutdown = false;
  double delay_s = 0;                      // the target runs so long unrecorded
  std::string output;                      // path of the file; empty: none, and a companion keeps all rows
  bool overwrite = false;                  // an earlier recording
  bool force = false;                      // any regular file
  std::string symbol_directory;            // unstripped twins of stripped binaries
  std::string debuginfod_urls;             // servers of debug files, separated by spaces; "": no network
  std::uint32_t stack_copy_bytes = 32768;  // engine perf
  std::string tags;                        // OriginFacts::tags
  bool redact = false;                     // keep command lines out of the file
  // The user wants the end now: skip optional work while completing the recording. May be empty.
  std::function<bool()> hurry;
  // Giving back millions of rows and nodes one by one takes as long as writing them. false: they are left,
  // for a process that ends when its recording does.
  bool free_tables = true;
  // Functions whose calls are counted; needs the engine bpf. Of more calls in a second than the limit the rest is counted and
  // no more.
  std::vector<probes::Wish> probes;
  std::uint32_t probe_limit = 20'000;
  // Recorded with their stacks, next to what else is recorded; needs the engine bpf.
  std::vector<sources::NamedEvent> events;
  bool system_calls = false;  // counted for each thread, with callers and files; needs the engine bpf
  // The program that reads the target's files, as of symbolize::ReaderProcess. Empty: they are read in this
  // process.
  std::string name_reader;
  // The calling thread permanently drops what the rest of the recording does not need (record/session/privileges.h).
  bool give_up_privileges = false;
};

enum class StopReason : std::uint8_t {
  kTargetEnded,
  kDuration,
  kInterrupted,
  kMemory,
  kEnough,  // a companion has seen what it was to see
};

struct RecordOutcome {
  std::string path;
  StopReason stopped_by = StopReason::kTargetEnded;
  bool recorded = false;  // false: the end came during the delay, and there is no file
  // Of a launched command: how it ended, as a shell has it, or that it was left running.
  std::optional<int> target_status;
  std::optional<std::int32_t> left_running;  // its pid
  // Processes that a launched command started and that still ran when it had ended, such as a daemon. Ascending.
  std::vector<std::int32_t> outlived_by;
  bool left_at_request = false;  // and not because it took too long to end
  // Targets that were stopped (SIGSTOP) or frozen (their control group) at the end: a command among them
  // cannot end.
  std::vector<std::int32_t> standing_still;
  model::Quality quality;
  std::uint64_t cut_in_tracer = 0;  // of its samples: in fathom's own code, which reports leave out
  double duration_s = 0;
  std::optional<double> cpu_s;  // of the targets, by the scheduler's clock; nullopt: unknown
  bool saw_waits = false;       // how long threads ran and waited is known, though they may not have waited
  std::optional<model::Unsampled> unsampled;  // of that time: what could not be sampled
  std::uint64_t file_bytes = 0;
  std::string engine;
  struct HeapOutcome {
    std::uint64_t events = 0, lost = 0;
    double live_bytes = 0;
    std::string stops;            // for how long all threads, and one that was borrowed, stood still
    std::uint64_t waited_ns = 0;  // of threads of the target, for room: in all
  };
  std::optional<HeapOutcome> heap;  // of all traced processes together
  std::vector<model::LeftChanged>
      left_changed;                    // processes in which the heap tracer, or a part of it, is left
  std::vector<std::string> obstacles;  // why a better engine was not used
};

}  // namespace fathom::session
