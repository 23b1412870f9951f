// The heap tracer in one process: mapped, hooked in, taken out again. Everything is done from outside, by
// ptrace and /proc/PID/mem: no dlopen, no call of a function of the target, no file in it, no page that is
// writable and executable. Design and hazards: docs/architecture.md and base/abi/heap_tracer.h.
//
// Order, and why it can end at any instruction of ours (kill -9 included):
//   place   one idle thread is borrowed for some ten system calls. What it goes back to stands on its own
//           stack, as the kernel would leave it for a signal handler: it finds back even if we die meanwhile.
//           The shared memory comes first and names every mapping before it is made.
//   hook    slots: 8 bytes each, nobody stops. Entries: all threads stop once. A change stands in the journal
//           before it is made: in ours, which we restore by, and in a copy in the shared memory, which
//           detach_stale_tracer() (stale_tracer.h) can take it back by when we were killed.
//   unhook, unmap   the same backwards. What cannot be unmapped safely stays: it is inert.
//
// Threads: one Tracer is used by one thread at a time. Every stop runs in a thread of its own, as the kernel
// lets go of whatever a tracing thread held when that thread ends.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attach/inject/plan/hook.h"
#include "attach/inject/stop/stops.h"
#include "attach/inject/tracer/remains.h"
#include "base/abi/heap_tracer.h"
#include "base/address.h"
#include "base/result.h"
#include "binary/unwind/address_space.h"

namespace fathom::inject {

struct Options {
  // tracer::image(): starts with struct tracer_image_header. Not kept after place().
  std::span<const std::byte> image;

  // Room in the shared memory, in elements; only what is used takes memory. All rings and tables are zero at
  // first.
  std::uint32_t mappings = 4096;
  std::uint32_t pages = 1U << 16;
  std::uint32_t rows = 1U << 22;
  std::uint32_t rules = 1U << 16;
  std::uint32_t ring_count = 512;
  std::uint32_t ring_bytes = 1U << 18;  // of each ring, a power of two, >= 4096

  // What place() writes to the head of the shared memory; the caller may change it there later.
  std::uint32_t mean = 512 * 1024;
  std::uint64_t heartbeat_limit_ticks =
      30'000'000'000;  // generous, until the caller knows the counter's speed
  std::uint64_t wait_limit_ticks = 0;
  std::uint32_t sleep_ticks = 150'000;
  tracer_clock clock = TRACER_CLOCK_COUNTER;  // what orders the events
};

class Tracer {
 public:
  // Maps image, state and shared memory through one idle thread and fills the heads; mode is TRACER_OFF, the
  // heartbeat is now, no hook is in. Fails with one line and a remedy if the process cannot be traced, and
  // leaves it as it was.
  static Result<Tracer> place(int pid, const Options& options);
  // The same refusals, without touching the process: nothing if it can be traced.
  static Result<> check(int pid);

  Tracer(Tracer&&) noexcept;
  Tracer& operator=(Tracer&&) = delete;
  ~Tracer();  // unhook() and unmap(), whatever they say

  int pid() const;
  // What was planned, in memory of the profiler's own: sizes and offsets are taken from here.
  const tracer_shared& layout() const;
  std::span<const tracer_own_mapping> own_mappings() const;  // the same
  // The shared memory as it is mapped here; valid as long as this object. The target can write to all of it:
  // orders are stored there, and nothing that is read there bounds or addresses anything.
  tracer_shared& shared();
  std::span<std::byte> memory();
  ProcessAddress image_start() const;  // where the image stands in the target: for what stacks may begin with
  std::uint64_t image_bytes() const;

  // Plans every hook; nothing is changed. In the order of `hooks`.
  std::vector<PlannedHook> plan(std::vector<Hook> hooks) const;
  // Puts in what plan() found possible (others are passed over). An error takes back what is in already. May
  // be called again with other hooks, planned after the first went in.
  Result<> hook(const std::vector<PlannedHook>& hooks);
  // Whether the place of a hook that went in is as it was before: its library was unloaded and loaded again there.
  bool is_undone(const PlannedHook& hook) const;
  // Mode OFF, then every change is taken back. A place that somebody else changed after us is left, and named
  // in the error; all others are restored nevertheless.
  Result<> unhook();
  // Removes all mappings if no thread is inside of the tracer and no memory keeps the address of a hook,
  // tried for half a second. false: one is or does; the mappings stay, inert. `space`: the target's unwind
  // tables, to tell exactly; without them any word on a stack that looks like an address of ours counts. The
  // process being gone is true. After true, shared() and memory() remain readable until the object dies.
  Result<bool> unmap(const unwind::AddressSpace* space = nullptr);

  // What of ours is in the process now: after unmap(), whether it is as it was.
  Remains remains() const;

  // The process has executed another program, and all that was mapped went with the one before: there is
  // nothing to take back. Touches nothing; unhook() and unmap() do nothing from now on.
  void abandon();

  Stops stops() const;

 private:
  struct State;
  explicit Tracer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace fathom::inject
