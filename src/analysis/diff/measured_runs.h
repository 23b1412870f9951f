// For tests: whole runs of a program with known clock readings, on a machine that can be made as busy as a
// test needs.
#pragma once

#include <string>

#include "analysis/core/hand_made_profile.h"
#include "analysis/diff/diff.h"

namespace fathom::analysis {

struct MeasuredRun {
  double cpu_s = 2;       // by the clock
  double hot = 0.5;       // share of samples in `hot`; the rest is in `part`
  double sampled = 1;     // the fraction of CPU time that produced samples
  double waited = 0;      // of the time when its threads could run, 0 to 1
  bool whole_run = true;  // from start to end; else attached for 10 s
};

inline model::Profile measured_run(const MeasuredRun& run) {
  HandMade hand;
  model::Profile& profile = hand.profile;
  profile.meta.frequency_hz = 1000;
  const double wall_s = run.whole_run ? run.cpu_s / (1 - run.waited) : 10;
  profile.meta.end_ns = profile.meta.start_ns + static_cast<std::uint64_t>(wall_s * 1e9);
  if (run.whole_run) profile.meta.facts.insert({{"command", "app"}, {"exit", "0"}});
  const double waited_ms = 1000 * run.cpu_s * run.waited / (1 - run.waited);
  if (run.waited > 0)
    profile.meta.facts["cpu_wait_ms"] = std::to_string(static_cast<std::uint64_t>(waited_ms));
  const auto app = hand.module("app");
  const auto thread = hand.thread(hand.process(10, "app"), 10, "app");
  profile.threads[0].cpu_ns = static_cast<std::uint64_t>(run.cpu_s * 1e9);
  profile.quality.expected_samples = 1000 * run.cpu_s;
  const auto main = hand.frame(app, {"main"});
  const auto hot = hand.stack({main, hand.frame(app, {"hot"})}),
             part = hand.stack({main, hand.frame(app, {"part"})});
  const int samples = static_cast<int>(1000 * run.cpu_s * run.sampled);
  for (int i = 0; i < samples; ++i) {
    // Evenly, so that the program has no phases: every tenth of the time has its share of `hot`.
    const bool in_hot = static_cast<int>((i + 1) * run.hot) > static_cast<int>(i * run.hot);
    hand.sample(thread, in_hot ? hot : part, 1, wall_s * i / samples);
  }
  profile.quality.samples = static_cast<std::uint64_t>(samples);
  return std::move(profile);
}

}  // namespace fathom::analysis
