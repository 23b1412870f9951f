// What allocators keep resident beyond live blocks, where it stays: free memory that they do not give back, and gaps
// between live blocks. Of the looks at what the memory of the process is made of (model/memory.h).
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "analysis/verdicts/heap_judge.h"

namespace fathom::analysis {
namespace {

using namespace model;

using Evidence = HeapEvidenceKind;
using Doubt = HeapDoubtKind;
using Advice = HeapAdviceKind;

constexpr double kLeastHeld = 8 << 20, kLeastHeldShare = 0.4;
constexpr double kLongEnough_s = 15;  // jemalloc gives back what was free for 10 s

// One allocator at one moment.
struct Look {
  double at_s = 0;
  double resident = 0, huge = 0;  // bytes
  double blocks = 0;              // that are live
  HeapAmount live;                // the resident part of their bytes
  bool shared_out = false;
  // Neither in blocks nor by their sizes' rules: size classes round up by a quarter at most, and small blocks have up to
  // 24 bytes of rounding and 16 of a header.
  double free() const { return std::max(0.0, resident - 1.25 * live.value - 40 * blocks); }
};

// By allocator, in order of time, while the program worked.
std::map<HeapAllocatorId, std::vector<Look>> looks_of(const HeapJudge& judge) {
  const Profile& profile = judge.profile;
  const HeapHistory& history = judge.history;
  HeapAllocatorId libc;
  for (std::uint32_t i = 1; i < profile.heap.allocators.size(); ++i)
    if (profile.strings[profile.heap.allocators[i].label].starts_with("glibc")) libc = {i};
  const double end_s = history.start_s + history.work_seconds() + (history.ended ? 0 : 1);
  std::map<HeapAllocatorId, std::vector<Look>> looks;
  for (const MemoryRange& row : profile.memory_ranges) {
    if (row.process != history.process) continue;
    const double at_s =
        (static_cast<double>(row.time_ns) - static_cast<double>(profile.meta.start_ns)) * 1e-9;
    const HeapAllocatorId allocator = row.kind == MemoryKind::kBreak ? libc : row.allocator;
    if (at_s > end_s || allocator.value == 0 ||
        (row.kind != MemoryKind::kAllocator && row.kind != MemoryKind::kBreak))
      continue;
    std::vector<Look>& of = looks[allocator];
    if (of.empty() || of.back().at_s != at_s) of.push_back({});
    Look& look = of.back();
    look.at_s = at_s;
    look.resident += static_cast<double>(row.rss_bytes);
    look.huge += static_cast<double>(row.huge_bytes);
    look.blocks += row.live_blocks;
    look.live.add({row.live_resident_bytes, row.live_resident_variance});
    look.shared_out = look.shared_out || row.shared_out;
  }
  for (auto& [allocator, of] : looks)
    std::ranges::sort(of, [](const Look& a, const Look& b) { return a.at_s < b.at_s; });
  return looks;
}

Advice remedy_for(std::string_view label) {
  return label.starts_with("jemalloc") ? Advice::kDecaySooner
         : label.starts_with("glibc")  ? Advice::kTrim
                                       : Advice::kAllocatorsOwn;
}

void judge_allocator(const HeapJudge& judge, std::string_view label, const std::vector<Look>& looks,
                     std::vector<HeapVerdict>& out) {
  const Look& last = looks.back();
  // What is free in the sight of an attached recording may be blocks from before it.
  const double earlier = judge.history.from_start ? 0 : looks.front().free();
  const double free = last.free() - earlier;
  if (free - last.live.error() < std::max(kLeastHeld, kLeastHeldShare * last.resident)) return;
  auto since = looks.end() - 1;
  while (since != looks.begin() && std::prev(since)->free() - earlier >= 0.7 * free) --since;
  const double held_s = last.at_s - since->at_s;
  if (last.live.value - since->live.value > 0.25 * free) return;  // it is being filled again
  const auto fullest = std::ranges::max_element(
      looks, [](const Look& a, const Look& b) { return a.live.value < b.live.value; });

  HeapVerdict verdict = judge.verdict(HeapVerdictKind::kHeld, nullptr);
  verdict.bytes = free;
  verdict.facts.allocator = label;
  verdict.facts.held_bytes = last.resident;
  verdict.facts.live_bytes = last.live.value;
  verdict.facts.blocks = last.blocks;
  verdict.facts.since_s = since->at_s;
  for (const auto& [name, value] :
       {std::pair("held_bytes", last.resident), std::pair("live_bytes", last.live.value),
        std::pair("free_bytes", free), std::pair("since_s", since->at_s)})
    verdict.numbers.emplace_back(name, value);
  verdict.evidence.push_back({Evidence::kHeldFor, held_s, static_cast<double>(looks.end() - since)});
  if (fullest->live.value - last.live.value > 0.3 * free)
    verdict.evidence.push_back({Evidence::kLiveFell, fullest->live.value, last.live.value, fullest->at_s});
  else
    verdict.doubts.push_back({Doubt::kNeverSeenLive});
  if (last.huge > 0.5 * last.resident)
    verdict.evidence.push_back({Evidence::kOnHugePages, last.huge / last.resident});
  if (judge.history.sampled) verdict.evidence.push_back({Evidence::kLiveError, last.live.error()});
  if (held_s < kLongEnough_s) verdict.doubts.push_back({Doubt::kHeldShortly, held_s});
  if (last.live.error() > 0.25 * free) verdict.doubts.push_back({Doubt::kFewSampled});
  if (last.shared_out) verdict.doubts.push_back({Doubt::kSharedOut});
  verdict.advice = {remedy_for(label)};
  settle(verdict);
  out.push_back(std::move(verdict));
}

}  // namespace

void judge_held(const HeapJudge& judge, std::vector<HeapVerdict>& out) {
  if (judge.chosen_part) return;  // blocks that were left out lie in the same memory
  // What still grows has another verdict, and the gaps may be filled.
  if (judge.whole.shape == TrendShape::kGrowing || judge.whole.shape == TrendShape::kSteps) return;
  for (const auto& [allocator, looks] : looks_of(judge))
    judge_allocator(judge, judge.profile.strings[judge.profile.heap.allocators[allocator.value].label], looks,
                    out);
}

}  // namespace fathom::analysis
