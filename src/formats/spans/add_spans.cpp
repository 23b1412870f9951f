#include "formats/spans/add_spans.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>

namespace fathom::formats {
namespace {

using namespace model;

// From a file's clock to the recording's.
struct ClockShift {
  SpanPlacement placement = SpanPlacement::kByClock;
  bool back = false;
  std::uint64_t by_ns = 0;
  std::uint64_t operator()(std::uint64_t time) const {
    if (back) return time - std::min(time, by_ns);
    return time > UINT64_MAX - by_ns ? UINT64_MAX : time + by_ns;
  }
};

std::size_t overlaps(const Profile& profile, const SpanFile& file, const ClockShift& shift) {
  return static_cast<std::size_t>(std::ranges::count_if(file.spans, [&](const FileSpan& span) {
    return shift(span.end_ns) >= profile.meta.start_ns && shift(span.start_ns) < profile.meta.end_ns;
  }));
}

ClockShift from_unix(const Meta& meta) {
  const bool back = meta.start_unix_ns >= meta.start_ns;
  return {SpanPlacement::kByClock, back,
          back ? meta.start_unix_ns - meta.start_ns : meta.start_ns - meta.start_unix_ns};
}

class ThreadFinder {
 public:
  explicit ThreadFinder(const Profile& profile) : profile_(profile) {
    for (std::uint32_t i = 0; i < profile.threads.size(); ++i)
      if (profile.threads[i].tid != 0) by_tid_[profile.threads[i].tid].push_back({i});
  }
  // A number may be used again: the thread that lived then.
  ThreadId find(std::int32_t pid, std::int32_t tid, std::uint64_t at_ns) const {
    const auto found = by_tid_.find(tid);
    if (found == by_tid_.end()) return kNoThread;
    ThreadId best = kNoThread;
    for (const ThreadId id : found->second) {
      const Thread& thread = profile_.threads[id.value];
      if (pid != 0 && profile_.processes[thread.process.value].pid != pid) continue;
      if (thread.end_ns != 0 && thread.end_ns < at_ns) continue;
      if (best == kNoThread || thread.start_ns <= at_ns) best = id;
    }
    return best;
  }

 private:
  const Profile& profile_;
  std::unordered_map<std::int32_t, std::vector<ThreadId>> by_tid_;
};

constexpr std::size_t kMostMoments = 4000;
constexpr double kNearlyAlways = 0.98;

// From when to when a thread was off its CPU.
using ThreadWaits = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

std::vector<ThreadWaits> waits_by_thread(const Profile& profile, const std::vector<AsleepTime>& asleep) {
  std::vector<ThreadWaits> by_thread(profile.threads.size());
  for (const AsleepTime& time : asleep) by_thread[time.thread.value].emplace_back(time.from_ns, time.to_ns);
  for (ThreadWaits& waits : by_thread) std::ranges::sort(waits);
  return by_thread;
}

bool is_awake(const ThreadWaits& waits, std::uint64_t at) {
  const auto after = std::ranges::upper_bound(waits, std::pair(at, UINT64_MAX));
  // The clock is read some hundred nanoseconds before or after the switch that the scheduler stamps.
  constexpr std::uint64_t kSlackNs = 2000;
  return after == waits.begin() || std::prev(after)->second <= at + kSlackNs ||
         std::prev(after)->first + kSlackNs >= at;
}

// A clock that is milliseconds off puts beginnings and ends of spans into times at which their threads slept.
bool is_awake_at_its_spans(const Profile& profile, const SpanFile& file, const ClockShift& shift,
                           const std::vector<AsleepTime>& asleep) {
  const ThreadFinder threads(profile);
  const std::vector<ThreadWaits> waits = waits_by_thread(profile, asleep);
  std::size_t awake = 0, asked = 0;
  const std::size_t step = file.spans.size() / kMostMoments + 1;
  for (std::size_t i = 0; i < file.spans.size(); i += step) {
    const FileSpan& span = file.spans[i];
    if (span.async || span.tid == 0) continue;
    const ThreadId thread = threads.find(span.pid, span.tid, shift(span.start_ns));
    if (thread == kNoThread) continue;
    for (const std::uint64_t at : {shift(span.start_ns), shift(span.end_ns)}) {
      if (at < profile.meta.start_ns || at >= profile.meta.end_ns) continue;
      ++asked;
      if (is_awake(waits[thread.value], at)) ++awake;
    }
  }
  return static_cast<double>(awake) >= kNearlyAlways * static_cast<double>(asked);
}

// Times that count from an unnamed start are tried against the clocks that programs use. The recording's window is minutes of
// years, so what falls into it did so on purpose.
ClockShift shift_of(const Profile& profile, const SpanFile& file, const std::vector<AsleepTime>& asleep) {
  const ClockShift none, wall = from_unix(profile.meta);
  if (file.clock == SpanClock::kMonotonic || file.spans.empty()) return none;
  if (file.clock == SpanClock::kUnix && profile.meta.start_unix_ns != 0) return wall;
  if (file.clock == SpanClock::kUnknown) {
    if (overlaps(profile, file, none) != 0) return none;
    if (profile.meta.start_unix_ns != 0 && overlaps(profile, file, wall) != 0) return wall;
    const std::int32_t pid = file.spans.front().pid;
    std::optional<std::uint64_t> start;
    for (const Process& process : profile.processes)
      if (process.start_ns != 0 && (process.pid == pid || profile.processes.size() == 1))
        start = std::min(start.value_or(process.start_ns), process.start_ns);
    if (start) {
      const ClockShift shift{SpanPlacement::kProcessStart, false, *start};
      if (overlaps(profile, file, shift) != 0 && is_awake_at_its_spans(profile, file, shift, asleep))
        return shift;
    }
  }
  // After the recording, so that no view takes them for something that happened in it.
  return {SpanPlacement::kUnknown, false, profile.meta.end_ns};
}

using SpanKey =
    std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t, std::uint32_t, SpanSource>;

SpanKey key_of(const Span& span) {
  return {span.start_ns, span.end_ns, span.id, span.name.value, span.thread.value, span.source};
}

std::vector<SpanKey> keys_of(const std::vector<Span>& spans) {
  std::vector<SpanKey> keys;
  for (const Span& span : spans) keys.push_back(key_of(span));
  std::ranges::sort(keys);
  return keys;
}

}  // namespace

std::vector<AsleepTime> asleep_times(const Profile& profile) {
  std::vector<AsleepTime> asleep;
  for (const Wait& wait : profile.all_waits())
    asleep.push_back({wait.thread, wait.start_ns, wait.start_ns + wait.waited_ns + wait.queued_ns});
  return asleep;
}

ThreadId thread_awake_at(const Profile& profile, const std::vector<AsleepTime>& asleep,
                         const std::vector<std::uint64_t>& moments, std::int32_t pid) {
  if (moments.empty()) return kNoThread;
  const std::vector<ThreadWaits> by_thread = waits_by_thread(profile, asleep);
  const std::size_t step = moments.size() / kMostMoments + 1;
  constexpr double kClearlyLess = 0.9;
  ThreadId best = kNoThread;
  double most = 0, second = 0;
  for (std::uint32_t i = 0; i < profile.threads.size(); ++i) {
    const Thread& thread = profile.threads[i];
    if (pid != 0 && profile.processes[thread.process.value].pid != pid) continue;
    const ThreadWaits& waits = by_thread[i];
    // A stranger that is known only because it woke a recorded thread: when it slept was not recorded.
    if (waits.empty() && thread.ran_ns == 0 && thread.cpu_ns == 0) continue;
    std::size_t awake = 0, asked = 0;
    for (std::size_t m = 0; m < moments.size(); m += step) {
      ++asked;
      const std::uint64_t at = moments[m];
      if ((thread.start_ns != 0 && at < thread.start_ns) || (thread.end_ns != 0 && at > thread.end_ns))
        continue;
      if (is_awake(waits, at)) ++awake;
    }
    const double share = static_cast<double>(awake) / static_cast<double>(asked);
    if (share > most) {
      second = most;
      most = share;
      best = {i};
    } else {
      second = std::max(second, share);
    }
  }
  return most >= kNearlyAlways && second <= kClearlyLess ? best : kNoThread;
}

AddedSpans add_spans(Profile& profile, const SpanFile& file, const std::vector<AsleepTime>& asleep) {
  AddedSpans added;
  const ClockShift shift = shift_of(profile, file, asleep);
  added.placement = shift.placement;
  const bool placed = shift.placement != SpanPlacement::kUnknown;
  std::vector<StringId> names;
  for (const std::string& name : file.names) names.push_back(profile.strings.intern(name));
  const ThreadFinder threads(profile);
  std::vector<Span> rows;
  std::vector<char> is_async;
  std::vector<std::size_t> nameless;  // rows whose file does not name the thread
  for (const FileSpan& from : file.spans) {
    Span row;
    row.start_ns = shift(from.start_ns);
    row.end_ns = shift(from.end_ns);
    if (placed && (row.end_ns < profile.meta.start_ns || row.start_ns >= profile.meta.end_ns)) {
      ++added.outside;
      continue;
    }
    row.name = names[from.name];
    row.source = file.source;
    row.id = from.id;
    row.parent = from.parent;
    if (placed && !from.async) {
      if (from.tid != 0)
        row.thread = threads.find(from.pid, from.tid, row.start_ns);
      else
        nameless.push_back(rows.size());
    }
    rows.push_back(row);
    is_async.push_back(!placed || from.async);
  }
  if (!nameless.empty()) {
    std::vector<std::uint64_t> moments;
    for (const std::size_t i : nameless) {
      for (const std::uint64_t at : {rows[i].start_ns, rows[i].end_ns})
        if (at >= profile.meta.start_ns && at < profile.meta.end_ns) moments.push_back(at);
    }
    const ThreadId thread = thread_awake_at(profile, asleep, moments, file.spans.front().pid);
    for (const std::size_t i : nameless) rows[i].thread = thread;
  }
  // Of a file that was read before: `record --spans` stored its spans.
  const std::vector<SpanKey> known = keys_of(profile.spans);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (std::ranges::binary_search(known, key_of(rows[i]))) {
      ++added.known;
      continue;
    }
    ++added.added;
    if (!is_async[i] && rows[i].thread == kNoThread) ++added.without_thread;
    profile.spans.push_back(rows[i]);
  }
  return added;
}

}  // namespace fathom::formats
