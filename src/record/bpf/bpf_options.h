// What a recording wants from the BPF engine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "linux/perf/named_events.h"

namespace fathom::sources {

// Which programs are loaded: those for this kernel, or, for tests, always those for older ones: before 6.15 waits are walked when
// they begin, and before 5.15 the programs are another build.
enum class BpfPrograms : std::uint8_t { kForThisKernel, kBeforeLinux615, kBeforeLinux515 };

struct BpfOptions {
  BpfPrograms programs = BpfPrograms::kForThisKernel;
  std::uint32_t frequency_hz = 999;
  std::string event = "cpu-clock";  // or "cycles", where the machine has a counter for it
  bool follow_children = true;
  // The parts, each with the programs of its own that it has in the kernel.
  bool cpu = true;                      // sample CPUs
  bool off_cpu = true;                  // book every switch, and walk the stacks of waits
  bool mappings = false;                // system calls that take and give back address space
  bool probes = false;                  // calls of functions
  std::vector<NamedEvent> events = {};  // recorded with their stacks; nothing before Linux 5.15
  bool system_calls = false;            // counted, for each thread; nothing before Linux 5.15
  bool heap_probes = false;             // the targets' own probes of their heap; nothing before Linux 5.15
  // A stack with code whose mappings are not known yet is copied; without it, such a walk stays as it ended.
  bool copies_stacks = true;
  std::uint32_t probed_calls_per_second = 20'000;  // are walked and timed; what comes beyond is counted
  // Waits walked per second, of one thread and on one CPU; above it, one in so many is walked, and on a CPU
  // with four times as many waits or more a quarter of it (base/abi/walk_budget.h). A low sampling rate also
  // lowers this: at 99 Hz a loaded node spent 1.5 % of a CPU on walking ten times as many waits as there were
  // samples.
  std::uint32_t thread_walks_per_second() const { return std::clamp(frequency_hz, 100u, 500u); }
  std::uint32_t cpu_walks_per_second() const { return std::clamp(2 * frequency_hz, 400u, 4000u); }
  std::uint64_t waker_threshold_ns = 1'000'000;  // waits at least so long have their waker's stack walked
  std::uint32_t row_capacity = 4u << 20;         // 4 bytes each, locked kernel memory
  std::uint32_t ring_bytes = 0;                  // of each ring, a power of two; 0: as the two below say
  // The ring of samples, and that of all other parts: a second of samples, or of walked waits, each with a stack of
  // 120 frames that was not seen before, which no program comes near; at most 8 MiB.
  std::uint32_t sample_ring_bytes(std::size_t cpus) const;
  std::uint32_t wait_ring_bytes(std::size_t cpus) const;
  bool uses_wait_ring() const {
    return off_cpu || mappings || probes || heap_probes || !events.empty() || system_calls;
  }
};

}  // namespace fathom::sources
