#include "cli/until_stable.h"

#include <fmt/format.h>

#include <algorithm>

namespace fathom::cli {
namespace {

constexpr std::uint64_t kLookEvery_ns = 1'000'000'000;

// Names come later than samples: what is not known yet is a place of its own until then. What will never have a name is
// counted by module.
std::uint64_t function_of(const model::Profile& profile, std::uint32_t leaf) {
  constexpr std::uint64_t kModules = std::uint64_t{1} << 32;
  if (leaf >= profile.frames.size()) return 0;
  const model::Frame& frame = profile.frames[leaf];
  if (frame.line_count == 0) return kModules + frame.module.value;
  return profile.lines[frame.first_line].function.value;
}

}  // namespace

std::vector<analysis::KnownShare> StableCompanion::top(const model::Profile& profile,
                                                       std::uint64_t now_ns) const {
  const std::uint64_t start_ns = profile.meta.start_ns;
  return shares_.top(now_ns > start_ns ? now_ns - start_ns : 0, kStableFunctions,
                     [&](std::uint32_t leaf) { return function_of(profile, leaf); });
}

void StableCompanion::step(const Lent& lent, std::uint64_t now_ns) {
  now_ns_ = now_ns;
  if (now_ns < next_look_ns_ || precise_looks_ >= kLooks) return;
  next_look_ns_ = now_ns + kLookEvery_ns;
  // What came in the last second is taken in at the next save.
  const auto shares = top(lent.profile, now_ns - std::min(now_ns, 2 * kLookEvery_ns));
  const bool precise =
      !shares.empty() && std::ranges::all_of(shares, [this](const analysis::KnownShare& share) {
        return share.half_width <= precision_;
      });
  precise_looks_ = precise ? precise_looks_ + 1 : 0;
  if (precise_looks_ >= kLooks) lent.end_recording();
}

session::Companion::Save StableCompanion::before_save(const Lent& lent, bool last) {
  const model::Profile& profile = lent.profile;
  if (last) finish(lent.profile);
  for (const model::Sample& sample : profile.samples) {
    if (sample.metric != model::Metric::kCpu || sample.time_ns < profile.meta.start_ns) continue;
    shares_.add(sample.time_ns - profile.meta.start_ns, profile.stacks[sample.stack.value].frame.value,
                sample.value);
  }
  return Save::kAppend;
}

void StableCompanion::finish(model::Profile& profile) {
  const double seconds = static_cast<double>(now_ns_ - std::min(now_ns_, profile.meta.start_ns)) * 1e-9;
  const auto shares = top(profile, now_ns_);
  double widest = 0;
  for (const analysis::KnownShare& share : shares) widest = std::max(widest, share.half_width);
  const std::string known =
      shares.empty()
          ? "there were too few samples to say how well shares are known"
          : fmt::format(
                "the shares of the {} that take most CPU time by themselves are known to ±{:.2f} points (95 %), where ±{:g} was asked for",
                shares.size() == 1 ? "function" : fmt::format("{} functions", shares.size()), 100 * widest,
                100 * precision_);
  sentence_ = fmt::format("{} {:.1f} s: {}",
                          precise_looks_ >= kLooks ? "recorded until shares were stable, for"
                                                   : "shares were not stable at the end, after",
                          seconds, known);
  profile.quality.notes.push_back(sentence_);
  profile.meta.facts["until_stable"] =
      fmt::format("{} {:.4f} {:.4f}", precise_looks_ >= kLooks ? "reached" : "missed", precision_, widest);
}

}  // namespace fathom::cli
