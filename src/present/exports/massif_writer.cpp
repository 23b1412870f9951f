#include "present/exports/massif_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "analysis/core/heap.h"
#include "analysis/core/heap_slices.h"
#include "analysis/core/rows_by_slice.h"
#include "analysis/core/words.h"
#include "model/facts.h"
#include "present/exports/massif_tree.h"

namespace fathom::present {
namespace {

using namespace model;

struct Snapshot {
  std::uint64_t time_ns = 0;
  double bytes = 0;
  enum Kind : std::uint8_t { kInside, kEnd, kPeak } kind = kEnd;  // inside of a slice: only the sum is known
  std::uint32_t slice = 0;                                        // kEnd: at its end
  bool detailed = false;
};

class Maker {
 public:
  Maker(const Profile& profile, const analysis::Selection& selection, const MassifOptions& options)
      : profile_(profile),
        heap_(profile.heap),
        selection_(selection),
        options_(options),
        filter_(profile, selection),
        sums_(profile, selection) {}

  Result<MassifFile> make() {
    if (auto chosen = choose_heap(); !chosen) return tl::unexpected(chosen.error());
    find_snapshots();
    if (snapshots_.empty()) return nothing();
    thin_out();
    choose_detailed();
    return file();
  }

 private:
  static tl::unexpected<Error> nothing() {
    return fail(ErrorKind::kNotFound, "no blocks of an allocator in this selection",
                "fathom record --heap, or fathom report FILE, which says what the file holds");
  }

  bool is_mapped(const HeapSite& site) const {
    return profile_.strings[heap_.allocators[site.allocator.value].label] == kMappedByProgram;
  }

  Result<> choose_heap() {
    std::set<std::uint32_t> heaps;
    for (std::uint32_t i = 0; i < heap_.sites.size(); ++i)
      if (sums_.takes({i}) && !is_mapped(heap_.sites[i])) heaps.insert(heap_.sites[i].heap.value);
    std::set<std::int32_t> pids;
    for (const std::uint32_t h : heaps) pids.insert(profile_.processes[heap_.heaps[h].process.value].pid);
    if (heaps.empty()) return nothing();
    if (pids.size() > 1)
      return fail(ErrorKind::kUsage,
                  fmt::format("massif's format holds one process, and here are {}", pids.size()),
                  fmt::format("--pid with one of {}", fmt::join(pids, ", ")));
    // A process that became another program has several; the larger one is what is wanted.
    chosen_ = *std::max_element(heaps.begin(), heaps.end(), [&](std::uint32_t a, std::uint32_t b) {
      return heap_.heaps[a].peak_bytes < heap_.heaps[b].peak_bytes;
    });
    return {};
  }

  bool takes(HeapSiteId site) const {
    return sums_.takes(site) && heap_.sites[site.value].heap.value == chosen_;
  }

  template <class Visit>
  void each_row(std::uint32_t slice, Visit visit) const {
    rows_.each(slice, [&](const HeapRow& row) {
      if (takes(row.site)) visit(row);
    });
  }

  void find_snapshots() {
    double live = 0;
    std::optional<Snapshot> peak = peak_of_all();
    for (std::uint32_t s = 0; s < heap_.slices.size(); ++s) {
      const HeapSlice& slice = heap_.slices[s];
      if (slice.heap.value != chosen_) continue;
      const double before = std::max(0.0, live);
      double moved = moved_.empty() ? 0 : moved_.back().bytes;
      if (moved_.empty()) moved_.push_back({slice.start_ns, 0});
      each_row(s, [&](const HeapRow& row) {
        live += row.allocated.bytes - row.freed.bytes;
        moved += row.allocated.bytes + row.freed.bytes;
      });
      moved_.push_back({slice.end_ns, moved});
      const double after = std::max(0.0, live);
      if (!analysis::takes_slice(filter_, profile_, slice)) continue;
      if (snapshots_.empty()) snapshots_.push_back({slice.start_ns, before, Snapshot::kInside, s, false});
      if (peak && peak->time_ns > slice.start_ns && peak->time_ns <= slice.end_ns) {
        snapshots_.push_back(*peak);
        has_peak_ = true;
      } else if (!selection_.thread && slice.peak_bytes > std::max(before, after) &&
                 slice.peak_ns > slice.start_ns && slice.peak_ns < slice.end_ns) {
        snapshots_.push_back({slice.peak_ns, slice.peak_bytes, Snapshot::kInside, s, false});
      }
      snapshots_.push_back({slice.end_ns, after, Snapshot::kEnd, s, false});
    }
    if (has_peak_) return;
    // Of a window, or when the recorder was killed: the fullest end of a slice.
    Snapshot* fullest = nullptr;
    for (Snapshot& snapshot : snapshots_)
      if (snapshot.kind == Snapshot::kEnd && (fullest == nullptr || snapshot.bytes > fullest->bytes))
        fullest = &snapshot;
    if (fullest != nullptr) fullest_slice_ = fullest->slice;
  }

  std::optional<Snapshot> peak_of_all() const {
    Snapshot peak{heap_.heaps[chosen_].peak_ns, 0, Snapshot::kPeak, 0, true};
    for (const HeapSummary& row : heap_.summaries)
      if (takes(row.site)) peak.bytes += row.peak.bytes;
    if (peak.bytes <= 0) return std::nullopt;
    return peak;
  }

  bool is_peak(const Snapshot& snapshot) const {
    return snapshot.kind == Snapshot::kPeak ||
           (!has_peak_ && snapshot.kind == Snapshot::kEnd && snapshot.slice == fullest_slice_);
  }

  // Of each piece of time the largest and the last one that can have a tree; the peak and the last of all.
  void thin_out() {
    if (snapshots_.size() <= options_.snapshots) return;
    const std::size_t pieces = (options_.snapshots - 2) / 2;
    const std::uint64_t start = snapshots_.front().time_ns;
    const double width =
        static_cast<double>(snapshots_.back().time_ns - start) / static_cast<double>(pieces) + 1;
    const auto piece = [&](const Snapshot& snapshot) {
      return static_cast<std::size_t>(static_cast<double>(snapshot.time_ns - start) / width);
    };
    std::vector<Snapshot> kept;
    for (std::size_t i = 0; i < snapshots_.size();) {
      std::size_t end = i, most = i, last_end = i;
      for (; end < snapshots_.size() && piece(snapshots_[end]) == piece(snapshots_[i]); ++end) {
        if (snapshots_[end].bytes > snapshots_[most].bytes) most = end;
        if (snapshots_[end].kind == Snapshot::kEnd) last_end = end;
      }
      for (std::size_t at = i; at < end; ++at)
        if (at == most || at == last_end || at + 1 == snapshots_.size() || is_peak(snapshots_[at]))
          kept.push_back(snapshots_[at]);
      i = end;
    }
    snapshots_ = std::move(kept);
  }

  void choose_detailed() {
    std::size_t since = 0;
    for (Snapshot& snapshot : snapshots_) {
      ++since;
      const bool wanted = since >= options_.detailed_every || &snapshot == &snapshots_.back();
      snapshot.detailed =
          is_peak(snapshot) || (wanted && snapshot.kind == Snapshot::kEnd && snapshot.bytes > 0);
      if (snapshot.detailed && !is_peak(snapshot)) since = 0;
    }
  }

  MassifFile file() {
    MassifFile out;
    const std::string command = model::facts_of<model::OriginFacts>(profile_.meta).command;
    out.command = analysis::printable(command.empty() ? profile_.meta.target : command);
    const Heap& heap = heap_.heaps[chosen_];
    out.description = "(recorded by fathom";
    if (heap.mode == HeapMode::kSampled) {
      out.description += ", sampled";
      if (heap.mean_bytes != 0)
        out.description += ", one byte in " + analysis::bytes(static_cast<double>(heap.mean_bytes));
    }
    out.description += ")";

    MassifTree tree(profile_, selection_, options_);
    std::vector<double> live(heap_.sites.size());
    std::uint32_t next_slice = 0;
    std::int64_t last = 0;
    out.unit = options_.unit;
    for (const Snapshot& snapshot : snapshots_) {
      if (snapshot.kind == Snapshot::kEnd)
        for (; next_slice <= snapshot.slice; ++next_slice)
          each_row(next_slice, [&](const HeapRow& row) {
            live[row.site.value] += row.allocated.bytes - row.freed.bytes;
          });
      MassifSnapshot added;
      added.time = last = std::max(last, static_cast<std::int64_t>(std::llround(place_of(snapshot.time_ns))));
      added.bytes = std::round(snapshot.bytes);
      if (snapshot.detailed) {
        std::vector<double> bytes = snapshot.kind == Snapshot::kPeak ? at_peak() : live;
        added.bytes = 0;
        for (double& value : bytes) added.bytes += value = std::round(std::max(0.0, value));
        added.kind = is_peak(snapshot) ? MassifTreeKind::kPeak : MassifTreeKind::kDetailed;
        added.tree = tree.text(bytes, added.bytes);
      }
      out.snapshots.push_back(std::move(added));
    }
    return out;
  }

  // On the axis. Inside of a slice allocations are taken to be evenly spread.
  double place_of(std::uint64_t time_ns) const {
    if (options_.unit == MassifUnit::kMilliseconds) {
      const std::uint64_t start = profile_.meta.start_ns;
      return time_ns > start ? static_cast<double>(time_ns - start) * 1e-6 : 0;
    }
    const auto after = std::ranges::lower_bound(moved_, time_ns, {}, &Moved::time_ns);
    if (after == moved_.end()) return moved_.back().bytes;
    if (after == moved_.begin() || after->time_ns == time_ns) return after->bytes;
    const Moved& before = *(after - 1);
    const double part =
        static_cast<double>(time_ns - before.time_ns) / static_cast<double>(after->time_ns - before.time_ns);
    return before.bytes + part * (after->bytes - before.bytes);
  }

  std::vector<double> at_peak() const {
    std::vector<double> bytes(heap_.sites.size());
    for (const HeapSummary& row : heap_.summaries)
      if (takes(row.site)) bytes[row.site.value] += row.peak.bytes;
    return bytes;
  }

  const Profile& profile_;
  const HeapTables& heap_;
  const analysis::Selection& selection_;
  const MassifOptions& options_;
  analysis::Filter filter_;
  analysis::HeapSums sums_;
  std::uint32_t chosen_ = 0;  // heap
  analysis::RowsBySlice rows_{heap_};
  std::vector<Snapshot> snapshots_;
  struct Moved {
    std::uint64_t time_ns;
    double bytes;  // allocated and freed until then
  };
  std::vector<Moved> moved_;  // at the ends of slices
  bool has_peak_ = false;
  std::uint32_t fullest_slice_ = UINT32_MAX;
};

}  // namespace

Result<MassifFile> make_massif(const Profile& profile, const analysis::Selection& selection,
                               const MassifOptions& options) {
  return Maker(profile, selection, options).make();
}

std::string massif_text(const MassifFile& file) {
  std::string out = fmt::format("desc: {}\ncmd: {}\ntime_unit: {}\n", file.description, file.command,
                                file.unit == MassifUnit::kBytes ? "B" : "ms");
  for (std::size_t i = 0; i < file.snapshots.size(); ++i) {
    const MassifSnapshot& snapshot = file.snapshots[i];
    static constexpr std::array<std::string_view, 3> kTrees = {"empty", "detailed", "peak"};
    out += fmt::format(
        "#-----------\nsnapshot={}\n#-----------\ntime={}\nmem_heap_B={:.0f}\nmem_heap_extra_B=0\n"
        "mem_stacks_B=0\nheap_tree={}\n{}",
        i, snapshot.time, snapshot.bytes, kTrees[static_cast<std::size_t>(snapshot.kind)], snapshot.tree);
  }
  return out;
}

}  // namespace fathom::present
