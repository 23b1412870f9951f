#include "model/store/heap_selection.h"

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>
#include <unordered_map>

namespace fathom::store {
namespace {

using namespace model;

constexpr std::uint32_t kNone = UINT32_MAX;
constexpr std::size_t kAllPlaces = 1u << 18;  // for all slices together, 8 bytes each
constexpr unsigned kBuckets = 49;             // as in the collector: the last one is 2^47 and more

unsigned bucket_of(std::uint64_t value) {
  return std::min<unsigned>(static_cast<unsigned>(std::bit_width(value)), kBuckets - 1);
}

bool is_freeing_thread(const Profile& profile, const Thread& thread, const std::string& wanted) {
  return profile.strings[thread.name] == wanted || std::to_string(thread.tid) == wanted;
}

void add(HeapSum& to, const HeapSum& more) {
  to.blocks += more.blocks;
  to.bytes += more.bytes;
}
void add(HeapVariance& to, const HeapVariance& more) {
  to.blocks += more.blocks;
  to.bytes += more.bytes;
}
double not_negative(double value) {
  return value > 0 ? value : 0;
}

struct SiteSums {
  std::array<std::array<HeapSum, kBuckets>, 3> histograms{};  // by HeapHistogramKind
  HeapSum peak;
  HeapVariance peak_variance;
  std::uint64_t longest_ns = 0;
};

// The first blocks in some order, up to a limit.
template <class Before>
class Foremost {
 public:
  void add(const HeapBlock& block, std::size_t most) {
    if (rows_.size() == most && !Before()(block, rows_.front())) return;
    rows_.push_back(block);
    std::push_heap(rows_.begin(), rows_.end(), Before());
    if (rows_.size() <= most) return;
    std::pop_heap(rows_.begin(), rows_.end(), Before());
    rows_.pop_back();
  }
  const std::vector<HeapBlock>& rows() const { return rows_; }

 private:
  std::vector<HeapBlock> rows_;  // a heap whose front is the last block in that order
};
struct Larger {
  bool operator()(const HeapBlock& a, const HeapBlock& b) const {
    return std::tuple(b.size, a.allocated_ns, a.address) < std::tuple(a.size, b.allocated_ns, b.address);
  }
};
struct Older {
  bool operator()(const HeapBlock& a, const HeapBlock& b) const {
    return std::tuple(a.allocated_ns, b.size, a.address) < std::tuple(b.allocated_ns, a.size, b.address);
  }
};

}  // namespace

struct HeapSelection::Sums {
  // The same sites and slices repeat: a small table in front of the large one finds nearly all of them.
  HeapRow& row(std::uint32_t slice, HeapSiteId site) {
    const std::uint64_t key = std::uint64_t{slice} << 32 | site.value;
    Recent& seen = recent[key * 0x9e3779b97f4a7c15ull >> 52];
    if (seen.key == key && seen.row != 0) return rows[seen.row - 1];
    const auto [found, added] = ids.emplace(key, static_cast<std::uint32_t>(rows.size() + 1));
    if (added) rows.push_back({{slice}, site, {}, {}, {}, {}, {}, {}, 0});
    seen = {key, found->second};
    return rows[found->second - 1];
  }
  SiteSums& site(HeapSiteId id) {
    auto& made = sites[id.value];
    if (!made) made = std::make_unique<SiteSums>();
    return *made;
  }

  struct Recent {
    std::uint64_t key = 0;
    std::uint32_t row = 0;
  };
  std::vector<HeapRow> rows;
  std::unordered_map<std::uint64_t, std::uint32_t> ids;  // slice << 32 | site -> row, from 1
  std::vector<Recent> recent = std::vector<Recent>(1u << 12);
  std::vector<std::unique_ptr<SiteSums>> sites;
  std::vector<double> changes;    // in live bytes, by place
  std::vector<double> per_place;  // by slice: places per nanosecond
  struct Peak {
    std::size_t place = SIZE_MAX;
    std::uint64_t time_ns = 0;
    double bytes = 0;
    HeapSum sum;
  };
  std::vector<Peak> peaks;                                    // by heap
  std::vector<std::pair<std::uint64_t, double>> slice_peaks;  // by slice: time and bytes
  Foremost<Larger> largest;
  Foremost<Older> oldest;
};

HeapSelection::HeapSelection(const Profile& profile, const HeapBlockFilter& filter)
    : profile_(profile),
      filter_(filter),
      slices_(profile.heap.heaps.size()),
      places_(std::clamp<std::size_t>(kAllPlaces / std::max<std::size_t>(profile.heap.slices.size(), 1), 16,
                                      kAllPlaces)),
      sums_(std::make_unique<Sums>()) {
  const HeapTables& heap = profile.heap;
  for (std::uint32_t i = 0; i < heap.slices.size(); ++i) {
    const HeapSlice& slice = heap.slices[i];
    slices_[slice.heap.value].push_back(i);
    const std::uint64_t length = slice.end_ns - slice.start_ns;
    sums_->per_place.push_back(length == 0 ? 0 : static_cast<double>(places_) / static_cast<double>(length));
  }
  if (filter.freed_by)
    for (const Thread& thread : profile.threads)
      freed_by_.push_back(is_freeing_thread(profile, thread, *filter.freed_by) ? 1 : 0);
  sums_->sites.resize(heap.sites.size());
  sums_->changes.resize(heap.slices.size() * places_);
  sums_->slice_peaks.resize(heap.slices.size());
  sums_->peaks.resize(heap.heaps.size());
}

HeapSelection::~HeapSelection() = default;

std::uint32_t HeapSelection::slice(HeapSiteId site, std::uint32_t number) const {
  const auto& slices = slices_[profile_.heap.sites[site.value].heap.value];
  return number < slices.size() ? slices[number] : kNone;
}

std::size_t HeapSelection::place(std::uint32_t slice, std::uint64_t time_ns) const {
  const HeapSlice& row = profile_.heap.slices[slice];
  const std::uint64_t inside = time_ns <= row.start_ns ? 0 : std::min(time_ns, row.end_ns) - row.start_ns;
  const auto at = static_cast<std::size_t>(static_cast<double>(inside) * sums_->per_place[slice]);
  return slice * places_ + std::min(at, places_ - 1);
}

double HeapSelection::filter(std::vector<HeapBlock>& blocks) const {
  const HeapTables& heap = profile_.heap;
  double read = 0;
  std::erase_if(blocks, [&](HeapBlock& block) {
    if (slice(block.site, block.first_slice) == kNone) return true;  // its slice was never closed
    if (block.freed_by != kNoThread && block.freed_by.value >= profile_.threads.size())
      block.freed_by = kNoThread;
    if (!block.live() && slice(block.site, block.last_slice) == kNone) {
      // Freed in a slice that was never closed: it was live at the end of the last closed one.
      block.last_slice = HeapBlock::kLive;
      block.lifetime_ns = 0;
      block.freed_by = kNoThread;
      block.temporary = false;
    }
    read += block.mean_bytes == 0 ? 1 : weight_of(block).sum.blocks;
    if (filter_.freed_by && (block.freed_by == kNoThread || freed_by_[block.freed_by.value] == 0))
      return true;
    const Heap& of = heap.heaps[heap.sites[block.site.value].heap.value];
    return !passes(filter_, block, profile_.meta.start_ns, of.end_ns);
  });
  return read;
}

void HeapSelection::add(std::span<const HeapBlock> passed) {
  Sums& sums = *sums_;
  blocks_ += passed.size();
  for (const HeapBlock& block : passed) {
    const HeapWeight weight = weight_of(block);
    const std::uint32_t first = slice(block.site, block.first_slice);
    HeapRow& allocated = sums.row(first, block.site);
    ::fathom::store::add(allocated.allocated, weight.sum);
    ::fathom::store::add(allocated.allocated_variance, weight.variance);
    SiteSums& site = sums.site(block.site);
    const auto count = [&](HeapHistogramKind kind, std::uint64_t value) {
      ::fathom::store::add(site.histograms[static_cast<std::size_t>(kind)][bucket_of(value)], weight.sum);
    };
    count(HeapHistogramKind::kSize, block.size);
    sums.changes[place(first, block.allocated_ns)] += weight.sum.bytes;
    if (filter_.keep != 0 && (block.live() || filter_.alive_at_ns)) {
      sums.largest.add(block, filter_.keep);
      sums.oldest.add(block, filter_.keep);
    }
    if (block.live()) {
      const Heap& heap = profile_.heap.heaps[profile_.heap.sites[block.site.value].heap.value];
      count(HeapHistogramKind::kAge, heap.end_ns - std::min(heap.end_ns, block.allocated_ns));
      continue;
    }
    const std::uint32_t last = slice(block.site, block.last_slice);
    HeapRow& freed = sums.row(last, block.site);
    ::fathom::store::add(freed.freed, weight.sum);
    ::fathom::store::add(freed.freed_variance, weight.variance);
    if (block.temporary) ::fathom::store::add(freed.temporary, weight.sum);
    if (block.short_lived()) ::fathom::store::add(freed.short_lived, weight.sum);
    if (first == last) freed.churn_variance += weight.variance.bytes;
    count(HeapHistogramKind::kLifetime, block.lifetime_ns);
    site.longest_ns = std::max(site.longest_ns, block.lifetime_ns);
    sums.changes[place(last, block.allocated_ns + block.lifetime_ns)] -= weight.sum.bytes;
  }
}

bool HeapSelection::find_peak() {
  bool any = false;
  for (std::size_t heap = 0; heap < slices_.size(); ++heap) {
    Sums::Peak& peak = sums_->peaks[heap];
    double live = 0;
    for (const std::uint32_t id : slices_[heap]) {
      const HeapSlice& slice = profile_.heap.slices[id];
      auto& [slice_ns, slice_bytes] = sums_->slice_peaks[id];
      slice_ns = slice.start_ns;
      slice_bytes = not_negative(live);
      for (std::size_t place = id * places_; place < (id + 1) * places_; ++place) {
        live += sums_->changes[place];
        if (live <= slice_bytes) continue;
        slice_bytes = live;
        const auto part = static_cast<double>(place - id * places_ + 1) / static_cast<double>(places_);
        slice_ns = slice.start_ns +
                   static_cast<std::uint64_t>(part * static_cast<double>(slice.end_ns - slice.start_ns));
        if (live > peak.bytes) peak = {place, std::min(slice_ns, slice.end_ns), live, {}};
      }
    }
    any = any || peak.bytes > 0;
  }
  return any;
}

bool HeapSelection::may_be_at_peak(std::uint32_t first_slice, std::uint32_t last_slice) const {
  for (std::size_t heap = 0; heap < slices_.size(); ++heap) {
    if (sums_->peaks[heap].place == SIZE_MAX) continue;
    const auto& slices = slices_[heap];
    const auto found = std::lower_bound(slices.begin(), slices.end(), sums_->peaks[heap].place / places_);
    const auto number = static_cast<std::uint32_t>(found - slices.begin());
    if (first_slice <= number && number <= last_slice) return true;
  }
  return false;
}

void HeapSelection::add_to_peak(std::span<const HeapBlock> passed) {
  for (const HeapBlock& block : passed) {
    Sums::Peak& peak = sums_->peaks[profile_.heap.sites[block.site.value].heap.value];
    if (peak.place == SIZE_MAX ||
        place(slice(block.site, block.first_slice), block.allocated_ns) > peak.place)
      continue;
    if (!block.live() &&
        place(slice(block.site, block.last_slice), block.allocated_ns + block.lifetime_ns) <= peak.place)
      continue;
    const HeapWeight weight = weight_of(block);
    ::fathom::store::add(peak.sum, weight.sum);
    SiteSums& site = sums_->site(block.site);
    ::fathom::store::add(site.peak, weight.sum);
    ::fathom::store::add(site.peak_variance, weight.variance);
  }
}

void HeapSelection::replace(HeapTables& heap) {
  Sums& sums = *sums_;
  heap.rows = std::move(sums.rows);
  std::sort(heap.rows.begin(), heap.rows.end(), [](const HeapRow& a, const HeapRow& b) {
    return std::tuple(a.slice, a.site) < std::tuple(b.slice, b.site);
  });
  std::vector<HeapSum> changes(heap.slices.size());
  for (const HeapRow& row : heap.rows) {
    changes[row.slice.value].blocks += row.allocated.blocks - row.freed.blocks;
    changes[row.slice.value].bytes += row.allocated.bytes - row.freed.bytes;
  }
  for (std::size_t i = 0; i < slices_.size(); ++i) {
    HeapSum live;
    for (const std::uint32_t id : slices_[i]) {
      HeapSlice& slice = heap.slices[id];
      ::fathom::store::add(live, changes[id]);
      slice.live_blocks = not_negative(live.blocks);
      slice.live_bytes = not_negative(live.bytes);
      std::tie(slice.peak_ns, slice.peak_bytes) = sums.slice_peaks[id];
    }
    heap.heaps[i].chosen = true;
    heap.heaps[i].peak_ns = sums.peaks[i].time_ns;
    heap.heaps[i].peak_bytes = sums.peaks[i].sum.bytes;
    heap.heaps[i].peak_blocks = sums.peaks[i].sum.blocks;
  }
  heap.summaries.clear();
  heap.histograms.clear();
  heap.uses.clear();  // covers all blocks; the share of the selected ones is unknown
  heap.returns.clear();
  for (std::uint32_t i = 0; i < sums.sites.size(); ++i) {
    if (!sums.sites[i]) continue;
    const SiteSums& site = *sums.sites[i];
    heap.summaries.push_back({{i}, site.peak, site.peak_variance, site.longest_ns});
    for (std::uint8_t kind = 0; kind < site.histograms.size(); ++kind)
      for (std::uint8_t bucket = 0; bucket < kBuckets; ++bucket)
        if (const HeapSum& sum = site.histograms[kind][bucket]; sum.blocks != 0)
          heap.histograms.push_back({{i}, static_cast<HeapHistogramKind>(kind), bucket, sum});
  }
  give_blocks(heap);
}

void HeapSelection::give_blocks(HeapTables& heap) const {
  heap.blocks = sums_->largest.rows();
  heap.blocks.insert(heap.blocks.end(), sums_->oldest.rows().begin(), sums_->oldest.rows().end());
  std::sort(heap.blocks.begin(), heap.blocks.end(), Larger());
  heap.blocks.erase(std::unique(heap.blocks.begin(), heap.blocks.end()), heap.blocks.end());
}

std::uint64_t HeapSelection::memory_bytes() const {
  constexpr std::uint64_t kOfRow = sizeof(HeapRow) + 48;
  return sums_->rows.size() * kOfRow + sums_->changes.size() * sizeof(double) +
         sums_->sites.size() * sizeof(SiteSums);
}

double blocks_expected(const HeapTables& heap) {
  double blocks = 0;
  for (const HeapRow& row : heap.all_rows())
    if (heap.heaps[heap.sites[row.site.value].heap.value].each_block) blocks += row.allocated.blocks;
  return blocks;
}

}  // namespace fathom::store
