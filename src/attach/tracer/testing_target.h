// For tests and benchmarks: this process is the target. The image is mapped as the injector maps it, state
// and shared memory are laid out and filled in, the unwind tables of this process's own modules are
// published, and hooks are called through function pointers. Nothing of the process is patched.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/abi/heap_tracer.h"
#include "base/mapping.h"
#include "binary/unwind/address_space.h"

namespace fathom::tracer::testing {

// One record of a ring, taken apart.
struct Event {
  tracer_event_kind kind{};
  std::uint32_t ring = 0;
  std::uint64_t ticks = 0;
  std::uint64_t block = 0;  // without allocator; of realloc: the new one
  std::uint32_t allocator = 0;
  std::uint64_t old_block = 0, ticks_before = 0;
  std::uint64_t size = 0;
  std::uint32_t stack = 0, mean = 0;
  std::uint64_t tid = 0;
  std::vector<std::uint64_t> frames;  // of a stack
  std::uint32_t end = 0;
};

// The counter, or with FATHOM_HIDE_TSC in the environment the sequence: so all tests can be run with both.
tracer_clock default_clock();

struct TargetOptions {
  tracer_mode mode = TRACER_EXACT;
  std::uint32_t mean = 512 << 10;
  std::uint32_t ring_count = 16, ring_bytes = 1 << 16;
  std::uint64_t wait_ms = 0;
  bool may_call_kernel = true;
  bool tid_known = true;
  bool tables = true;
  tracer_clock clock = default_clock();
};

class Target {
 public:
  explicit Target(const TargetOptions& options = {});
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  ~Target();

  // The hook's entry; it goes on to `original` from now on.
  template <class Function>
  Function* hook(tracer_shape shape, Function* original, unsigned index = 0, std::uint8_t allocator = 0) {
    config().original[shape][index] = reinterpret_cast<std::uint64_t>(original);
    config().allocator[shape][index] = allocator;
    return reinterpret_cast<Function*>(entry(shape, index));
  }
  std::uint64_t entry(tracer_shape shape, unsigned index) const;
  // Written through a second mapping: the tracer's own is read-only.
  tracer_config& config();
  tracer_shared& shared() { return *static_cast<tracer_shared*>(shared_.data()); }
  tracer_ring& ring(std::uint32_t index);
  void set_mode(tracer_mode mode);
  void beat();                // the heartbeat, which is also written at the start; moves the sequence forward
  std::uint64_t now_stamp();  // that later events are not below
  std::span<std::byte> state() { return {static_cast<std::byte*>(state_.data()), state_.size()}; }

  // All records that are there, ring by ring, each ring in its order; the rings are empty then.
  std::vector<Event> drain();
  // The same without threads and stacks.
  std::vector<Event> drain_calls();
  // Calls `each` with the words of each record: for benchmarks. Returns how many records there were.
  std::uint64_t drain_raw(
      const std::function<void(std::uint32_t ring, std::span<const std::uint64_t>)>& each);

 private:
  Mapping text_, writable_, state_, shared_;
  std::uint32_t config_offset_ = 0;
};

// The executable files of this process with their tables. Built once: tests load no libraries.
const unwind::AddressSpace& own_address_space();
// Ticks of the time-stamp counter in a millisecond; measured once.
std::uint64_t ticks_per_ms();
std::uint64_t now_ticks();
// Where this thread's stack ends; of any other address the end of its mapping.
std::uint64_t end_of_mapping(std::uint64_t address);

}  // namespace fathom::tracer::testing
