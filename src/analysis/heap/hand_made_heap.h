// For tests: a heap written down by hand.
#pragma once

#include "analysis/core/hand_made_profile.h"

namespace fathom::analysis {

class HandMadeHeap : public HandMade {
 public:
  explicit HandMadeHeap(model::HeapMode mode = model::HeapMode::kExact) {
    model::Heap heap;
    heap.mode = mode;
    heap.start_ns = profile.meta.start_ns;
    profile.heap.heaps.push_back(heap);
  }
  model::HeapAllocatorId allocator(std::string_view label, model::ModuleId module) {
    profile.heap.allocators.push_back({builder.string(label), module});
    return {static_cast<std::uint32_t>(profile.heap.allocators.size() - 1)};
  }
  void hook(model::HeapAllocatorId allocator, std::string_view function, model::HookKind kind,
            std::string_view note = "") {
    profile.heap.hooks.push_back({allocator, builder.string(function), builder.string(note), kind});
  }
  model::HeapSiteId site(model::StackId stack, model::ThreadId thread = model::kNoThread,
                         model::HeapAllocatorId allocator = {}) {
    profile.heap.sites.push_back({{0}, stack, allocator, thread, WALK_ROOT});
    return {static_cast<std::uint32_t>(profile.heap.sites.size() - 1)};
  }
  // The next second. Rows that are added afterwards are of it.
  void slice() {
    model::HeapSlice row;
    row.start_ns = profile.heap.slices.empty() ? profile.meta.start_ns : profile.heap.slices.back().end_ns;
    row.end_ns = row.start_ns + 1'000'000'000;
    row.peak_ns = row.end_ns;
    row.live_bytes = live_.bytes;
    row.live_blocks = live_.blocks;
    row.peak_bytes = live_.bytes;
    profile.heap.slices.push_back(row);
    profile.heap.heaps[0].end_ns = row.end_ns;
  }
  model::HeapRow& row(model::HeapSiteId site, model::HeapSum allocated, model::HeapSum freed = {}) {
    model::HeapRow row;
    row.slice = {static_cast<std::uint32_t>(profile.heap.slices.size() - 1)};
    row.site = site;
    row.allocated = allocated;
    row.freed = freed;
    profile.heap.rows.push_back(row);
    live_.blocks += allocated.blocks - freed.blocks;
    live_.bytes += allocated.bytes - freed.bytes;
    model::HeapSlice& slice = profile.heap.slices.back();
    slice.live_bytes = live_.bytes;
    slice.live_blocks = live_.blocks;
    slice.peak_bytes = std::max(slice.peak_bytes, live_.bytes);
    profile.heap.heaps[0].events += static_cast<std::uint64_t>(allocated.blocks + freed.blocks);
    return profile.heap.rows.back();
  }
  void peak(double at_s, const std::vector<std::pair<model::HeapSiteId, model::HeapSum>>& sites) {
    model::Heap& heap = profile.heap.heaps[0];
    heap.peak_ns = profile.meta.start_ns + static_cast<std::uint64_t>(at_s * 1e9);
    for (const auto& [site, sum] : sites) {
      profile.heap.summaries.push_back({site, sum, {}, 2'500'000'000});
      heap.peak_bytes += sum.bytes;
      heap.peak_blocks += sum.blocks;
    }
  }

 private:
  model::HeapSum live_;
};

// Three seconds of a server: a cache that fills and stays, requests that come and go, a buffer that made the
// peak in the second second, a leak; one thread of each kind, jemalloc next to glibc.
inline HandMadeHeap small_heap(model::HeapMode mode = model::HeapMode::kExact) {
  HandMadeHeap hand(mode);
  hand.profile.meta.end_ns = hand.profile.meta.start_ns + 3'000'000'000;
  const auto app = hand.module("server", model::ModuleKind::kFile, model::SymbolSource::kDwarf);
  const auto libc = hand.module("libc.so.6", model::ModuleKind::kFile, model::SymbolSource::kDynsym);
  const auto cxx = hand.module("libstdc++.so.6", model::ModuleKind::kFile, model::SymbolSource::kDynsym);
  const auto process = hand.process(10, "server");
  const auto worker = hand.thread(process, 11, "worker");
  const auto loader = hand.thread(process, 12, "loader");
  const auto main = hand.frame(app, {"main"});
  const auto serve = hand.frame(app, {"server::serve"});
  const auto parse = hand.frame(app, {"alloc::alloc::alloc", "<alloc::alloc::Global as Allocator>::allocate",
                                      "server::request::parse"});
  const auto load = hand.frame(app, {"server::load(std::string const&)"});
  const auto put = hand.frame(app, {"server::Cache::put(int)"});
  const auto grow = hand.frame(app, {"std::vector<char>::_M_default_append(unsigned long)"});
  const auto op_new = hand.frame(cxx, {"operator new(unsigned long)"});
  const auto strdup = hand.frame(libc, {"strdup"});

  const auto glibc = hand.allocator("glibc 2.36", libc);
  const auto jemalloc = hand.allocator("jemalloc 5.3.0 (_rjem_)", app);
  hand.hook(glibc, "malloc", model::HookKind::kEntry);
  hand.hook(glibc, "free", model::HookKind::kEntry);
  hand.hook(jemalloc, "_rjem_malloc", model::HookKind::kSlot);
  hand.hook(jemalloc, "_rjem_sdallocx", model::HookKind::kSlot);

  const auto requests = hand.site(hand.stack({main, serve, parse}), worker, jemalloc);
  const auto cache = hand.site(hand.stack({main, serve, put, op_new}), worker, glibc);
  const auto buffer = hand.site(hand.stack({main, load, grow, op_new}), loader, glibc);
  const auto leak = hand.site(hand.stack({main, serve, strdup}), worker, glibc);

  hand.slice();
  hand.row(cache, {1000, 1'000'000});
  model::HeapRow* temporary = &hand.row(requests, {50'000, 5'000'000}, {49'990, 4'999'000});
  temporary->temporary = {40'000, 4'000'000};
  temporary->short_lived = {49'000, 4'900'000};
  hand.row(leak, {10, 640});
  hand.slice();
  hand.row(buffer, {20, 8'000'000}, {20, 8'000'000});
  hand.row(leak, {10, 640});
  hand.slice();
  hand.row(cache, {100, 100'000}, {100, 100'000});
  temporary = &hand.row(requests, {10'000, 1'000'000}, {10'010, 1'001'000});
  temporary->temporary = {8'000, 800'000};
  temporary->short_lived = {9'500, 950'000};
  hand.row(leak, {20, 1280});
  hand.peak(
      1.5, {{buffer, {1, 6'000'000}}, {cache, {1000, 1'000'000}}, {requests, {10, 1000}}, {leak, {15, 960}}});
  hand.profile.heap.histograms = {{requests, model::HeapHistogramKind::kSize, 7, {60'000, 6'000'000}},
                                  {cache, model::HeapHistogramKind::kSize, 10, {1100, 1'100'000}},
                                  {requests, model::HeapHistogramKind::kLifetime, 15, {58'500, 5'850'000}},
                                  {requests, model::HeapHistogramKind::kLifetime, 23, {1'500, 150'000}},
                                  {cache, model::HeapHistogramKind::kAge, 32, {1000, 1'000'000}}};
  model::Heap& heap = hand.profile.heap.heaps[0];
  heap.earlier_frees = 1'234;
  heap.earlier_rss_bytes = 50u << 20;
  if (mode == model::HeapMode::kSampled) {
    heap.mean_bytes = 512u << 10;
    heap.earlier_frees = 0;
    for (model::HeapRow& row : hand.profile.heap.rows) {
      row.temporary = {};
      // As if each block were so many bytes of samples of the mean.
      const auto variance = [](const model::HeapSum& sum) {
        return model::HeapVariance{sum.blocks * 4, sum.bytes * (512u << 10)};
      };
      row.allocated_variance = variance(row.allocated);
      row.freed_variance = variance(row.freed);
      row.churn_variance = std::min(row.allocated_variance.bytes, row.freed_variance.bytes);
    }
    for (model::HeapSummary& row : hand.profile.heap.summaries)
      row.peak_variance = {row.peak.blocks * 4, row.peak.bytes * (512u << 10)};
  }
  return hand;
}

}  // namespace fathom::analysis
