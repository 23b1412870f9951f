#include "formats/heaptrack/heap_course.h"

#include <algorithm>
#include <bit>

namespace fathom::formats {

HeapCourse::HeapCourse(Import& import, model::ProcessId process)
    : import_(import), heap_{static_cast<std::uint32_t>(import.profile.heap.heaps.size())} {
  model::Heap row;
  row.process = process;
  row.mode = model::HeapMode::kExact;
  row.from_start = true;
  row.start_ns = row.end_ns = kImportStart;
  import_.profile.heap.heaps.push_back(row);
}

HeapCourse::Kind HeapCourse::kind(std::uint64_t size, model::StackId stack, model::ThreadId thread) {
  const auto [row, added] =
      site_rows_.try_emplace({stack.value, thread.value}, static_cast<std::uint32_t>(sites_.size()));
  if (added) {
    Site site;
    site.id = import_.site(heap_, stack, thread);
    sites_.push_back(site);
  }
  kinds_.push_back({size, 0, 0, row->second});
  return static_cast<Kind>(kinds_.size() - 1);
}

// Before it changes: what the peak was made of is kept at the first change after it.
HeapCourse::Site& HeapCourse::touch(std::uint32_t number) {
  Site& site = sites_[number];
  if (site.peak != peak_) {
    site.peak = peak_;
    site.peak_blocks = site.live_blocks;
    site.peak_bytes = site.live_bytes;
  }
  if (!site.touched) {
    site.touched = true;
    touched_.push_back(number);
  }
  return site;
}

bool HeapCourse::allocate(Kind kind) {
  KindRow& row = kinds_[kind];
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  if (row.size > kMost - allocated_bytes_) return false;
  allocated_bytes_ += row.size;
  Site& site = touch(row.site);
  ++row.allocated;
  ++row.live;
  ++events_;
  site.allocated.add(row.size);
  ++site.live_blocks;
  site.live_bytes += row.size;
  ++live_blocks_;
  live_bytes_ += row.size;
  last_allocated_ = kind;
  if (live_bytes_ > slice_peak_bytes_) {
    slice_peak_bytes_ = live_bytes_;
    slice_peak_ns_ = now_ns_;
  }
  if (live_bytes_ <= peak_bytes_) return true;
  peak_bytes_ = live_bytes_;
  peak_blocks_ = live_blocks_;
  peak_ns_ = now_ns_;
  ++peak_;
  return true;
}

bool HeapCourse::free(Kind kind) {
  KindRow& row = kinds_[kind];
  if (row.live == 0) return false;
  Site& site = touch(row.site);
  --row.live;
  ++events_;
  site.freed.add(row.size);
  if (last_allocated_ == kind) site.temporary.add(row.size);
  last_allocated_ = kNoKind;
  --site.live_blocks;
  site.live_bytes -= row.size;
  --live_blocks_;
  live_bytes_ -= row.size;
  return true;
}

void HeapCourse::end_slice(std::uint64_t time_ns) {
  now_ns_ = time_ns;
  model::HeapTables& heap = import_.profile.heap;
  const model::HeapSliceId slice{static_cast<std::uint32_t>(heap.slices.size())};
  heap.slices.push_back({heap_, slice_start_ns_, time_ns, slice_peak_ns_,
                         static_cast<double>(slice_peak_bytes_), static_cast<double>(live_bytes_),
                         static_cast<double>(live_blocks_)});
  for (const std::uint32_t number : touched_) {
    Site& site = sites_[number];
    model::HeapRow row;
    row.slice = slice;
    row.site = site.id;
    row.allocated = sum_of(site.allocated);
    row.freed = sum_of(site.freed);
    row.temporary = sum_of(site.temporary);
    heap.rows.push_back(row);
    site.allocated = site.freed = site.temporary = {};
    site.touched = false;
  }
  touched_.clear();
  slice_start_ns_ = slice_peak_ns_ = time_ns;
  slice_peak_bytes_ = live_bytes_;
}

void HeapCourse::finish(std::uint64_t end_ns) {
  end_slice(std::max(end_ns, slice_start_ns_));
  model::HeapTables& tables = import_.profile.heap;
  model::Heap& heap = tables.heaps[heap_.value];
  heap.end_ns = now_ns_;
  heap.events = events_;
  heap.peak_ns = peak_ns_;
  heap.peak_bytes = static_cast<double>(peak_bytes_);
  heap.peak_blocks = static_cast<double>(peak_blocks_);
  for (const Site& site : sites_) {
    const bool changed = site.peak == peak_;
    const Counts peak{changed ? site.peak_blocks : site.live_blocks,
                      changed ? site.peak_bytes : site.live_bytes};
    if (peak.blocks != 0) tables.summaries.push_back({site.id, sum_of(peak), {}, 0});
  }
  std::map<std::pair<std::uint32_t, std::uint8_t>, model::HeapSum> sizes;
  for (const KindRow& row : kinds_) {
    if (row.allocated == 0) continue;
    model::HeapSum& sum =
        sizes[{sites_[row.site].id.value, static_cast<std::uint8_t>(std::bit_width(row.size))}];
    sum.blocks += static_cast<double>(row.allocated);
    sum.bytes += static_cast<double>(row.allocated) * static_cast<double>(row.size);
  }
  for (const auto& [key, sum] : sizes)
    tables.histograms.push_back({{key.first}, model::HeapHistogramKind::kSize, key.second, sum});
}

}  // namespace fathom::formats
