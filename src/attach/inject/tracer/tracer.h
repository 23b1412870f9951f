// The heap tracer in one process: maps it, hooks it in, takes it out again. Works from outside, with ptrace
// and /proc/PID/mem: no dlopen, no call of a function of the target, no file in it, no page that is writable
// and executable. Design and hazards: docs/architecture.md and base/abi/heap_tracer.h.
//
// Order of the steps, and why the profiler can die at any instruction (including kill -9):
//   place   one idle thread is borrowed for about ten system calls. Its own state is on its stack, as the
//           kernel would leave it for a signal handler: it returns to its code even if the profiler dies. The
//           shared memory comes first and names every mapping before it is created.
//   hook    slots: 8 bytes each, no thread stops. Entries: all threads stop once. A change is in the journal
//           before it is made: in the profiler's own, which it uses to restore, and in a copy in the shared
//           memory, which detach_stale_tracer() (stale_tracer.h) uses if the profiler was killed.
//   unhook, unmap   the same in reverse. Memory that cannot be unmapped safely stays: it is inert.
//
// Threads: one Tracer is used by one thread at a time. Every stop runs in a thread of its own, because the
// kernel releases everything that a tracing thread held when that thread ends.
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
  // tracer::image(): starts with struct tracer_image_header. Not needed after place().
  std::span<const std::byte> image;

  // Room in the shared memory, in elements; only the used part takes memory. All rings and tables are zero at
  // first.
  std::uint32_t mappings = 4096;
  std::uint32_t pages = 1U << 16;
  std::uint32_t rows = 1U << 22;
  std::uint32_t rules = 1U << 16;
  std::uint32_t ring_count = 512;
  std::uint32_t ring_bytes = 1U << 18;  // of each ring, a power of two, >= 4096

  // Initial values for the head of the shared memory; the caller may change them there later.
  std::uint32_t mean = 512 * 1024;
  std::uint64_t heartbeat_limit_ticks =
      30'000'000'000;  // generous until the caller knows the counter's frequency
  std::uint64_t wait_limit_ticks = 0;
  std::uint32_t sleep_ticks = 150'000;
  tracer_clock clock = TRACER_CLOCK_COUNTER;  // the clock that orders the events
};

class Tracer {
 public:
  // Maps image, state and shared memory through one idle thread and fills the heads; mode is TRACER_OFF, the
  // heartbeat is now, and there is no hook. Fails with one line and a remedy if the process cannot be traced,
  // and leaves it unchanged.
  static Result<Tracer> place(int pid, const Options& options);
  // The same checks, without touching the process: no error if it can be traced.
  static Result<> check(int pid);

  Tracer(Tracer&&) noexcept;
  Tracer& operator=(Tracer&&) = delete;
  ~Tracer();  // unhook() and unmap(), ignoring their results

  int pid() const;
  // The plan, in the profiler's own memory: all sizes and offsets come from here.
  const tracer_shared& layout() const;
  std::span<const tracer_own_mapping> own_mappings() const;  // also in the profiler's own memory
  // The shared memory as mapped in this process; valid as long as this object. The target can write to all of
  // it: the profiler stores orders there, and never uses a value read from it as a bound or an address.
  tracer_shared& shared();
  std::span<std::byte> memory();

  // Plans every hook and changes nothing. In the order of `hooks`.
  std::vector<PlannedHook> plan(std::vector<Hook> hooks) const;
  // Installs the hooks that plan() found possible (skips the others). On an error, removes those already
  // installed. May be called again with other hooks, planned after the first were installed.
  Result<> hook(const std::vector<PlannedHook>& hooks);
  // Whether the place of an installed hook has its old content again: its library was unloaded and loaded
  // again there.
  bool is_undone(const PlannedHook& hook) const;
  // Sets mode OFF, then takes back every change. A place that another program changed afterwards is left and
  // named in the error; all others are still restored.
  Result<> unhook();
  // Removes all mappings if no thread is inside the tracer and no memory keeps the address of a hook; tries
  // for half a second. false: one is or does; the mappings stay, inert. `space`: the target's unwind tables,
  // for an exact decision; without them any word on a stack that looks like an address of the tracer counts.
  // true if the process is gone. After true, shared() and memory() remain readable until the object is
  // destroyed.
  Result<bool> unmap(const unwind::AddressSpace* space = nullptr);

  // What is left of fathom in the process now: after unmap(), whether it is restored.
  Remains remains() const;
  // After unmap() was true: restores another process that was forked while the hooks were in (forked_copy.h), and returns what is
  // left in it. nullopt: it has no copy of them.
  std::optional<Remains> restore_forked(int pid, const unwind::AddressSpace* space = nullptr) const;

  // The process has executed another program, and the old mappings are gone: there is nothing to take back.
  // Touches nothing; unhook() and unmap() do nothing from now on.
  void abandon();

  Stops stops() const;

 private:
  struct State;
  explicit Tracer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace fathom::inject
