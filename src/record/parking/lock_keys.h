// Asks living processes where their parked threads keep the key of the lock, until it is proved (parked_threads.h). The
// target is only read, and neither stopped nor changed; a thread of its own reads, as a page of the target may be kept back
// for ever (base/abandonable.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/abandonable.h"
#include "linux/process/maps.h"

namespace fathom::parking {

// The queries to a process; tests replace them. Called in another thread.
struct ProcessMemory {
  std::function<bool(std::int32_t pid, std::uint64_t address, std::span<std::uint64_t> words)> read;
  std::function<std::vector<process::MapEntry>(std::int32_t pid)> maps;
  static ProcessMemory of_this_machine();
};

class LockKeys {
 public:
  explicit LockKeys(ProcessMemory memory = ProcessMemory::of_this_machine()) : memory_(std::move(memory)) {}

  // A thread waited at `futex` as parking_lot parks: FUTEX_WAIT, private, value 1. Cheap.
  void saw(std::int32_t pid, std::uint64_t futex);
  struct Proof {
    std::int32_t pid = 0;
    std::int32_t key_distance = 0;  // bytes from the futex word to the key
  };
  // What was proved since the last call; never waits. Asks one process at a time, of those that had such waits since they
  // were last asked, each at most ten times a second at first and once a second later. A process that was proved is not
  // asked again, nor one whose memory has not come after two seconds.
  std::vector<Proof> prove(std::uint64_t now_ns);
  bool is_asking() const { return asking_.has_value(); }
  // The process ended, or runs another program.
  void forget(std::int32_t pid);

 private:
  struct Process {
    std::set<std::uint64_t> futexes;
    bool has_new = false, closed = false;
    std::uint64_t next_try_ns = 0, pause_ns = 0;
  };
  struct Asking {
    Abandonable<std::optional<std::int32_t>> work;
    std::int32_t pid;
    std::uint64_t since_ns;
    bool forgotten = false;  // the process is another one by now
  };
  void collect(std::uint64_t now_ns, std::vector<Proof>& proofs);

  ProcessMemory memory_;
  std::map<std::int32_t, Process> processes_;
  std::optional<Asking> asking_;
};

}  // namespace fathom::parking
