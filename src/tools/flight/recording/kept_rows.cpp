#include "tools/flight/recording/kept_rows.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/abi/walk.h"
#include "base/stable_sort.h"
#include "model/heap_sums.h"

namespace fathom::flight {
namespace {

std::uint64_t time_of(const model::Sample& sample) {
  return sample.time_ns;
}
std::uint64_t time_of(const model::Wait& wait) {
  return wait.start_ns + wait.waited_ns + wait.queued_ns;
}
std::uint64_t time_of(const model::Fault& fault) {
  return fault.time_ns;
}

// As session/tracking counts them.
bool is_complete(std::uint8_t end) {
  return end == WALK_ROOT || end == WALK_KERNEL_THREAD || end == WALK_EXITING;
}

bool is_older(std::uint64_t time_ns, std::uint64_t than_ns, std::uint64_t by_ns) {
  return time_ns < than_ns && than_ns - time_ns > by_ns;
}

// Rows come nearly in order of time: the newest decides what is old.
template <class Row, class OnDrop>
void keep_newest(std::deque<Row>& kept, std::vector<Row>& rows, const KeepLimits& limits, OnDrop on_drop) {
  kept.insert(kept.end(), rows.begin(), rows.end());
  rows.clear();
  if (kept.empty()) return;
  const std::uint64_t newest = time_of(kept.back());
  while (!kept.empty() &&
         (kept.size() > limits.most_rows || is_older(time_of(kept.front()), newest, limits.rows_ns))) {
    on_drop(kept.front());
    kept.pop_front();
  }
}

void less(std::uint64_t& count, std::uint64_t by) {
  count -= std::min(count, by);
}

void fold(model::HeapRow& into, const model::HeapRow& next) {
  model::add_sums(into, next);
  // The folded slice begins with the heap, so whatever was freed in it was allocated in it.
  into.churn_variance = into.freed_variance.bytes;
}

}  // namespace

void KeptRows::take_rows(model::Profile& profile) {
  keep_newest(samples_, profile.samples, limits_, [&](const model::Sample& sample) {
    ++dropped_.samples;
    less(profile.quality.samples, 1);
    if (is_complete(sample.end)) less(profile.quality.complete, 1);
  });
  keep_newest(waits_, profile.waits, limits_, [&](const model::Wait&) {
    ++dropped_.waits;
    less(profile.quality.waits, 1);
  });
  keep_newest(faults_, profile.faults, limits_, [&](const model::Fault&) { ++dropped_.faults; });
}

// Rows of one look have one time and one process. The first one is where growth began, so it stays.
void KeptRows::take_looks(model::Profile& profile) {
  for (const model::MemoryRange& row : profile.memory_ranges) {
    const bool begins = looks_.empty() || looks_.back().time_ns != row.time_ns ||
                        looks_.back().rows.front().process != row.process;
    if (begins) looks_.push_back({row.time_ns, {}});
    looks_.back().rows.push_back(row);
    ++look_rows_;
  }
  profile.memory_ranges.clear();
  while (looks_.size() > 2 && (looks_.size() > limits_.looks || look_rows_ > limits_.look_rows)) {
    look_rows_ -= looks_[1].rows.size();
    looks_.erase(looks_.begin() + 1);
    ++dropped_.looks;
  }
}

void KeptRows::take_points(model::Profile& profile) {
  points_.resize(profile.series.size());
  for (std::size_t i = 0; i < profile.series.size(); ++i) {
    points_[i].tiers.resize(limits_.points.size());
    for (const model::Point& point : profile.series[i].points)
      for (std::size_t tier = 0; tier < limits_.points.size(); ++tier) {
        auto& kept = points_[i].tiers[tier];
        const auto& [every_ns, for_ns] = limits_.points[tier];
        if (kept.empty() || point.time_ns >= kept.back().time_ns + every_ns) kept.push_back(point);
        while (is_older(kept.front().time_ns, point.time_ns, for_ns)) kept.pop_front();
      }
    profile.series[i].points = {};  // gives the room back, too
  }
}

void KeptRows::take_heap(model::HeapTables& heap) {
  heap_rows_.insert(heap_rows_.end(), heap.rows.begin(), heap.rows.end());
  heap.rows.clear();
  heap.blocks.clear();
  std::map<model::HeapId, std::size_t> counts, left;
  for (const model::HeapSlice& slice : heap.slices) ++counts[slice.heap];
  for (const auto& [id, count] : counts)
    if (count > limits_.slices) left[id] = count - limits_.slices / 2;
  if (left.empty()) return;
  std::vector<model::HeapSlice> slices;
  std::vector<model::HeapSliceId> now(heap.slices.size());
  std::map<model::HeapId, model::HeapSliceId> folded;
  for (std::size_t i = 0; i < heap.slices.size(); ++i) {
    const model::HeapSlice& slice = heap.slices[i];
    const auto next = model::HeapSliceId{static_cast<std::uint32_t>(slices.size())};
    const auto to_fold = left.find(slice.heap);
    if (to_fold == left.end() || to_fold->second == 0) {
      now[i] = next;
      slices.push_back(slice);
      continue;
    }
    --to_fold->second;
    const auto [into, is_first] = folded.emplace(slice.heap, next);
    now[i] = into->second;
    if (is_first)
      slices.push_back(slice);
    else
      model::join_slice(slices[into->second.value], slice);
  }
  std::map<std::pair<model::HeapSliceId, model::HeapSiteId>, model::HeapRow> sums;
  std::vector<model::HeapRow> rows;
  for (model::HeapRow row : heap_rows_) {
    row.slice = now[row.slice.value];
    const auto of = folded.find(slices[row.slice.value].heap);
    if (of == folded.end() || of->second != row.slice) {
      rows.push_back(row);
    } else if (const auto [sum, is_first] = sums.emplace(std::pair(row.slice, row.site), row); !is_first) {
      fold(sum->second, row);
    }
  }
  for (const auto& entry : sums) rows.push_back(entry.second);
  stable_sort_rows(rows, {}, &model::HeapRow::slice);
  heap_rows_ = std::move(rows);
  heap.slices = std::move(slices);
}

void KeptRows::take(model::Profile& profile) {
  take_rows(profile);
  take_looks(profile);
  take_points(profile);
  take_heap(profile.heap);
}

void KeptRows::lend(model::Profile& profile) const {
  profile.samples.assign(samples_.begin(), samples_.end());
  profile.waits.assign(waits_.begin(), waits_.end());
  profile.faults.assign(faults_.begin(), faults_.end());
  profile.heap.rows = heap_rows_;
  for (const Look& look : looks_)
    profile.memory_ranges.insert(profile.memory_ranges.end(), look.rows.begin(), look.rows.end());
  for (std::size_t i = 0; i < points_.size(); ++i) {
    auto& points = profile.series[i].points;
    // Of a coarse tier what is older than the finer one.
    for (std::size_t tier = points_[i].tiers.size(); tier-- > 0;) {
      const auto& finer = tier == 0 ? std::deque<model::Point>() : points_[i].tiers[tier - 1];
      for (const model::Point& point : points_[i].tiers[tier])
        if (finer.empty() || point.time_ns < finer.front().time_ns) points.push_back(point);
    }
  }
}

}  // namespace fathom::flight
