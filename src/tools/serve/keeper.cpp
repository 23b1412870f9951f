#include "tools/serve/keeper.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/abi/walk.h"
#include "base/clock.h"
#include "tools/serve/cut_waits.h"
#include "tools/serve/quality_change.h"
#include "tools/serve/seconds.h"

namespace fathom::serve {
namespace {

constexpr std::uint64_t kPointsEvery = kSecondNs;      // of series, in a window
constexpr std::uint64_t kNamesGrace = 20'000'000'000;  // a full machine names a large program in seconds
constexpr std::uint64_t kPullGrace = 20'000'000;       // the rings were emptied after the stretch had ended
constexpr std::uint64_t kKeptNs = 15 * kSecondNs;      // metrics ask for the seconds that have just passed
constexpr std::uint64_t kMostClockChange = 5 * kSecondNs;
constexpr std::size_t kMostWaitKinds = 200'000;

bool walked_whole(const model::Sample& sample) {
  return sample.end == WALK_ROOT || sample.end == WALK_KERNEL_THREAD || sample.end == WALK_EXITING;
}

template <class Row>
void move_rows(std::vector<Row>& from, std::deque<Row>& to) {
  to.insert(to.end(), from.begin(), from.end());
  from.clear();
}

template <class Row>
std::uint64_t drop_beyond(std::deque<Row>& rows, std::size_t most) {
  const std::size_t dropped = rows.size() > most ? rows.size() - most : 0;
  rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(dropped));
  return dropped;
}

bool is_of_heap(const Pull& pull) {
  return pull.cost == Cost::kHeap || pull.cost == Cost::kAllocs;
}

std::uint64_t less(std::uint64_t now, std::uint64_t before) {
  return now > before ? now - before : 0;
}

}  // namespace

Keeper::~Keeper() {
  for (const Pull& pull : waiting_) pull.done(std::nullopt);
}

std::vector<Keeper::Times> Keeper::times_of(const model::Profile& profile) {
  std::vector<Times> times;
  times.reserve(profile.threads.size());
  for (const model::Thread& row : profile.threads)
    times.push_back({row.cpu_ns, row.ran_ns, row.waited_ns, row.queued_ns, row.waits, row.preemptions,
                     row.unwalked_waits, row.unwalked_ns});
  return times;
}

// Windows begin with the minutes of the clock (with other lengths: its multiples), so that those of several machines can be laid
// side by side.
void Keeper::begin(const Lent& lent, std::uint64_t now_ns) {
  begun_ = true;
  start_ns_ = window_from_ns_ = lent.profile.meta.start_ns;
  unix_offset_ns_ = lent.profile.meta.start_unix_ns - lent.profile.meta.start_ns;
  frequency_hz_ = lent.profile.meta.frequency_hz;
  rates_.push_back({window_from_ns_, frequency_hz_});
  const std::uint64_t unix_ns = now_ns + unix_offset_ns_;
  window_until_ns_ = unix_ns - unix_ns % options_.window_ns + options_.window_ns - unix_offset_ns_;
}

void Keeper::count_waits(const model::Wait& wait) {
  WaitKind kind{wait.thread.value,
                wait.stack.value,
                wait.waker_stack.value,
                wait.waker.value,
                wait.object.value,
                wait.system_call,
                static_cast<std::uint8_t>(wait.state),
                wait.throttled,
                wait.result == 0};
  if (totals_.size() >= kMostWaitKinds && !totals_.contains(kind)) {
    kind.stack = kind.waker_stack = kind.object = 0;  // the time stays, its place is lost
    kind.waker = model::kNoThread.value;              // pairs of threads alone can be too many
  }
  WaitSum& sum = totals_[kind];
  sum.waits += wait.weight;
  sum.waited_ns += static_cast<double>(wait.waited_ns) * wait.weight;
  sum.queued_ns += static_cast<double>(wait.queued_ns) * wait.weight;
  sum.argument = wait.argument;
  sum.result = wait.result;
}

void Keeper::take_rows(model::Profile& profile) {
  for (const model::Wait& wait : profile.waits) count_waits(wait);
  move_rows(profile.samples, samples_);
  move_rows(profile.waits, waits_);
  move_rows(profile.faults, faults_);
  move_rows(profile.memory_ranges, ranges_);
  dropped_samples_ += drop_beyond(samples_, options_.most_rows);
  dropped_waits_ += drop_beyond(waits_, options_.most_rows);
  (void)drop_beyond(faults_, options_.most_rows);
  (void)drop_beyond(ranges_, options_.most_rows);
  heap_.take(profile.heap);
  points_.resize(std::max(points_.size(), profile.series.size()));
  for (std::size_t i = 0; i < profile.series.size(); ++i) {
    for (const model::Point& point : profile.series[i].points)
      if (points_[i].empty() || point.time_ns >= points_[i].back().time_ns + kPointsEvery)
        points_[i].push_back(point);
    profile.series[i].points.clear();
  }
}

void Keeper::step(const Lent& lent, std::uint64_t now_ns) {
  if (!begun_) begin(lent, now_ns);
  take_rows(lent.profile);
  end_windows(lent, now_ns);
  cut_windows(lent, now_ns, false);
  answer(lent, now_ns, false);
  forget_old(now_ns);
  if (lent.profile.stacks.size() > options_.most_stacks ||
      lent.profile.threads.size() > options_.most_threads || clock_was_set())
    lent.end_recording();
}

bool Keeper::clock_was_set() const {
  if (!options_.unix_offset_ns) return false;
  const std::uint64_t offset = options_.unix_offset_ns();
  return std::max(less(offset, unix_offset_ns_), less(unix_offset_ns_, offset)) > kMostClockChange;
}

// The edge is the moment at which the exact times of the threads were summed: they belong to the window to the nanosecond.
void Keeper::end_windows(const Lent& lent, std::uint64_t now_ns) {
  const bool rate_changed = lent.profile.meta.frequency_hz != frequency_hz_;
  if (now_ns < window_until_ns_ && !end_now_ && !rate_changed) return;
  end_now_ = false;
  if (lent.readings.sum_threads) lent.readings.sum_threads(now_ns);
  cut_heap(lent);
  Ended ended;
  ended.from_ns = window_from_ns_;
  ended.until_ns = now_ns;
  ended.before = std::move(times_);
  ended.after = times_of(lent.profile);
  ended.quality_before = quality_;
  ended.quality_after = lent.profile.quality;
  ended.quality_after.lost_disk += dropped_samples_;
  ended.quality_after.lost_waits += dropped_waits_;
  ended.frequency_hz = frequency_hz_;
  times_ = ended.after;
  quality_ = ended.quality_after;
  frequency_hz_ = lent.profile.meta.frequency_hz;
  window_from_ns_ = now_ns;
  if (rate_changed) rates_.push_back({now_ns, frequency_hz_});
  while (window_until_ns_ <= now_ns) window_until_ns_ += options_.window_ns;
  ended_.push_back(std::move(ended));
}

void Keeper::cut_heap(const Lent& lent) {
  if (lent.readings.cut_heap) lent.readings.cut_heap();
  heap_.take(lent.profile.heap);
  heap_.end_slices();
}

// Its last events have come, and so have the names of its frames, unless they take too long.
bool Keeper::is_due(const Ended& ended, const Lent& lent, std::uint64_t now_ns) const {
  if (now_ns < ended.until_ns + options_.grace_ns) return false;
  return now_ns >= ended.until_ns + kNamesGrace || !lent.readings.names_are_known ||
         lent.readings.names_are_known();
}

void Keeper::cut_windows(const Lent& lent, std::uint64_t now_ns, bool all) {
  while (!ended_.empty() && (all || is_due(ended_.front(), lent, now_ns))) {
    if (lent.readings.take_names) lent.readings.take_names();
    const auto open =
        lent.readings.open_waits && !all ? lent.readings.open_waits(now_ns) : std::vector<model::Wait>();
    if (options_.on_window) options_.on_window(window(lent, ended_.front(), open));
    ended_.pop_front();
  }
}

void Keeper::add_rows(Excerpt& excerpt, const Ended& ended, const std::vector<model::Wait>& open, bool cpu,
                      bool waits) const {
  model::Quality& quality = excerpt.profile().quality;
  const std::uint64_t from = ended.from_ns, until = ended.until_ns;
  if (cpu)
    for (const model::Sample& sample : samples_) {
      if (sample.time_ns < from || sample.time_ns >= until) continue;
      excerpt.add(sample);
      ++quality.samples;
      quality.complete += walked_whole(sample) ? 1 : 0;
    }
  if (!waits) return;
  const auto add = [&](const model::Wait& wait) {
    const auto part = part_of(wait, from, until);
    if (!part) return;
    excerpt.add(*part);
    ++quality.waits;
  };
  for (const model::Wait& wait : waits_) add(wait);
  for (const model::Wait& wait : open) add(wait);
}

void Keeper::add_series(model::Profile& part, const model::Profile& profile, std::uint64_t from_ns,
                        std::uint64_t until_ns) const {
  for (std::size_t i = 0; i < points_.size(); ++i) {
    model::Series series{part.strings.intern(profile.strings[profile.series[i].name]),
                         part.strings.intern(profile.strings[profile.series[i].unit]),
                         profile.series[i].pid,
                         {}};
    for (const model::Point& point : points_[i])
      if (point.time_ns >= from_ns && point.time_ns < until_ns) series.points.push_back(point);
    if (!series.points.empty()) part.series.push_back(std::move(series));
  }
}

model::Profile Keeper::window(const Lent& lent, const Ended& ended,
                              const std::vector<model::Wait>& open) const {
  const model::Profile& profile = lent.profile;
  Excerpt excerpt(profile);
  // Threads that did something, in the order of the recording; times without a sample are known as well.
  std::uint64_t cpu_ns = 0;
  for (std::uint32_t i = 0; i < ended.after.size(); ++i) {
    const Times& after = ended.after[i];
    const Times before = i < ended.before.size() ? ended.before[i] : Times{};
    if (after.cpu_ns <= before.cpu_ns && after.ran_ns <= before.ran_ns &&
        after.waited_ns <= before.waited_ns && after.queued_ns <= before.queued_ns)
      continue;
    model::Thread& row = excerpt.profile().threads[excerpt.thread({i}).value];
    row.cpu_ns = less(after.cpu_ns, before.cpu_ns);
    row.ran_ns = less(after.ran_ns, before.ran_ns);
    row.waited_ns = less(after.waited_ns, before.waited_ns);
    row.queued_ns = less(after.queued_ns, before.queued_ns);
    row.waits = less(after.waits, before.waits);
    row.preemptions = less(after.preemptions, before.preemptions);
    row.unwalked_waits = less(after.unwalked_waits, before.unwalked_waits);
    row.unwalked_ns = less(after.unwalked_ns, before.unwalked_ns);
    cpu_ns += row.cpu_ns;
  }
  add_rows(excerpt, ended, open, true, true);
  for (const model::Fault& fault : faults_)
    if (fault.time_ns >= ended.from_ns && fault.time_ns < ended.until_ns) excerpt.add(fault);
  for (const model::MemoryRange& range : ranges_)
    if (range.time_ns >= ended.from_ns && range.time_ns < ended.until_ns) excerpt.add(range);
  heap_.add_to(excerpt, ended.from_ns, ended.until_ns, KeptHeap::Opening::kLive);
  model::Profile& part = excerpt.profile();
  add_series(part, profile, ended.from_ns, ended.until_ns);
  const std::uint64_t samples = part.quality.samples, complete = part.quality.complete,
                      waits = part.quality.waits;
  part.quality = change_of(ended.quality_before, ended.quality_after, excerpt);
  part.quality.samples = samples;
  part.quality.complete = complete;
  part.quality.waits = waits;
  part.quality.expected_samples = static_cast<double>(cpu_ns) * 1e-9 * ended.frequency_hz;
  part.meta = profile.meta;
  forget_sums(part.meta.facts);
  part.meta.frequency_hz = ended.frequency_hz;
  part.meta.start_ns = ended.from_ns;
  part.meta.end_ns = ended.until_ns;
  part.meta.start_unix_ns = ended.from_ns + unix_offset_ns_;
  return excerpt.take();
}

void Keeper::answer(const Lent& lent, std::uint64_t now_ns, bool last) {
  if (options_.pulls == nullptr) return;
  bool cuts = false;
  for (Pull& pull : options_.pulls->take()) {
    if (is_of_heap(pull) && pull.length_ns != 0) {
      // The stretch begins where the heap can be cut, which is now.
      pull.from_ns = now_ns;
      cuts = true;
    }
    waiting_.push_back(std::move(pull));
  }
  if (cuts) cut_heap(lent);
  bool is_cut = cuts;
  std::optional<std::vector<model::Wait>> open;
  for (auto pull = waiting_.begin(); pull != waiting_.end();) {
    const std::uint64_t until = pull->from_ns + pull->length_ns;
    if (!last && now_ns < until + kPullGrace) {
      ++pull;
      continue;
    }
    if (!open) {
      if (lent.readings.take_names) lent.readings.take_names();
      open =
          lent.readings.open_waits && !last ? lent.readings.open_waits(now_ns) : std::vector<model::Wait>();
    }
    if (is_of_heap(*pull) && !std::exchange(is_cut, true)) cut_heap(lent);
    pull->done(is_of_heap(*pull)      ? heap(lent, *pull, now_ns)
               : pull->length_ns == 0 ? since_start(lent.profile, now_ns)
                                      : stretch(lent, *pull, std::min(until, now_ns), *open));
    pull = waiting_.erase(pull);
  }
}

void Keeper::describe(model::Profile& part, const model::Profile& profile, std::uint64_t from_ns,
                      std::uint64_t until_ns) const {
  part.meta.target = profile.meta.target;
  part.meta.engine = profile.meta.engine;
  part.meta.start_ns = from_ns;
  part.meta.end_ns = until_ns;
  part.meta.start_unix_ns = from_ns + unix_offset_ns_;
}

model::Profile Keeper::stretch(const Lent& lent, const Pull& pull, std::uint64_t until_ns,
                               const std::vector<model::Wait>& open) const {
  Excerpt excerpt(lent.profile);
  Ended stretch;
  stretch.from_ns = std::max(pull.from_ns, start_ns_);
  stretch.until_ns = std::max(until_ns, stretch.from_ns);
  add_rows(excerpt, stretch, open, pull.cost != Cost::kBlock && pull.cost != Cost::kMutex,
           pull.cost != Cost::kCpu);
  describe(excerpt.profile(), lent.profile, stretch.from_ns, stretch.until_ns);
  excerpt.profile().meta.event = lent.profile.meta.event;
  weigh_by_rate(excerpt.profile());
  return excerpt.take();
}

// A stretch over which the rate changed has no rate: each sample stands for the period at which it was taken.
void Keeper::weigh_by_rate(model::Profile& stretch) const {
  const auto rate_at = [&](std::uint64_t time_ns) {
    std::uint32_t hz = rates_.front().hz;
    for (const RateSince& rate : rates_)
      if (rate.from_ns <= time_ns) hz = rate.hz;
    return hz;
  };
  const std::uint32_t first = rate_at(stretch.meta.start_ns);
  const bool changed = std::ranges::any_of(rates_, [&](const RateSince& rate) {
    return rate.from_ns > stretch.meta.start_ns && rate.from_ns < stretch.meta.end_ns && rate.hz != first;
  });
  stretch.meta.frequency_hz = first;
  if (!changed) return;
  for (model::Sample& sample : stretch.samples)
    if (const std::uint32_t hz = rate_at(sample.time_ns); hz != 0) sample.value *= 1'000'000'000 / hz;
  stretch.meta.frequency_hz = 0;
  stretch.meta.facts["unit"] = "ns";
}

model::Profile Keeper::heap(const Lent& lent, const Pull& pull, std::uint64_t now_ns) const {
  Excerpt excerpt(lent.profile);
  const bool since_start = pull.length_ns == 0;
  const std::uint64_t from = since_start ? start_ns_ : std::max(pull.from_ns, start_ns_);
  heap_.add_to(excerpt, from, now_ns, since_start ? KeptHeap::Opening::kAllocated : KeptHeap::Opening::kLive);
  describe(excerpt.profile(), lent.profile, from, now_ns);
  return excerpt.take();
}

// The sums as rows: one for each kind, with the number of its waits as weight and their mean length.
model::Profile Keeper::since_start(const model::Profile& profile, std::uint64_t now_ns) const {
  Excerpt excerpt(profile);
  for (const auto& [kind, sum] : totals_) {
    model::Wait wait;
    wait.start_ns = start_ns_;
    wait.thread = {kind.thread};
    wait.stack = {kind.stack};
    wait.waker_stack = {kind.waker_stack};
    wait.waker = {kind.waker};
    wait.object = {kind.object};
    wait.system_call = kind.system_call;
    wait.state = static_cast<model::WaitState>(kind.state);
    wait.throttled = kind.throttled;
    wait.argument = sum.argument;
    wait.result = sum.result;
    const auto waits = std::max<std::uint64_t>(sum.waits, 1);
    wait.weight = static_cast<std::uint32_t>(std::min<std::uint64_t>(waits, UINT32_MAX));
    wait.waited_ns = static_cast<std::uint64_t>(std::llround(sum.waited_ns / static_cast<double>(waits)));
    wait.queued_ns = static_cast<std::uint64_t>(std::llround(sum.queued_ns / static_cast<double>(waits)));
    excerpt.add(wait);
  }
  describe(excerpt.profile(), profile, start_ns_, now_ns);
  return excerpt.take();
}

void Keeper::forget_old(std::uint64_t now_ns) {
  std::uint64_t from = ended_.empty() ? window_from_ns_ : ended_.front().from_ns;
  from = std::min(from, less(now_ns, kKeptNs));
  for (const Pull& pull : waiting_)
    if (pull.length_ns != 0) from = std::min(from, pull.from_ns);
  while (!samples_.empty() && samples_.front().time_ns < from) samples_.pop_front();
  while (!waits_.empty() && end_of(waits_.front()) < from) waits_.pop_front();
  while (rates_.size() > 1 && rates_[1].from_ns <= from) rates_.pop_front();
  while (!faults_.empty() && faults_.front().time_ns < from) faults_.pop_front();
  while (!ranges_.empty() && ranges_.front().time_ns < from) ranges_.pop_front();
  heap_.forget(from);
  for (auto& points : points_)
    while (points.size() > 1 && points.front().time_ns < from) points.pop_front();
}

session::Companion::Save Keeper::before_save(const Lent& lent, bool last) {
  if (!begun_) begin(lent, lent.profile.meta.start_ns);
  take_rows(lent.profile);
  if (!last) return Save::kKept;
  const std::uint64_t now = lent.profile.meta.end_ns;
  end_now_ = true;
  end_windows(lent, now);
  cut_windows(lent, now, true);
  answer(lent, now, true);
  return Save::kKept;
}

}  // namespace fathom::serve
