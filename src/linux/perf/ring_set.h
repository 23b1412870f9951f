// One ring per CPU, drained into one sequence of events in time order. Shared by the side band and the
// sampler.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "linux/events.h"
#include "linux/perf/decoder.h"
#include "linux/perf/ring.h"

namespace fathom::sources {

class RingSet {
 public:
  // Opens the event that will own the ring of `cpu`, of `ring_bytes`.
  using OpenEvent = std::function<Result<Fd>(int cpu, std::size_t ring_bytes)>;

  // One ring on each of `cpus`, or on each CPU that is online if there are none, all of the same size: `most_bytes`, or half of it, and so on down to
  // `least_bytes`, where the limit of locked memory refuses more. The limit counts all rings of a user
  // together, so taking the largest for the first CPU would leave nothing for the last. Both are powers of
  // two of pages.
  static Result<RingSet> open(const RecordDecoder& decoder, std::size_t most_bytes, std::size_t least_bytes,
                              const OpenEvent& open_event, std::vector<int> cpus = {});

  // A ring for a CPU that was switched on since, of the size of the others.
  Result<> add_cpu(int cpu, const OpenEvent& open_event);
  // The CPU was switched off, and its event with it: what is in its ring is still drained.
  void retire_cpu(int cpu);

  // Appends what has arrived since the last call. In time order, also across calls: what one CPU wrote after
  // we had looked at another is held back until all have been looked at once more, in the same call (eight times at most).
  // Exception: a record whose writer was interrupted between taking the time and writing, which comes late.
  void drain(std::vector<Event>& out);

  std::vector<int> fds() const;                           // for epoll: readable when the watermark is passed
  std::vector<int> cpus() const;                          // that have a ring
  int fd_of(int cpu) const;                               // -1: no ring there
  std::uint64_t lost() const { return lost_; }            // records that the kernel dropped
  std::uint64_t malformed() const { return malformed_; }  // records that did not decode
  std::size_t memory_bytes() const;                       // locked for the rings

 private:
  explicit RingSet(const RecordDecoder& decoder) : decoder_(decoder) {}
  Result<> add(int cpu, Fd event, std::size_t ring_bytes);
  struct CpuRing {
    int cpu;  // kRetired: of a CPU that was switched off
    Fd event;
    PerfRing ring;
    std::uint64_t last_time_ns = 0;
  };
  static constexpr int kRetired = -1;
  void read_all();

  RecordDecoder decoder_;
  std::vector<CpuRing> rings_;
  std::vector<Event> pending_;
  std::uint64_t lost_ = 0, malformed_ = 0;
};

}  // namespace fathom::sources
