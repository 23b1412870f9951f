// Errors of those who free, and what allocators set aside beyond what was asked for. Of the whole recording.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/core/words.h"
#include "analysis/verdicts/heap_judge.h"

namespace fathom::analysis {
namespace {

using namespace model;

constexpr double kLeastSlackBytes = 256 * 1024, kLeastSlackShare = 0.1;

// Of one function.
struct Use {
  HeapSum wrong_size, foreign;
  double requested = 0, usable = 0;          // of sites whose allocator's rule is known
  std::map<std::string, double> allocators;  // foreign blocks by who gave them
  HeapSiteId site;                           // one of its sites, with errors if there are any
  bool seen = false;
};

using Uses = std::map<std::pair<std::string, std::string>, Use>;

Uses uses_of(const HeapJudge& judge) {
  const HeapTables& heap = judge.profile.heap;
  Uses uses;
  for (const HeapUse& row : heap.uses) {
    const HeapSite& row_site = heap.sites[row.site.value];
    if (heap.heaps[row_site.heap.value].process != judge.history.process || !judge.sums.takes(row.site))
      continue;
    Use& use = uses[function_that_asked(judge.profile, judge.leaves, row_site.stack)];
    if (!use.seen || row.wrong_size.blocks + row.foreign.blocks > 0) use.site = row.site;
    use.seen = true;
    use.wrong_size.blocks += row.wrong_size.blocks;
    use.wrong_size.bytes += row.wrong_size.bytes;
    use.foreign.blocks += row.foreign.blocks;
    use.foreign.bytes += row.foreign.bytes;
    if (row.foreign.blocks > 0)
      use.allocators[std::string(judge.profile.strings[heap.allocators[row_site.allocator.value].label])] +=
          row.foreign.blocks;
    if (row.live_usable <= 0) continue;
    use.usable += row.live_usable;
    use.requested += judge.sums.sites()[row.site.value].leaked.bytes.value;
  }
  return uses;
}

std::string place(const HeapJudge& judge, const std::pair<std::string, std::string>& name, const Use& use) {
  const auto path =
      path_to_heap(judge.profile, judge.leaves, judge.profile.heap.sites[use.site.value].stack, 2);
  return printable(name.first) + (name.second.empty() ? "" : " in " + printable(name.second)) +
         (path.size() > 1 ? " (called by " + printable(path[1]) + ")" : "");
}

void add_error(const HeapJudge& judge, HeapVerdictKind kind, const std::pair<std::string, std::string>& name,
               const Use& use, const HeapSum& sum, std::vector<HeapVerdict>& out) {
  HeapVerdict verdict = judge.verdict(kind, nullptr);
  verdict.function = name.first;
  verdict.module = name.second;
  verdict.bytes = sum.bytes;
  verdict.numbers = {{"blocks", sum.blocks}, {"bytes", sum.bytes}};
  verdict.shares.push_back(
      {name.first, name.second, sum.bytes, 1,
       path_to_heap(judge.profile, judge.leaves, judge.profile.heap.sites[use.site.value].stack, 4)});
  if (kind == HeapVerdictKind::kForeignFree) {
    std::string from;
    for (const auto& [label, blocks] : use.allocators) from += (from.empty() ? "" : ", ") + printable(label);
    verdict.sentence =
        fmt::format("Error: {} of {} were freed through another allocator than the one that gave them ({}).",
                    blocks_text(sum.blocks), place(judge, name, use), from);
    verdict.advice =
        "two allocators in one process: give blocks back through the library that made them, or link one "
        "allocator for all";
  } else {
    verdict.sentence = fmt::format("Error: {} of {} were freed with a size that is not theirs.",
                                   blocks_text(sum.blocks), place(judge, name, use));
    verdict.advice =
        "sized deletes and sdallocx trust the size: look for a delete through a base class without virtual "
        "destructor, or a length that changed since";
  }
  verdict.evidence.push_back(fmt::format("{} in all", bytes(sum.bytes)));
  if (judge.history.sampled) verdict.evidence.push_back("estimated from sampled blocks");
  settle(verdict);
  out.push_back(std::move(verdict));
}

}  // namespace

void judge_use(const HeapJudge& judge, std::vector<HeapVerdict>& out) {
  const Uses uses = uses_of(judge);
  double requested = 0, usable = 0;
  for (const auto& [name, use] : uses) {
    if (use.foreign.blocks > 0) add_error(judge, HeapVerdictKind::kForeignFree, name, use, use.foreign, out);
    if (use.wrong_size.blocks > 0)
      add_error(judge, HeapVerdictKind::kWrongSize, name, use, use.wrong_size, out);
    requested += use.requested;
    usable += use.usable;
  }
  const double slack = usable - requested;
  if (slack < kLeastSlackBytes || slack < kLeastSlackShare * usable) return;
  HeapVerdict verdict = judge.verdict(HeapVerdictKind::kSlack, nullptr);
  verdict.bytes = slack;
  verdict.numbers = {{"usable_bytes", usable}, {"requested_bytes", requested}};
  for (const auto& [name, use] : uses)
    if (const double part = use.usable - use.requested; part > 0.05 * slack)
      verdict.shares.push_back(
          {name.first, name.second, part, part / slack,
           path_to_heap(judge.profile, judge.leaves, judge.profile.heap.sites[use.site.value].stack, 4)});
  std::sort(verdict.shares.begin(), verdict.shares.end(),
            [](const HeapShare& a, const HeapShare& b) { return a.bytes > b.bytes; });
  std::string by;
  for (std::size_t i = 0; i < std::min<std::size_t>(2, verdict.shares.size()); ++i)
    by += fmt::format("{}{} of that for {}", i == 0 ? "; " : ", ", percent(verdict.shares[i].share),
                      printable(verdict.shares[i].name));
  verdict.sentence = fmt::format(
      "Of {} that the allocators set aside for what is live at the end, {} ({}) were not asked for{}.",
      bytes(usable), bytes(slack), percent(slack / usable), by);
  verdict.evidence.push_back("by the allocators' rules of size classes; what their pages waste is not in it");
  verdict.advice =
      "sizes just above a class waste most: ask for what a class holds, or put small blocks together";
  settle(verdict);
  out.push_back(std::move(verdict));
}

}  // namespace fathom::analysis
