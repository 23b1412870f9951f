#include "analysis/core/waits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "analysis/core/known_waker.h"
#include "analysis/core/places_at_rest.h"
#include "model/wait_sums.h"

namespace fathom::analysis {

std::int64_t weighted_ns(std::uint64_t ns, std::uint32_t weight) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(ns, std::uint64_t{weight}, &product) || product > kMost) product = kMost;
  return static_cast<std::int64_t>(product);
}

std::int64_t weighted_ns(std::uint64_t ns, const WaitWeight& weight) {
  if (weight.times == static_cast<float>(weight.count)) return weighted_ns(ns, weight.count);
  const double product = static_cast<double>(ns) * static_cast<double>(weight.times);
  return product < 9e18 ? static_cast<std::int64_t>(product + 0.5) : std::numeric_limits<std::int64_t>::max();
}

std::int64_t value_of(const model::Sample& sample, model::Metric metric, double period_ns) {
  if (metric != model::Metric::kWall || sample.metric != model::Metric::kCpu || period_ns == 1)
    return sample.value;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const double value = static_cast<double>(sample.value) * period_ns;
  if (value >= static_cast<double>(kMost)) return kMost;
  return value <= -static_cast<double>(kMost) ? -kMost : static_cast<std::int64_t>(value);
}

namespace {

// WaitWeight::per_ns of rows that were added up and not drawn: any of them makes the part that is known all of the sum.
constexpr float kExactSums = std::numeric_limits<float>::max();

}  // namespace

void WaitSum::add(std::uint64_t ns, WaitWeight weight) {
  ++walked_;
  waits_ += weight.count;
  max_ns_ = std::max(max_ns_, ns);
  if (__builtin_add_overflow(total_ns_, weighted_ns(ns, weight), &total_ns_))
    total_ns_ = std::numeric_limits<std::int64_t>::max();
  const auto duration = static_cast<double>(ns);
  const double count = weight.count, times = static_cast<double>(weight.times), others = times - 1;
  variance_ += duration * duration * times * others;
  if (weight.per_ns < kExactSums) count_variance_ += count * (count - 1);
  part_ += duration * others * static_cast<double>(weight.per_ns);
}

double WaitSum::variance() const {
  constexpr double kAll = 1 - 1e-5;  // of sums of floats
  return part_ >= kAll ? 0 : variance_ * (1 - part_);
}

double WaitSum::error_ns() const {
  return 1.959964 * std::sqrt(variance());
}

double WaitSum::waits_error() const {
  return 1.959964 * std::sqrt(count_variance_);
}

namespace {

// A thread's part in a window: its life, what the scheduler or a wait on record explains, and what those waits represent.
struct WindowOfThread {
  double life = 0, ran = 0, own = 0, others = 0;  // ns
};

// Did the scheduler report all of its life? Rows that many short-lived threads share have more.
bool is_booked(const model::Thread& thread, double life_ns) {
  const auto booked = static_cast<double>(thread.ran_ns + thread.waited_ns + thread.queued_ns);
  constexpr double kNear = 0.05;
  return std::abs(booked - life_ns) <= kNear * life_ns;
}

// The sums of a thread are known for the whole recording only. In a part of it, what it neither ran nor spent in waits on record is
// the most that is left for the waits that these represent; so a thread never waits for longer than the part lasts.
void fit_to_window(const model::Profile& profile, const Selection& selection,
                   std::vector<SelectedWait>& rows) {
  const double period = sample_period_ns(profile);
  if (period == 0 || profile.meta.end_ns <= profile.meta.start_ns) return;
  const std::uint64_t start = profile.meta.start_ns;
  const std::uint64_t from = start + selection.from_ns.value_or(0);
  const std::uint64_t to = selection.to_ns ? start + *selection.to_ns : profile.meta.end_ns;
  const Filter filter(profile, selection);
  std::vector<WindowOfThread> windows(profile.threads.size());
  for (const SelectedWait& row : rows) {
    WindowOfThread& window = windows[profile.all_waits()[row.row].thread.value];
    window.own += static_cast<double>(row.waited_ns + row.queued_ns);
    window.others +=
        (row.weight - 1.0) * (static_cast<double>(row.waited_ns) * static_cast<double>(row.scale) +
                              static_cast<double>(row.queued_ns) * static_cast<double>(row.queue_scale));
  }
  for (const model::Sample& sample : profile.all_samples())
    if (sample.metric == model::Metric::kCpu && filter.takes_time(sample.time_ns))
      windows[sample.thread.value].ran += static_cast<double>(sample.value) * period;
  const auto length = [](std::uint64_t first, std::uint64_t end) {
    return end > first ? static_cast<double>(end - first) : 0;
  };
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const model::Thread& thread = profile.threads[i];
    const std::uint64_t born = std::max(start, thread.start_ns);
    const std::uint64_t dead =
        thread.end_ns == 0 ? profile.meta.end_ns : std::min(thread.end_ns, profile.meta.end_ns);
    if (is_booked(thread, length(born, dead)))
      windows[i].life = length(std::max(from, born), std::min(to, dead));
  }
  for (SelectedWait& row : rows) {
    const WindowOfThread& window = windows[profile.all_waits()[row.row].thread.value];
    if (row.weight == 1 || window.life <= 0 || window.others <= 0) continue;
    const double left = std::max(0.0, window.life - window.ran - window.own);
    const auto scale = static_cast<float>(std::min(1.0, left / window.others));
    row.scale *= scale;
    row.queue_scale *= scale;
  }
}

}  // namespace

Waits::Waits(const model::Profile& profile, const Selection& selection)
    : profile_(profile), causes_(profile), idle_(profile, built_in_idle_rules()) {
  const Filter filter(profile, selection);
  const KnownWakers wakers(profile, causes_);
  const bool whole = !selection.from_ns && !selection.to_ns;
  rows_.reserve(profile.all_waits().size());
  std::uint32_t at = 0;
  for (const model::Wait& wait : profile.all_waits()) {
    SelectedWait row;
    row.row = at++;
    row.weight = wait.weight;
    row.waited_ns = filter.inside(wait.start_ns, wait.waited_ns);
    row.queued_ns = filter.inside(wait.start_ns + wait.waited_ns, wait.queued_ns);
    const bool seen = whole || row.waited_ns + row.queued_ns > 0 ||
                      (wait.waited_ns + wait.queued_ns == 0 && filter.takes_time(wait.start_ns));
    if (!seen || !filter.takes_thread(wait.thread)) {
      ++filtered_;
      continue;
    }
    row.cause = causes_.of(wait);
    row.queue_cause = causes_.of_queue(wait);
    if (!wakers.is_work(wait, row.cause)) row.idle = idle_.rule_of(wait, row.cause);
    rows_.push_back(row);
  }
  const bool are_sums = profile.meta.facts.contains(model::kWaitSumsFact);
  if (are_sums)
    per_unwalked_ns_ = kExactSums;
  else
    scale_to_known_sums(whole);
  if (!whole && !are_sums &&
      std::ranges::any_of(rows_, [](const SelectedWait& row) { return row.weight > 1; }))
    fit_to_window(profile_, selection, rows_);
  keep_crowds();
  find_rest();
  keep_chosen(selection);
}

// The scheduler knows how long each thread waited and stood in the queue inside of the recording. A part of the recording is scaled
// as the whole, before it is fitted to its length.
void Waits::scale_to_known_sums(bool whole) {
  if (std::ranges::none_of(rows_, [](const SelectedWait& row) { return row.weight > 1; })) return;
  struct Sums {
    double own = 0, others = 0;  // ns: of the rows themselves, and of the other waits they represent
    float scale = 1;
    void add(std::uint64_t ns, std::uint32_t weight) {
      own += static_cast<double>(ns);
      others += static_cast<double>(ns) * (weight - 1.0);
    }
    // Whether it could: then the sum is known.
    bool fit(std::uint64_t known_ns) {
      if (others <= 0) return true;
      const double wanted = (static_cast<double>(known_ns) - own) / others;
      // A draw is not that far off; such a total is about other waits, or damaged.
      constexpr double kFarthest = 10;
      if (wanted < 1 / kFarthest || wanted > kFarthest) return false;
      scale = static_cast<float>(wanted);
      return true;
    }
    double unwalked() const { return others * static_cast<double>(scale); }
  };
  std::vector<std::array<Sums, 2>> threads(profile_.threads.size());  // waited, queued
  for (const model::Wait& wait : profile_.all_waits()) {
    std::array<Sums, 2>& sums = threads[wait.thread.value];
    sums[0].add(wait.waited_ns, wait.weight);
    sums[1].add(wait.queued_ns, wait.weight);
  }
  double unwalked = 0;
  bool all_known = whole;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    auto& [waited, queued] = threads[i];
    if (waited.others + queued.others <= 0) continue;
    const model::Thread& thread = profile_.threads[i];
    const bool booked = thread.unwalked_waits != 0;
    all_known = booked && waited.fit(thread.waited_ns) && all_known;
    if (booked) (void)queued.fit(thread.queued_ns);
    unwalked += waited.unwalked();  // of the queue less is claimed than is known
  }
  if (all_known && unwalked > 0) per_unwalked_ns_ = static_cast<float>(1 / unwalked);
  for (SelectedWait& row : rows_) {
    if (row.weight == 1) continue;
    const std::array<Sums, 2>& sums = threads[wait(row).thread.value];
    row.scale = sums[0].scale;
    row.queue_scale = sums[1].scale;
  }
}

void Waits::find_rest() {
  const std::optional<std::uint8_t> rule = idle_.rule_of_rest();
  if (!rule || profile_.all_waits().empty()) return;
  const PlacesAtRest places(
      profile_, causes_,
      [this](const model::Wait& wait) {
        const auto named = idle_.rule_of(wait, causes_.of(wait));
        return named && idle_.crowd(*named) == 0;
      },
      idle_.rest(*rule));
  for (SelectedWait& row : rows_)
    if (!row.idle && row.cause == Cause::kFutex && places.holds(wait(row))) row.idle = *rule;
}

// The two parts of a wait are two frames above its stack: each is taken by itself.
void Waits::keep_chosen(const Selection& selection) {
  if (!selection.stacks) return;
  const StackChoice& choice = *selection.stacks;
  std::vector<SelectedWait> kept;
  for (SelectedWait& row : rows_) {
    const char stack = choice.marks[wait(row).stack.value];
    char waited = stack;
    // Folded, an idle wait shows the rule in the place of its cause.
    if (row.idle) waited = static_cast<char>(waited | choice.of_idle[*row.idle]);
    if (!row.idle || !selection.fold_idle)
      waited = static_cast<char>(waited | choice.of_cause[static_cast<std::size_t>(row.cause)]);
    const char queued = static_cast<char>(stack | choice.of_cause[static_cast<std::size_t>(row.queue_cause)]);
    const bool takes_waited = choice.takes(waited), takes_queued = choice.takes(queued);
    const bool takes_any =
        (takes_waited && (row.waited_ns != 0 || row.queued_ns == 0)) || (takes_queued && row.queued_ns != 0);
    if (!takes_any) {
      ++filtered_;
      continue;
    }
    if (!takes_waited) {
      row.waited_ns = 0;
      row.idle.reset();
    }
    if (!takes_queued) row.queued_ns = 0;
    kept.push_back(row);
  }
  rows_ = std::move(kept);
}

// A rule that asks for a crowd was believed so far.
void Waits::keep_crowds() {
  constexpr double kNearlyAll = 0.9;  // of the recording
  const auto asks = [&](const SelectedWait& row) { return row.idle && idle_.crowd(*row.idle) != 0; };
  // glibc's condition variable has two words to wait at, which take turns, 4 bytes apart.
  const auto place = [&](const SelectedWait& row) {
    const model::WaitObject& object = profile_.objects[wait(row).object.value];
    return std::tuple(*row.idle, object.pid, object.address & ~std::uint64_t{7});
  };
  using Place = std::tuple<std::uint8_t, std::int32_t, std::uint64_t>;
  std::map<Place, std::map<std::uint32_t, double>> parked;
  // Threads that nothing woke may be stuck as well as idle: what shows a pool is that one of them got work, or looked for some.
  std::set<Place> woken;
  for (const SelectedWait& row : rows_)
    if (asks(row) && wait(row).object.value != 0) {
      parked[place(row)][wait(row).thread.value] +=
          static_cast<double>(weighted_ns(wait(row).waited_ns, weight(row)));
      if (!wait(row).unfinished) woken.insert(place(row));
    }
  const double least = kNearlyAll * profile_.duration_s() * 1e9;
  for (auto& [key, threads] : parked)
    std::erase_if(threads, [&](const auto& thread) { return least <= 0 || thread.second < least; });
  for (SelectedWait& row : rows_) {
    if (!asks(row)) continue;
    const auto found = parked.find(place(row));
    const bool is_crowd = found != parked.end() && woken.contains(found->first) &&
                          found->second.size() >= idle_.crowd(*row.idle) &&
                          found->second.contains(wait(row).thread.value);
    if (!is_crowd) row.idle.reset();
  }
}

}  // namespace fathom::analysis
