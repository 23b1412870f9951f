// For tests: a heap whose blocks come and go, in slices as a recording delivers them. Whole numbers, so that all sums are exact.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "model/profile.h"

namespace fathom::serve {

class TestingHeap {
 public:
  // Adds the heap with a site for each of the first `sites` stacks; the process and its stacks are there.
  TestingHeap(model::Profile& profile, std::uint64_t seed, std::uint64_t start_ns, std::uint32_t sites)
      : random_(seed), live_(sites), slice_start_ns_(start_ns) {
    model::Heap heap;
    heap.process = {0};
    heap.mode = model::HeapMode::kSampled;
    heap.mean_bytes = 512 * 1024;
    heap.start_ns = start_ns;
    heap_ = {static_cast<std::uint32_t>(profile.heap.heaps.size())};
    profile.heap.heaps.push_back(heap);
    first_site_ = static_cast<std::uint32_t>(profile.heap.sites.size());
    for (std::uint32_t i = 0; i < sites; ++i) {
      model::HeapSite site;
      site.heap = heap_;
      site.stack = {i + 1};
      profile.heap.sites.push_back(site);
    }
  }

  // One block comes; one may go.
  void happen() {
    const auto site = static_cast<std::uint32_t>(random_() % live_.size());
    const double bytes = static_cast<double>(1 + random_() % 100'000);
    add(row(site).allocated, bytes);
    live_[site].push_back(bytes);
    add_live(1, bytes);
    const auto other = static_cast<std::uint32_t>(random_() % live_.size());
    // Blocks of the first site stay.
    if (other == 0 || live_[other].empty()) return;
    const double gone = live_[other].back();
    live_[other].pop_back();
    add(row(other).freed, gone);
    add_live(-1, -gone);
  }

  // Ends the slice and puts it into all of these profiles, whose other tables are alike.
  void cut(std::uint64_t now_ns, std::vector<model::Profile*> into) {
    const model::HeapSlice slice{heap_, slice_start_ns_, now_ns, now_ns, peak_bytes_, bytes_, blocks_};
    for (model::Profile* profile : into) {
      const auto id = model::HeapSliceId{static_cast<std::uint32_t>(profile->heap.slices.size())};
      profile->heap.slices.push_back(slice);
      profile->heap.heaps[heap_.value].end_ns = now_ns;
      for (auto& [site, row] : rows_) {
        row.slice = id;
        row.site = {first_site_ + site};
        profile->heap.rows.push_back(row);
      }
    }
    rows_.clear();
    slice_start_ns_ = now_ns;
    peak_bytes_ = bytes_;
  }
  std::uint64_t slice_start_ns() const { return slice_start_ns_; }
  double live_bytes() const { return bytes_; }

 private:
  model::HeapRow& row(std::uint32_t site) { return rows_[site]; }
  static void add(model::HeapSum& sum, double bytes) {
    sum.blocks += 1;
    sum.bytes += bytes;
  }
  void add_live(double blocks, double bytes) {
    blocks_ += blocks;
    bytes_ += bytes;
    peak_bytes_ = std::max(peak_bytes_, bytes_);
  }

  std::mt19937_64 random_;
  std::vector<std::vector<double>> live_;  // sizes, by site
  std::map<std::uint32_t, model::HeapRow> rows_;
  model::HeapId heap_;
  std::uint32_t first_site_ = 0;
  std::uint64_t slice_start_ns_;
  double bytes_ = 0, blocks_ = 0, peak_bytes_ = 0;
};

}  // namespace fathom::serve
