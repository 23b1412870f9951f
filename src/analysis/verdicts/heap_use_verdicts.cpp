// Errors of those who free, and what allocators set aside beyond what was asked for. Of the whole recording.
#include <algorithm>
#include <map>

#include "analysis/verdicts/heap_judge.h"

namespace fathom::analysis {
namespace {

using namespace model;

constexpr double kLeastSlackBytes = 256 * 1024, kLeastSlackShare = 0.1;

// Of one function.
struct Use {
  HeapSum wrong_size, foreign, twice;
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
    if (!use.seen || row.wrong_size.blocks + row.foreign.blocks + row.twice.blocks > 0) use.site = row.site;
    use.seen = true;
    use.wrong_size.blocks += row.wrong_size.blocks;
    use.wrong_size.bytes += row.wrong_size.bytes;
    use.foreign.blocks += row.foreign.blocks;
    use.foreign.bytes += row.foreign.bytes;
    use.twice.blocks += row.twice.blocks;
    use.twice.bytes += row.twice.bytes;
    if (row.foreign.blocks > 0)
      use.allocators[std::string(judge.profile.strings[heap.allocators[row_site.allocator.value].label])] +=
          row.foreign.blocks;
    if (row.live_usable <= 0) continue;
    use.usable += row.live_usable;
    use.requested += judge.sums.sites()[row.site.value].leaked.bytes.value;
  }
  return uses;
}

HeapPlace place(const HeapJudge& judge, const std::pair<std::string, std::string>& name, const Use& use) {
  const auto path =
      path_to_heap(judge.profile, judge.leaves, judge.profile.heap.sites[use.site.value].stack, 2);
  HeapPlace found{.name = name.first, .module = name.second, .caller = {}, .callers = {}};
  if (path.size() > 1) found.callers.push_back(path[1]);
  return found;
}

void add_error(const HeapJudge& judge, HeapVerdictKind kind, const std::pair<std::string, std::string>& name,
               const Use& use, const HeapSum& sum, std::vector<HeapVerdict>& out) {
  HeapVerdict verdict = judge.verdict(kind, nullptr);
  verdict.function = name.first;
  verdict.module = name.second;
  verdict.bytes = sum.bytes;
  verdict.numbers = {{"blocks", sum.blocks}, {"bytes", sum.bytes}};
  verdict.shares.push_back(
      {name.first, name.second, "", sum.bytes, 1,
       path_to_heap(judge.profile, judge.leaves, judge.profile.heap.sites[use.site.value].stack, 4)});
  verdict.of_whole = false;
  verdict.facts.place = place(judge, name, use);
  verdict.facts.blocks = sum.blocks;
  if (kind == HeapVerdictKind::kForeignFree) {
    for (const auto& [label, blocks] : use.allocators) verdict.facts.given_by.push_back(label);
    verdict.advice = {HeapAdviceKind::kOneAllocator};
  } else if (kind == HeapVerdictKind::kFreedTwice) {
    verdict.advice = {HeapAdviceKind::kOneOwner};
  } else {
    verdict.advice = {HeapAdviceKind::kLookAtDeletes};
  }
  verdict.evidence.push_back({HeapEvidenceKind::kInAll, sum.bytes});
  if (judge.history.sampled) verdict.evidence.push_back({HeapEvidenceKind::kEstimated});
  doubt_few_samples(verdict);
  settle(verdict);
  out.push_back(std::move(verdict));
}

}  // namespace

void judge_use(const HeapJudge& judge, std::vector<HeapVerdict>& out) {
  const Uses uses = uses_of(judge);
  const bool proves_errors = judge.pairing.proves_errors();
  double requested = 0, usable = 0;
  for (const auto& [name, use] : uses) {
    if (proves_errors && use.foreign.blocks > 0)
      add_error(judge, HeapVerdictKind::kForeignFree, name, use, use.foreign, out);
    if (proves_errors && use.wrong_size.blocks > 0)
      add_error(judge, HeapVerdictKind::kWrongSize, name, use, use.wrong_size, out);
    if (proves_errors && use.twice.blocks > 0)
      add_error(judge, HeapVerdictKind::kFreedTwice, name, use, use.twice, out);
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
          {name.first, name.second, "", part, part / slack,
           path_to_heap(judge.profile, judge.leaves, judge.profile.heap.sites[use.site.value].stack, 4)});
  std::sort(verdict.shares.begin(), verdict.shares.end(),
            [](const HeapShare& a, const HeapShare& b) { return a.bytes > b.bytes; });
  verdict.facts.usable_bytes = usable;
  verdict.evidence.push_back({HeapEvidenceKind::kSizeClasses});
  verdict.advice = {HeapAdviceKind::kMindSizeClasses};
  doubt_few_samples(verdict);
  settle(verdict);
  out.push_back(std::move(verdict));
}

}  // namespace fathom::analysis
