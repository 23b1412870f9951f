#include "model/rare_stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <tuple>
#include <vector>

namespace fathom::model {
namespace {

// Values of broken files have any size.
void add_up(std::int64_t& sum, std::int64_t value) {
  if (__builtin_add_overflow(sum, value, &sum)) sum = INT64_MAX;
}

// By stack, with what it calls. Values below 0 count as none, so that no caller is worth less than what it calls.
std::vector<std::int64_t> totals_of(const Profile& profile) {
  std::vector<std::int64_t> totals(profile.stacks.size());
  for (const Sample& sample : profile.samples)
    add_up(totals[sample.stack.value], std::max<std::int64_t>(sample.value, 0));
  for (std::size_t i = totals.size(); i-- > 1;) add_up(totals[profile.stacks[i].parent.value], totals[i]);
  return totals;
}

// For each stack whether it stays. Of those that are worth as much as the last one, the first ones do.
std::vector<char> choose(const Profile& profile, const std::vector<std::int64_t>& totals, std::size_t most) {
  std::vector<std::int64_t> sorted(totals.begin() + 1, totals.end());
  const auto last = sorted.begin() + static_cast<std::ptrdiff_t>(most);
  std::nth_element(sorted.begin(), last, sorted.end(), std::greater<>());
  const std::int64_t least = *last;
  std::size_t of_least = most - static_cast<std::size_t>(std::count_if(
                                    sorted.begin(), last, [&](std::int64_t total) { return total > least; }));
  std::vector<char> kept(totals.size());
  kept[0] = 1;
  for (std::size_t i = 1; i < totals.size(); ++i) {
    if (kept[profile.stacks[i].parent.value] == 0 || totals[i] < least) continue;
    if (totals[i] == least && of_least == 0) continue;
    if (totals[i] == least) --of_least;
    kept[i] = 1;
  }
  return kept;
}

}  // namespace

void add_up_equal_samples(Profile& profile) {
  std::vector<Sample>& samples = profile.samples;
  const auto key = [](const Sample& sample) {
    return std::tie(sample.stack, sample.thread, sample.time_ns, sample.cpu, sample.metric, sample.end);
  };
  std::ranges::sort(samples, [&](const Sample& a, const Sample& b) { return key(a) < key(b); });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (kept > 0 && key(samples[kept - 1]) == key(samples[i]))
      add_up(samples[kept - 1].value, samples[i].value);
    else
      samples[kept++] = samples[i];
  }
  samples.resize(kept);
  samples.shrink_to_fit();
}

void fold_rare_stacks(Profile& profile, std::size_t most, RareStacks& folded) {
  if (profile.stacks.size() <= most + 1) return;
  std::vector<StackId> moved(profile.stacks.size());
  {
    const std::vector<std::int64_t> totals = totals_of(profile);
    const std::vector<char> kept = choose(profile, totals, most);
    std::uint32_t next = 1;
    for (std::size_t i = 1; i < moved.size(); ++i) {
      const StackId parent = moved[profile.stacks[i].parent.value];
      moved[i] = kept[i] != 0 ? StackId{next} : parent;
      if (kept[i] != 0)
        profile.stacks[next++] = {parent, profile.stacks[i].frame};
      else
        folded.largest = std::max(folded.largest, totals[i]);
    }
    for (const Sample& sample : profile.samples)
      if (kept[sample.stack.value] == 0) add_up(folded.value, std::max<std::int64_t>(sample.value, 0));
    folded.stacks += profile.stacks.size() - next;
    profile.stacks.resize(next);
    profile.stacks.shrink_to_fit();
  }
  for (Sample& sample : profile.samples) sample.stack = moved[sample.stack.value];
  add_up_equal_samples(profile);
}

std::string RareStacks::note(std::int64_t total) const {
  if (stacks == 0) return "";
  const double share = total > 0 ? std::min(1.0, static_cast<double>(value) / static_cast<double>(total)) : 0;
  return fmt::format(
      "The file has more different stacks than fathom keeps ({} million): {} rare calls, each with at most {:.2g} % of all, are merged into their callers. At most {:.1f} % of all lost its innermost calls this way; the sums are exact.",
      kMostStacks / 1'000'000, stacks,
      total > 0 ? 100 * static_cast<double>(largest) / static_cast<double>(total) : 0, 100 * share);
}

}  // namespace fathom::model
