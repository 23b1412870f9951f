#include "analysis/core/heap_losses.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "analysis/core/words.h"

namespace fathom::analysis {
namespace {

using namespace model;

constexpr std::size_t kMostRanges = 3;

double seconds_into(const Profile& profile, std::uint64_t time_ns) {
  return (static_cast<double>(time_ns) - static_cast<double>(profile.meta.start_ns)) * 1e-9;
}

std::string number(std::uint64_t count) {
  return with_commas(static_cast<std::int64_t>(std::min<std::uint64_t>(count, INT64_MAX)));
}

std::string events_text(const HeapExactness& exactness) {
  std::string text, reasons;
  const auto reason = [&](std::uint64_t count, std::string_view what) {
    if (count != 0) reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", number(count), what);
  };
  reason(exactness.lost_ring_full, "found no room");
  reason(exactness.lost_no_ring, "had no ring");
  reason(exactness.lost_throwing, "of a failing operator new");
  reason(exactness.lost_set_full, "beyond the set of samples");
  if (const std::uint64_t lost = exactness.lost(); lost != 0)
    text = fmt::format("{} of {} events {} lost ({})", number(lost), number(exactness.events + lost),
                       lost == 1 ? "was" : "were", reasons);
  if (exactness.damaged_rings != 0)
    text += fmt::format("{}{} given up as what stood there made no sense", text.empty() ? "" : "; ",
                        counted(exactness.damaged_rings, "ring was", "rings were"));
  return text;
}

std::string stretches_text(const HeapLosses& losses) {
  if (losses.outages.empty())
    return losses.exactness.switched_off ? "the end was not recorded, as fathom did not answer" : "";
  std::string text = "nothing was recorded ";
  for (std::size_t i = 0; i < std::min(losses.outages.size(), kMostRanges); ++i)
    text += fmt::format("{}from {} to {}", i == 0 ? "" : ", ", seconds(losses.outages[i].from_s),
                        seconds(losses.outages[i].to_s));
  if (losses.outages.size() > kMostRanges)
    text +=
        fmt::format(" and in {} more", counted(losses.outages.size() - kMostRanges, "stretch", "stretches"));
  return text + ", as fathom did not answer";
}

}  // namespace

std::string HeapLosses::text() const {
  return events + (events.empty() || stretches.empty() ? "" : "; ") + stretches;
}

std::string dropped_text(const Profile& profile, std::optional<std::int32_t> pid) {
  std::uint64_t images = 0;
  double blocks = 0, memory = 0;
  std::set<std::pair<std::int32_t, std::uint64_t>> programs;  // one has a heap of what it maps, too
  for (const Heap& heap : profile.heap.heaps) {
    const std::int32_t owner = profile.processes[heap.process.value].pid;
    if (!heap.image_ended || (pid && owner != *pid)) continue;
    if (programs.emplace(owner, heap.start_ns).second) ++images;
    blocks += static_cast<double>(heap.dropped_blocks);
    memory += static_cast<double>(heap.dropped_bytes);
  }
  if (images == 0) return "";
  return fmt::format("{} ({}) went with {} that executed another one (exec).",
                     counted(static_cast<std::uint64_t>(std::min(blocks, 9e15)), "block"), bytes(memory),
                     counted(images, "program"));
}

HeapLosses heap_losses(const Profile& profile, std::optional<std::int32_t> pid) {
  HeapLosses losses;
  losses.exactness = exactness_of(profile, pid);
  for (const HeapOutage& outage : profile.heap.outages) {
    if (pid && profile.processes[profile.heap.heaps[outage.heap.value].process.value].pid != *pid) continue;
    losses.outages.push_back({seconds_into(profile, outage.start_ns), seconds_into(profile, outage.end_ns)});
  }
  std::sort(losses.outages.begin(), losses.outages.end(),
            [](const OutageRow& a, const OutageRow& b) { return a.from_s < b.from_s; });
  losses.events = events_text(losses.exactness);
  losses.stretches = stretches_text(losses);
  return losses;
}

}  // namespace fathom::analysis
