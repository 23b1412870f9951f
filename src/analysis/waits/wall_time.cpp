#include "analysis/waits/wall_time.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/waits/pause_of_waits.h"
#include "analysis/waits/pause_sweep.h"
#include "analysis/waits/wait_times.h"

namespace fathom::analysis {
namespace {

struct Stretch {
  std::uint64_t from_ns = 0, to_ns = 0;
};

Stretch life_of(const model::Profile& profile, const model::Thread& thread) {
  return {std::max(profile.meta.start_ns, thread.start_ns),
          thread.end_ns == 0 ? profile.meta.end_ns : std::min(thread.end_ns, profile.meta.end_ns)};
}

Stretch selected_time(const model::Profile& profile, const Selection& selection) {
  const std::uint64_t start = profile.meta.start_ns, end = profile.meta.end_ns;
  return {start + selection.from_ns.value_or(0),
          std::min(end, selection.to_ns ? start + *selection.to_ns : end)};
}

// Of a thread's time, what its waits cover.
struct OnRecord {
  double all_ns = 0;     // in waits and queues
  double queued_ns = 0;  // in the queues of them
  bool seen = false;
};

std::vector<OnRecord> time_on_record(const Waits& waits) {
  std::vector<OnRecord> threads(waits.profile().threads.size());
  for (const SelectedWait& row : waits.rows()) {
    const model::Wait& wait = waits.wait(row);
    OnRecord& thread = threads[wait.thread.value];
    thread.seen = true;
    thread.all_ns += static_cast<double>(wait.waited_ns + wait.queued_ns);
    thread.queued_ns += static_cast<double>(wait.queued_ns);
  }
  return threads;
}

// What no wait covers is running, or a wait that was not walked or was lost, or the queue after it, or the thread had not begun
// or had ended without fathom seeing it. The kernel's books say how long it ran and stood in the queue. A thread that executes
// programs has a row for each, and its time stands in one.
OffRecord odds_off_record(const model::Profile& profile, const model::Thread& thread,
                          const OnRecord& on_record, bool is_booked) {
  const auto [from_ns, to_ns] = life_of(profile, thread);
  const double lived_ns = to_ns > from_ns ? static_cast<double>(to_ns - from_ns) : 0;
  const double off_record_ns = lived_ns - on_record.all_ns;
  if (!is_booked || off_record_ns <= 0) return {.ran = 1, .queued = 0};
  OffRecord odds;
  odds.ran = std::min(1.0, static_cast<double>(thread.ran_ns) / off_record_ns);
  odds.queued = std::clamp((static_cast<double>(thread.queued_ns) - on_record.queued_ns) / off_record_ns, 0.0,
                           1 - odds.ran);
  return odds;
}

// The beginnings and ends of threads, and what they do while no wait on record covers them.
struct Lives {
  std::vector<PauseChange> changes;  // in their order
  std::vector<OffRecord> off_record;
};

Lives find_lives(const Waits& waits, const Selection& selection, const Stretch& selected) {
  const model::Profile& profile = waits.profile();
  const std::vector<OnRecord> on_record = time_on_record(waits);
  const Filter filter(profile, selection);
  const bool is_booked = std::ranges::any_of(profile.threads, [](const model::Thread& thread) {
    return (thread.ran_ns | thread.waited_ns | thread.queued_ns) != 0;
  });
  Lives lives;
  lives.off_record.resize(profile.threads.size());
  for (std::uint32_t i = 0; i < profile.threads.size(); ++i) {
    const model::Thread& thread = profile.threads[i];
    if (!filter.takes_thread({i})) continue;
    if (!on_record[i].seen && (thread.ran_ns | thread.cpu_ns) == 0) continue;
    lives.off_record[i] = odds_off_record(profile, thread, on_record[i], is_booked);
    const Stretch life = life_of(profile, thread);
    const std::uint64_t from = std::max(selected.from_ns, life.from_ns),
                        to = std::min(selected.to_ns, life.to_ns);
    if (to <= from) continue;
    lives.changes.push_back({.at = from, .thread = i, .begins = true, .is_life = true});
    lives.changes.push_back({.at = to, .thread = i, .begins = false, .is_life = true});
  }
  std::stable_sort(lives.changes.begin(), lives.changes.end());
  return lives;
}

// The changes of a piece of the selected time.
class Piece {
 public:
  Piece(const Stretch& selected, std::size_t number, std::size_t pieces)
      : selected_(selected), is_last_(number + 1 == pieces) {
    const std::uint64_t length = (selected.to_ns - selected.from_ns) / pieces;
    time_.from_ns = selected.from_ns + length * number;
    time_.to_ns = is_last_ ? selected.to_ns : time_.from_ns + length;
  }

  // A thread that begins with the end of the last piece belongs to it.
  void add_lives(const std::vector<PauseChange>& lives) {
    for (const PauseChange& change : lives)
      if (has(change.at) || (is_last_ && change.at == time_.to_ns && change.begins))
        changes_.push_back(change);
  }

  void add_waits(const WaitTimes& waits, const PauseOfWaits& pause_of) {
    waits.for_each_near(time_.from_ns, time_.to_ns, [&](const SelectedWait& row) {
      const model::Wait& wait = row.wait;
      const std::uint64_t woken = wait.start_ns + wait.waited_ns;
      if (woken + wait.queued_ns < time_.from_ns || wait.start_ns >= time_.to_ns) return;
      if (wait.waited_ns != 0) add(wait.start_ns, wait.waited_ns, wait, pause_of.of(row, wait));
      add(woken, wait.queued_ns, wait, Pause::kQueue);
    });
  }

  const std::vector<PauseChange>& sorted_changes() {
    std::stable_sort(changes_.begin(), changes_.end());
    return changes_;
  }

 private:
  bool has(std::uint64_t at) const { return at >= time_.from_ns && at < time_.to_ns; }

  // What lies before the selected time begins with it, and what lies after it never ends.
  void add(std::uint64_t begin_ns, std::uint64_t length_ns, const model::Wait& wait, Pause pause) {
    const std::uint64_t begins = std::max(begin_ns, selected_.from_ns), ends = begin_ns + length_ns;
    if (length_ns == 0 || ends <= selected_.from_ns || begins >= selected_.to_ns) return;
    const std::uint32_t thread = wait.thread.value;
    if (has(begins)) changes_.push_back({.at = begins, .thread = thread, .pause = pause, .begins = true});
    if (has(ends))
      changes_.push_back(
          {.at = ends, .thread = thread, .pause = pause, .stands_for_others = wait.weight > 1});
  }

  const Stretch& selected_;
  Stretch time_;
  bool is_last_;
  std::vector<PauseChange> changes_;
};

}  // namespace

WallTime find_wall_time(const Waits& waits, const Selection& selection, const RuledWaits& reasons,
                        const WaitSites& sites, const HandedOnFutexes& handed_on) {
  const model::Profile& profile = waits.profile();
  if (selection.stacks || profile.duration_s() <= 0) return {};
  const Stretch selected = selected_time(profile, selection);
  if (selected.to_ns <= selected.from_ns) return {};

  Lives lives = find_lives(waits, selection, selected);
  const PauseOfWaits pause_of(waits, reasons, sites, handed_on);
  PauseSweep sweep(selected.from_ns, std::move(lives.off_record));
  // In pieces of the time, so that millions of waits take no memory of their own.
  constexpr std::size_t kRowsOfPiece = std::size_t{1} << 17;
  const std::size_t pieces = 1 + waits.rows().size() / kRowsOfPiece;
  const WaitTimes times(waits);
  for (std::size_t number = 0; number < pieces; ++number) {
    Piece piece(selected, number, pieces);
    piece.add_lives(lives.changes);
    piece.add_waits(times, pause_of);
    for (const PauseChange& change : piece.sorted_changes()) sweep.take(change);
  }
  return sweep.finish(selected.to_ns);
}

WallTime sum_thread_time(const Waits& waits, const RuledWaits& reasons, const WaitSites& sites,
                         const HandedOnFutexes& handed_on, double ran_ns) {
  const PauseOfWaits pause_of(waits, reasons, sites, handed_on);
  WallTime time;
  time.ran_ns = time.length_ns = ran_ns;
  for (const SelectedWait& row : waits.rows()) {
    const auto queued = static_cast<double>(weighted_ns(row.queued_ns, waits.queue_weight(row)));
    time.queued_ns += queued;
    time.length_ns += queued;
    if (row.waited_ns == 0) continue;
    const Pause pause = pause_of.of(row, waits.wait(row));
    if (pause == Pause::kByFathom) continue;  // no time of the program
    const auto waited = static_cast<double>(weighted_ns(row.waited_ns, waits.weight(row)));
    time.*part_of(pause) += waited;
    time.length_ns += waited;
  }
  return time;
}

}  // namespace fathom::analysis
