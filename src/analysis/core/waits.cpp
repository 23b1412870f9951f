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

}  // namespace

Waits::Waits(const model::Profile& profile, const Selection& selection)
    : profile_(profile),
      causes_(profile),
      idle_(profile, built_in_idle_rules()),
      filter_(profile, selection),
      scales_(profile.threads.size()) {
  const KnownWakers wakers(profile, causes_);
  const bool whole = !selection.from_ns && !selection.to_ns;
  rows_.reserve(profile.all_waits().size());
  std::uint32_t at = 0;
  for (const model::Wait& wait : profile.all_waits()) {
    Kept row;
    row.row = at++;
    const bool seen = whole ||
                      filter_.inside(wait.start_ns, wait.waited_ns) +
                              filter_.inside(wait.start_ns + wait.waited_ns, wait.queued_ns) >
                          0 ||
                      (wait.waited_ns + wait.queued_ns == 0 && filter_.takes_time(wait.start_ns));
    if (!seen || !filter_.takes_thread(wait.thread)) {
      ++filtered_;
      continue;
    }
    row.cause = causes_.of(wait);
    row.queue_cause = causes_.of_queue(wait);
    if (!wakers.is_work(wait, row.cause)) row.idle = idle_.rule_of(wait, row.cause).value_or(kNotIdle);
    rows_.push_back(row);
  }
  const bool are_sums = profile.meta.facts.contains(model::kWaitSumsFact);
  if (are_sums)
    per_unwalked_ns_ = kExactSums;
  else
    scale_to_known_sums(whole);
  if (!whole && !are_sums && has_weights()) fit_to_window(selection);
  keep_crowds();
  find_rest();
  keep_chosen(selection);
}

SelectedWait Waits::selected(const Kept& kept, const model::Wait& wait) const {
  SelectedWait row;
  row.wait = wait;
  if (kept.takes_waited) row.waited_ns = filter_.inside(wait.start_ns, wait.waited_ns);
  if (kept.takes_queued) row.queued_ns = filter_.inside(wait.start_ns + wait.waited_ns, wait.queued_ns);
  row.weight = wait.weight;
  if (wait.weight > 1) {
    row.scale = scales_[wait.thread.value].waited;
    row.queue_scale = scales_[wait.thread.value].queued;
  }
  row.cause = kept.cause;
  row.queue_cause = kept.queue_cause;
  if (kept.idle != kNotIdle) row.idle = kept.idle;
  return row;
}

// Whether a row stands for others.
bool Waits::has_weights() const {
  return std::ranges::any_of(rows(), [](const SelectedWait& row) { return row.weight > 1; });
}

// The sums of a thread are known for the whole recording only. In a part of it, what it neither ran nor spent in waits on record is
// the most that is left for the waits that these represent; so a thread never waits for longer than the part lasts.
void Waits::fit_to_window(const Selection& selection) {
  const double period = sample_period_ns(profile_);
  if (period == 0 || profile_.meta.end_ns <= profile_.meta.start_ns) return;
  const std::uint64_t start = profile_.meta.start_ns;
  const std::uint64_t from = start + selection.from_ns.value_or(0);
  const std::uint64_t to = selection.to_ns ? start + *selection.to_ns : profile_.meta.end_ns;
  std::vector<WindowOfThread> windows(profile_.threads.size());
  for (const SelectedWait& row : rows()) {
    WindowOfThread& window = windows[row.wait.thread.value];
    window.own += static_cast<double>(row.waited_ns + row.queued_ns);
    window.others +=
        (row.weight - 1.0) * (static_cast<double>(row.waited_ns) * static_cast<double>(row.scale) +
                              static_cast<double>(row.queued_ns) * static_cast<double>(row.queue_scale));
  }
  for (const model::Sample& sample : profile_.all_samples())
    if (sample.metric == model::Metric::kCpu && filter_.takes_time(sample.time_ns))
      windows[sample.thread.value].ran += static_cast<double>(sample.value) * period;
  const auto length = [](std::uint64_t first, std::uint64_t end) {
    return end > first ? static_cast<double>(end - first) : 0;
  };
  for (std::size_t i = 0; i < windows.size(); ++i) {
    WindowOfThread& window = windows[i];
    const model::Thread& thread = profile_.threads[i];
    const std::uint64_t born = std::max(start, thread.start_ns);
    const std::uint64_t dead =
        thread.end_ns == 0 ? profile_.meta.end_ns : std::min(thread.end_ns, profile_.meta.end_ns);
    if (is_booked(thread, length(born, dead))) window.life = length(std::max(from, born), std::min(to, dead));
    if (window.life <= 0 || window.others <= 0) continue;
    const double left = std::max(0.0, window.life - window.ran - window.own);
    const auto scale = static_cast<float>(std::min(1.0, left / window.others));
    scales_[i].waited *= scale;
    scales_[i].queued *= scale;
  }
}

// The scheduler knows how long each thread waited and stood in the queue inside of the recording. A part of the recording is scaled
// as the whole, before it is fitted to its length.
void Waits::scale_to_known_sums(bool whole) {
  if (!has_weights()) return;
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
  for (std::size_t i = 0; i < threads.size(); ++i) scales_[i] = {threads[i][0].scale, threads[i][1].scale};
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
  model::RowCursor<model::Wait> waits(profile_.packed_waits, profile_.waits);
  for (Kept& row : rows_)
    if (row.idle == kNotIdle && row.cause == Cause::kFutex && places.holds(waits.at(row.row)))
      row.idle = *rule;
}

// The two parts of a wait are two frames above its stack: each is taken by itself.
void Waits::keep_chosen(const Selection& selection) {
  if (!selection.stacks) return;
  const StackChoice& choice = *selection.stacks;
  model::RowCursor<model::Wait> waits(profile_.packed_waits, profile_.waits);
  std::erase_if(rows_, [&](Kept& row) {
    const SelectedWait whole = selected(row, waits.at(row.row));
    const char stack = choice.marks[whole.wait.stack.value];
    char waited = stack;
    // Folded, an idle wait shows the rule in the place of its cause.
    if (whole.idle) waited = static_cast<char>(waited | choice.of_idle[*whole.idle]);
    if (!whole.idle || !selection.fold_idle)
      waited = static_cast<char>(waited | choice.of_cause[static_cast<std::size_t>(row.cause)]);
    const char queued = static_cast<char>(stack | choice.of_cause[static_cast<std::size_t>(row.queue_cause)]);
    row.takes_waited = choice.takes(waited);
    row.takes_queued = choice.takes(queued);
    const bool takes_any = (row.takes_waited && (whole.waited_ns != 0 || whole.queued_ns == 0)) ||
                           (row.takes_queued && whole.queued_ns != 0);
    if (!row.takes_waited) row.idle = kNotIdle;
    if (!takes_any) ++filtered_;
    return !takes_any;
  });
}

// A rule that asks for a crowd was believed so far.
void Waits::keep_crowds() {
  constexpr double kNearlyAll = 0.9;  // of the recording
  const auto asks = [&](const Kept& row) { return row.idle != kNotIdle && idle_.crowd(row.idle) != 0; };
  if (std::ranges::none_of(rows_, asks)) return;
  // glibc's condition variable has two words to wait at, which take turns, 4 bytes apart.
  const auto place = [&](const Kept& row, const model::Wait& wait) {
    const model::WaitObject& object = profile_.objects[wait.object.value];
    return std::tuple(row.idle, object.pid, object.address & ~std::uint64_t{7});
  };
  using Place = std::tuple<std::uint8_t, std::int32_t, std::uint64_t>;
  std::map<Place, std::map<std::uint32_t, double>> parked;
  // Threads that nothing woke may be stuck as well as idle: what shows a pool is that one of them got work, or looked for some.
  std::set<Place> woken;
  model::RowCursor<model::Wait> waits(profile_.packed_waits, profile_.waits);
  for (const Kept& row : rows_) {
    if (!asks(row)) continue;
    const SelectedWait whole = selected(row, waits.at(row.row));
    if (whole.wait.object.value == 0) continue;
    parked[place(row, whole.wait)][whole.wait.thread.value] +=
        static_cast<double>(weighted_ns(whole.wait.waited_ns, weight(whole)));
    if (!whole.wait.unfinished) woken.insert(place(row, whole.wait));
  }
  const double least = kNearlyAll * profile_.duration_s() * 1e9;
  for (auto& [key, threads] : parked)
    std::erase_if(threads, [&](const auto& thread) { return least <= 0 || thread.second < least; });
  for (Kept& row : rows_) {
    if (!asks(row)) continue;
    const model::Wait& wait = waits.at(row.row);
    const auto found = parked.find(place(row, wait));
    const bool is_crowd = found != parked.end() && woken.contains(found->first) &&
                          found->second.size() >= idle_.crowd(row.idle) &&
                          found->second.contains(wait.thread.value);
    if (!is_crowd) row.idle = kNotIdle;
  }
}

}  // namespace fathom::analysis
