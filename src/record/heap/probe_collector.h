// A process's heap events at its own probes -> what is live and which code allocated it, in the same form as
// the collector of tracer events: time slices, sites, a summary. The process samples by itself and reports
// the weight of each sampled block; such events are few, so the code is simple. Its words are untrusted:
// memory is bounded, and nonsense numbers give nonsense sums. Times are CLOCK_MONOTONIC nanoseconds. One
// thread.
//
// The weight of a block (OpenTelemetry eBPF profiler, design document 00003): `weight` bytes, an unbiased
// estimate; so weight / size blocks. Frees are reported for sampled blocks only, and subtract what the
// allocation added.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "linux/events.h"
#include "record/heap/collector.h"
#include "record/heap/sites.h"

namespace fathom::sources::heap {

class ProbeCollector {
 public:
  struct Options {
    std::uint64_t slice_ns = 250'000'000;  // the first ones; their length doubles after each 512
    std::uint64_t max_live_blocks = 1ull
                                    << 21;  // 150 MB; further ones count as allocated and are not followed
  };
  ProbeCollector(std::uint64_t start_ns, const Options& options);

  // HeapProbed::stack_id is the number of a stack as the caller counts them, 0: not walked. In time order.
  void take(const HeapProbed& event);
  // As Collector::slice(): the slice that lasts until `now_ns`, if it is long enough or the last one.
  std::optional<Slice> slice(std::uint64_t now_ns, bool last = false);
  Summary summary(std::uint64_t now_ns) const;
  // Of what has come here; what the kernel lost is for the caller to add. `mean`: the least weight so far, which is the interval
  // of the process's sampling, as a block of less than that crosses it once.
  Counters counters() const { return counters_; }
  // The program has executed another one: what is live is freed now. Returns what that was.
  Sum end_image(std::uint64_t now_ns);
  Sum live() const { return sites_.live(); }

 private:
  struct Live {
    std::uint64_t time_ns, size, weight;
    std::uint64_t interval;  // as it was known then: a free takes away what the allocation has brought
    std::uint32_t site;
  };
  static Weight weight_of(const Live& block);
  void allocate(const HeapProbed& event);
  void free(const Live& block, std::uint64_t now_ns);

  Options options_;
  Sites sites_;
  std::unordered_map<std::uint64_t, Live> live_;  // by address
  Counters counters_;
  std::uint64_t interval_ = UINT64_MAX;
  std::uint64_t start_ns_, slice_ns_;
  std::uint32_t slices_ = 0, sites_told_ = 0;
};

}  // namespace fathom::sources::heap
