// Shared by the rules of heap_verdicts.h: one process and its trends.
#pragma once

#include <string>
#include <vector>

#include "analysis/core/heap_losses.h"
#include "analysis/heap/allocator_cpu.h"
#include "analysis/heap/heap_history.h"
#include "analysis/heap/heap_pairing.h"
#include "analysis/verdicts/heap_verdicts.h"

namespace fathom::analysis {

// A measure of how much there was to do. `ratio`: second half of the time against the first.
struct WorkMeasure {
  double ratio = 1;
  bool known = false;
  bool grows = false;  // by a fifth at least, and not by chance
};

struct HeapJudge {
  HeapJudge(const model::Profile& profile, const HeapSums& sums, const HeapHistory& history,
            const std::optional<AllocatorCpu>& cpu, const Selection& selection);

  const model::Profile& profile;
  const HeapSums& sums;
  const HeapHistory& history;
  const std::optional<AllocatorCpu>& cpu;
  Trend whole;
  std::vector<Trend> trends, stack_trends;  // of history.functions, history.stacks
  double growth = 0;                        // of the whole heap, by its line; 0 where it does not grow
  WorkMeasure calls, cpu_use;
  bool rss_known = false;
  bool traced_part = false;  // there are untraced allocators
  bool chosen_part = false;  // the selection leaves out some blocks: of the process nothing follows from them
  mutable HeapLeaves leaves;
  HeapLosses losses;
  HeapPairing pairing;
  double rss_per_s = 0, rss_seconds = 0;  // growth of the anonymous memory over so many seconds
  Trend rss;  // of it: the kernel counts every page, so sampling has no part in its error

  HeapVerdict verdict(HeapVerdictKind kind, const HeapTrack* track) const;
  // The function and its callers; of one stack with more of them.
  HeapPlace place(const HeapTrack& track, bool one_stack = false) const;
  // With the stack that grew most, or where none did, that of which most is live.
  HeapShare share_of(const HeapTrack& track, double bytes, double all) const;
  // HeapShare::caller.
  std::string named_caller(const HeapTrack& track) const;
  // The stacks that make most of the track's growth, each with its share of `all`.
  std::vector<HeapShare> stacks_of(const HeapTrack& track, double all) const;
  // Bytes per second: a growth of the track below this would look like none. `level`: what is live.
  double unseen_growth(const HeapTrack& track, const Trend& trend, double level) const;
  // A container that was made larger has room: until that is full, its growth asks for nothing. Bytes per second by
  // which it may have grown since, unseen; 0: the track has no such container.
  double growth_in_room(const HeapTrack& track) const;
  // Live bytes in the middle of all moments, half above and half below.
  double usual_level(const HeapTrack& track) const;
  // What every verdict says about missing data: a doubt, or if it is very little a part of the evidence. Where anything is
  // missing, no verdict is of high confidence.
  void add_losses(HeapVerdict& verdict) const;
};

inline void number(HeapVerdict& verdict, const char* name, double value) {
  verdict.numbers.emplace_back(name, value);
}

// More doubts, less confidence.
void settle(HeapVerdict& verdict);
// Where HeapVerdict::bytes rests on so few sampled blocks that half of it may be chance.
void doubt_few_samples(HeapVerdict& verdict);

// Each adds its verdicts.
void judge_growth(const HeapJudge& judge, std::vector<HeapVerdict>& out);
void judge_held(const HeapJudge& judge, std::vector<HeapVerdict>& out);
void judge_peak(const HeapJudge& judge, std::vector<HeapVerdict>& out);
void judge_exit(const HeapJudge& judge, std::vector<HeapVerdict>& out);
void judge_churn(const HeapJudge& judge, std::vector<HeapVerdict>& out);
void judge_steady(const HeapJudge& judge, std::vector<HeapVerdict>& out);
void judge_use(const HeapJudge& judge, std::vector<HeapVerdict>& out);

}  // namespace fathom::analysis
