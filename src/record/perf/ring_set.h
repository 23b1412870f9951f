// One ring per CPU, drained into one sequence of events in time order. Shared by the side band and the
// sampler.
#pragma once

#include <cstdint>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "record/events.h"
#include "record/perf/decoder.h"
#include "record/perf/ring.h"

namespace fathom::record {

class RingSet {
 public:
  explicit RingSet(RecordDecoder decoder) : decoder_(decoder) {}

  // Takes over an event that owns a ring.
  Result<> add(int cpu, Fd event, std::size_t ring_bytes);

  // Appends what has arrived since the last call. In time order, also across calls: what one CPU wrote after
  // we had looked at another is held back until all have been looked at once more, in the same call.
  // Exception: a record whose writer was interrupted between taking the time and writing, which comes late.
  void drain(std::vector<Event>& out);

  std::vector<int> fds() const;                           // for epoll: readable when the watermark is passed
  std::vector<int> cpus() const;                          // that have a ring
  int fd_of(int cpu) const;                               // -1: no ring there
  std::uint64_t lost() const { return lost_; }            // records that the kernel dropped
  std::uint64_t malformed() const { return malformed_; }  // records that did not decode
  std::size_t memory_bytes() const;                       // locked for the rings

 private:
  struct CpuRing {
    int cpu;
    Fd event;
    PerfRing ring;
    std::uint64_t last_time_ns = 0;
  };
  void read_all();

  RecordDecoder decoder_;
  std::vector<CpuRing> rings_;
  std::vector<Event> pending_;
  std::uint64_t lost_ = 0, malformed_ = 0;
};

}  // namespace fathom::record
