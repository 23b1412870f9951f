// What tests of the collector begin with.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "record/heap/collector.h"
#include "record/heap/testing_tracer.h"

namespace fathom::sources::heap {

constexpr std::uint64_t kMs = 1'000'000;

// A tracer, a collector, and a clock on which one tick is one nanosecond.
struct Recording {
  explicit Recording(const CollectorOptions& options = {}, std::uint32_t rings = 2)
      : tracer(rings, 1u << 16),
        collector(Collector::create(tracer.layout(), tracer.memory(), at(0), options).value()) {
    tracer.thread(0, 1, 100);
    tracer.thread(1, 1, 101);
    tracer.stack(0, 1, 1, {0x10, 0x100});
    tracer.stack(0, 1, 2, {0x20, 0x100});
    drain(2'000'000);
  }
  static Moment at(std::uint64_t ticks) { return {FakeTracer::kBase + ticks, FakeTracer::kBase + ticks}; }
  Round drain(std::uint64_t ticks) { return collector.drain(at(ticks)); }
  // The site of a stack, whatever the thread.
  Sum allocated(const Slice& slice, std::uint32_t stack) {
    Sum sum;
    for (const SliceRow& row : slice.rows)
      if (sites[row.site].stack == stack) sum.add(row.sums.allocated);
    return sum;
  }
  Slice slice() {
    Slice made = *collector.slice(true);
    EXPECT_EQ(made.first_new_site, sites.size());
    sites.insert(sites.end(), made.new_sites.begin(), made.new_sites.end());
    return made;
  }
  SiteSummary summary(std::uint32_t stack) {
    for (SiteSummary& row : collector.summary().sites)
      if (collector_key(row.site).stack == stack) return row;
    return {};
  }
  SiteKey collector_key(std::uint32_t site) { return sites.at(site); }

  FakeTracer tracer;
  Collector collector;
  std::vector<SiteKey> sites;
};

}  // namespace fathom::sources::heap
