#include "analysis/heap/heap_leaks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "analysis/core/call_tree.h"
#include "analysis/core/ending.h"
#include "analysis/core/words.h"
#include "analysis/heap/heap_pairing.h"
#include "base/stable_sort.h"
#include "model/facts.h"
#include "model/still_recorded.h"

namespace fathom::analysis {
namespace {

using namespace model;

// Live blocks of one site by age.
struct Ages {
  HeapSum all, older;
  int youngest = 64, oldest = -1;  // buckets of those that are older
};

double start_of(int bucket) {
  return bucket <= 0 ? 0 : std::ldexp(1.0, bucket - 1) * 1e-9;
}

// The first bucket that holds blocks older than `seconds`. It holds some that are not as old, but a filter
// that hides what it should show is the worse one.
int bucket_of(double seconds) {
  if (!(seconds > 0)) return 0;
  return std::clamp(static_cast<int>(std::floor(std::log2(seconds * 1e9))) + 1, 0, 64);
}

std::vector<Ages> ages_of(const Profile& profile, int first_bucket) {
  std::vector<Ages> ages(profile.heap.sites.size());
  for (const HeapHistogram& row : profile.heap.histograms) {
    if (row.kind != HeapHistogramKind::kAge || row.sum.blocks <= 0) continue;
    Ages& site = ages[row.site.value];
    site.all.blocks += row.sum.blocks;
    site.all.bytes += row.sum.bytes;
    if (row.bucket < first_bucket) continue;
    site.older.blocks += row.sum.blocks;
    site.older.bytes += row.sum.bytes;
    site.youngest = std::min<int>(site.youngest, row.bucket);
    site.oldest = std::max<int>(site.oldest, row.bucket);
  }
  return ages;
}

// The part of what is live that is old enough. Ages were counted when the recording ended, so that of an
// exact one they are exact, too.
HeapAmounts older_part(const HeapAmounts& live, const Ages& ages) {
  const auto part = [](const HeapAmount& amount, double older, double all) {
    if (all <= 0) return HeapAmount{};
    const double share = std::min(1.0, older / all);
    return HeapAmount{older == all ? amount.value : std::min(amount.value, older), amount.variance * share};
  };
  return {part(live.blocks, ages.older.blocks, ages.all.blocks),
          part(live.bytes, ages.older.bytes, ages.all.bytes)};
}

HeapAmounts difference(const HeapAmounts& all, const HeapAmounts& part) {
  const auto of = [](const HeapAmount& a, const HeapAmount& b) {
    return HeapAmount{std::max(0.0, a.value - b.value), std::max(0.0, a.variance - b.variance)};
  };
  return {of(all.blocks, part.blocks), of(all.bytes, part.bytes)};
}

// Heaps of what the program mapped by itself.
std::vector<char> heaps_of_mappings(const Profile& profile) {
  const HeapTables& heap = profile.heap;
  std::vector<char> mapped(heap.heaps.size(), 0);
  for (const HeapSite& site : heap.sites)
    if (profile.strings[heap.allocators[site.allocator.value].label] == kMappedByProgram)
      mapped[site.heap.value] = 1;
  return mapped;
}

class Finder {
 public:
  Finder(const Profile& profile, const LeakOptions& options)
      : profile_(profile), options_(options), leaves_(profile, options.selection, false) {}

  Result<LeakReport> find() {
    const HeapTables& heap = profile_.heap;
    if (heap.empty())
      return fail(ErrorKind::kNotFound, "the heap was not recorded", "fathom record --heap=exact -- COMMAND");
    describe();
    const int first_bucket = bucket_of(options_.older_s);
    report_.older_s = start_of(first_bucket);
    const std::vector<Ages> ages = ages_of(profile_, first_bucket);
    const HeapSums sums(
        profile_,
        {.metric = Metric::kHeapLeaked, .thread = options_.selection.thread, .pid = options_.selection.pid});
    report_.suppressions = options_.suppressions;
    Suppressed suppressed(profile_, report_.suppressions);
    uses_.resize(report_.suppressions.size());
    const std::vector<char> mapped = heaps_of_mappings(profile_);
    find_known();

    for (std::uint32_t i = 0; i < heap.sites.size(); ++i) {
      const HeapAmounts& live = sums.sites()[i].leaked;
      if (!sums.takes({i}) || live.blocks.value <= 0) continue;
      const HeapSite& site = heap.sites[i];
      if (mapped[site.heap.value] != 0 && !options_.mappings) {
        report_.mappings.add(live);
        continue;
      }
      report_.total.add(live);
      if (const auto row = suppressed.by(site.stack)) {
        report_.suppressed.add(live);
        uses_[*row].taken.add(live);
        ++uses_[*row].sites;
        continue;
      }
      if (ages[i].all.blocks <= 0) {
        report_.no_ages = true;
        if (options_.older_s > 0)
          return fail(ErrorKind::kUnsupported,
                      "the recording holds no ages, as it ends before its recorder did",
                      "fathom leaks without --older");
      }
      HeapAmounts old = options_.older_s > 0 ? older_part(live, ages[i]) : live;
      report_.young.add(difference(live, old));
      if (old.blocks.value <= 0) continue;
      const std::size_t group = add(site, old, ages[i]);
      seen_left_[group][site.heap.value] += seen_left(site.heap, old, {i});
    }
    keep_large();
    answer();
    return std::move(report_);
  }

 private:
  void describe() {
    report_.target = profile_.meta.target;
    report_.losses = heap_losses(profile_, options_.selection.pid);
    report_.duration_s = profile_.duration_s();
    report_.asked_older_s = options_.older_s;
    report_.truncated = profile_.quality.truncated;
    report_.still_recorded = is_still_recorded(profile_);
    report_.dropped = heap_dropped(profile_, options_.selection.pid);
    report_.traced = traced_allocators(profile_);
    report_.unseen = unseen_allocators(profile_);
    report_.ended = report_.from_start = true;
    report_.of_dump = !facts_of<ImportFacts>(profile_.meta).heap_source.empty();
    std::vector<char> used(profile_.heap.heaps.size(), 0);
    for (const HeapSite& site : profile_.heap.sites) used[site.heap.value] = 1;
    const std::vector<char> mapped = heaps_of_mappings(profile_);
    for (std::size_t i = 0; i < used.size(); ++i) {
      const Heap& heap = profile_.heap.heaps[i];
      const Process& process = profile_.processes[heap.process.value];
      if (options_.selection.pid && process.pid != *options_.selection.pid) continue;
      const HeapPairing pairing = pairing_of(profile_, process.pid, options_.selection);
      report_.frees_unseen = report_.frees_unseen || pairing.frees_unseen;
      report_.partly_hooked = report_.partly_hooked || pairing.partly_hooked;
      report_.ended = report_.ended && process.end_ns != 0;
      report_.from_start = report_.from_start && heap.from_start;
      if (used[i] == 0 || (mapped[i] != 0 && !options_.mappings) || heap.mode == HeapMode::kExact) continue;
      report_.sampled = true;
      report_.mean_bytes = std::max(report_.mean_bytes, heap.mean_bytes);
    }
    describe_endings(used, mapped);
  }

  // Of the processes that left anything to report.
  void describe_endings(const std::vector<char>& used, const std::vector<char>& mapped) {
    std::map<std::uint32_t, Ending> endings;  // by row of the process
    for (std::size_t i = 0; i < used.size(); ++i) {
      const std::uint32_t row = profile_.heap.heaps[i].process.value;
      if (used[i] == 0 || (mapped[i] != 0 && !options_.mappings)) continue;
      if (options_.selection.pid && profile_.processes[row].pid != *options_.selection.pid) continue;
      Ending ending = ending_of(profile_, profile_.processes[row]);
      if (!ending.pid) ending.pid = profile_.processes[row].pid;
      endings.try_emplace(row, std::move(ending));
    }
    if (endings.empty()) return;
    const Ending& first = endings.begin()->second;
    const bool alike = std::ranges::all_of(endings, [&](const auto& entry) {
      return entry.second.signal == first.signal && entry.second.not_known == first.not_known;
    });
    if (!alike || !report_.ended) {
      for (const auto& [row, ending] : endings)
        if (!ending.by_itself()) report_.stopped_short.push_back(ending);
      return;
    }
    report_.end_not_known = first.not_known;
    if (first.signal != 0) report_.ended_by_signal = first.signal;
    const int exit = facts_of<EndingFacts>(profile_.meta).exit.value_or(0);
    if (first.by_itself() && exit >= 129 && exit <= 192) report_.ended_by_signal = exit - 128;
  }

  std::vector<LeakFrame> frames_of(StackId stack) {
    std::vector<LeakFrame> frames;
    const HeapLeaf leaf = leaves_.of(stack);
    std::uint32_t skip = leaf.skip;
    for (StackId at = leaf.stack; at.value != 0; at = profile_.stacks[at.value].parent, skip = 0) {
      const FrameId id = profile_.stacks[at.value].frame;
      const Frame& frame = profile_.frames[id.value];
      const std::string module(profile_.strings[profile_.modules[frame.module.value].name]);
      if (frame.line_count == 0) frames.push_back({frame_name(profile_, id), module, "", 0});
      for (std::uint32_t i = skip; i < frame.line_count; ++i) {
        const Line& line = profile_.lines[frame.first_line + i];
        frames.push_back(
            {frame_name(profile_, id, i), module, std::string(profile_.strings[line.file]), line.line});
      }
    }
    return frames;
  }

  // Blocks by site that were allocated after the last stretch that was not recorded.
  void find_known() {
    const HeapTables& heap = profile_.heap;
    for (std::uint32_t i = 0; i < heap.heaps.size(); ++i)
      exactness_.push_back(exactness_of(profile_, HeapId{i}));
    known_.resize(heap.sites.size());
    for (const HeapHistogram& age : heap.histograms) {
      if (age.kind != HeapHistogramKind::kAge) continue;
      const HeapId id = heap.sites[age.site.value].heap;
      const std::uint64_t end = heap.heaps[id.value].end_ns, since = exactness_[id.value].known_since_ns;
      if (end > since && start_of(age.bucket + 1) <= static_cast<double>(end - since) * 1e-9)
        known_[age.site.value] += age.sum.blocks;
    }
  }

  // How many of these blocks were seen to be left: of a sampled heap one is a block for sure, whatever it
  // stands for; and what was live before a stretch that was not recorded may have been freed in it.
  double seen_left(HeapId heap, const HeapAmounts& amounts, HeapSiteId site) const {
    const HeapExactness& exactness = exactness_[heap.value];
    if (exactness.damaged_rings != 0 || exactness.switched_off) return 0;
    double blocks = amounts.blocks.value;
    if (exactness.outages != 0) blocks = std::min(blocks, known_[site.value]);
    return exactness.exact ? blocks : std::min(blocks, 1.0);
  }

  // A lost event may have freed one of the blocks that look left, in whatever group it is.
  void answer() {
    if (report_.groups.empty()) {
      if (!report_.unseen.empty()) report_.answer = LeakAnswer::kNotKnown;
      return;
    }
    std::map<std::uint32_t, double> left;  // by heap
    for (const std::size_t group : kept_)
      for (const auto& [heap, blocks] : seen_left_[group]) left[heap] += blocks;
    for (const auto& [heap, blocks] : left)
      report_.sure_blocks += std::max(0.0, blocks - static_cast<double>(exactness_[heap].lost_frees()));
    if (report_.losses.complete()) report_.sure_blocks = report_.shown.blocks.value;
    // How many there were is not known.
    if (report_.frees_unseen || report_.partly_hooked) report_.sure_blocks = 0;
    report_.answer = report_.sure_blocks > 0 ? LeakAnswer::kLeft : LeakAnswer::kNotKnown;
  }

  // Returns the group's place in groups_.
  std::size_t add(const HeapSite& site, const HeapAmounts& amounts, const Ages& ages) {
    // Stacks of many threads and heaps read alike: the texts are made once for each stack.
    const auto [known, is_new] = group_of_stack_.try_emplace(site.stack.value, 0);
    if (is_new) {
      std::vector<LeakFrame> frames = frames_of(site.stack);
      const auto [group, added] = group_of_frames_.try_emplace(frames, groups_.size());
      if (added) {
        groups_.emplace_back();
        groups_.back().frames = std::move(frames);
        threads_.emplace_back();
        seen_left_.emplace_back();
      }
      known->second = group->second;
    }
    LeakGroup& group = groups_[known->second];
    group.amounts.add(amounts);
    ++group.sites;
    if (site.thread != kNoThread) threads_[known->second].insert(thread_name(profile_, site.thread));
    if (ages.oldest < 0) return known->second;
    group.youngest_s = std::min(group.youngest_s.value_or(INFINITY), start_of(ages.youngest));
    // No block is older than the recording, whatever its bucket ends at.
    group.oldest_s =
        std::max(group.oldest_s.value_or(0),
                 std::max(*group.youngest_s, std::min(start_of(ages.oldest + 1), report_.duration_s)));
    return known->second;
  }

  void keep_large() {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      LeakGroup& group = groups_[i];
      if (group.amounts.bytes.value < options_.min_bytes ||
          group.amounts.blocks.value < options_.min_blocks) {
        report_.small.add(group.amounts);
        continue;
      }
      kept_.push_back(i);
      group.threads.assign(threads_[i].begin(), threads_[i].end());
      report_.shown.add(group.amounts);
      report_.groups.push_back(std::move(group));
    }
    std::sort(report_.groups.begin(), report_.groups.end(), [](const LeakGroup& a, const LeakGroup& b) {
      const auto amounts = [](const LeakGroup& group) {
        return std::pair(-group.amounts.bytes.value, -group.amounts.blocks.value);
      };
      return amounts(a) != amounts(b) ? amounts(a) < amounts(b) : a.frames < b.frames;
    });
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      uses_[i].suppression = &report_.suppressions[i];
      if (uses_[i].sites != 0) report_.uses.push_back(uses_[i]);
    }
    stable_sort_rows(report_.uses.begin(), report_.uses.end(),
                     [](const SuppressionUse& a, const SuppressionUse& b) {
                       return a.taken.bytes.value > b.taken.bytes.value;
                     });
  }

  const Profile& profile_;
  const LeakOptions& options_;
  HeapLeaves leaves_;
  LeakReport report_;
  std::vector<SuppressionUse> uses_;
  std::vector<LeakGroup> groups_;
  std::vector<HeapExactness> exactness_;  // by heap
  std::vector<double> known_;             // by site
  std::vector<std::set<std::string>> threads_;
  std::vector<std::map<std::uint32_t, double>> seen_left_;  // by group: blocks by heap
  std::vector<std::size_t> kept_;                           // groups that are shown
  std::map<std::uint32_t, std::size_t> group_of_stack_;
  std::map<std::vector<LeakFrame>, std::size_t> group_of_frames_;
};

}  // namespace

std::string_view to_string(LeakAnswer answer) {
  switch (answer) {
    case LeakAnswer::kNothing:
      return "nothing";
    case LeakAnswer::kLeft:
      return "left";
    case LeakAnswer::kNotKnown:
      return "not known";
  }
  return "";
}

Result<LeakReport> find_leaks(const Profile& profile, const LeakOptions& options) {
  return Finder(profile, options).find();
}

}  // namespace fathom::analysis
