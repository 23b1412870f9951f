#include "analysis/waits/pause_sweep.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fathom::analysis {
namespace {

bool takes_precedence(Pause pause) {
  return pause == Pause::kQueue || pause == Pause::kDisk || pause == Pause::kMemory ||
         pause == Pause::kLock || pause == Pause::kTaskSleep || pause == Pause::kByFathom;
}

}  // namespace

void NoneDoes::change(double probability, bool begins) {
  constexpr double kSure = 0.999;
  if (probability >= kSure)
    begins ? ++sure_ : --sure_;
  else
    log_ += (begins ? 1 : -1) * std::log1p(-probability);
}

double NoneDoes::probability() const {
  return sure_ > 0 ? 0 : std::min(1.0, std::exp(log_));
}

double WallTime::*part_of(Pause pause) {
  switch (pause) {
    case Pause::kQueue:
      return &WallTime::queued_ns;
    case Pause::kDisk:
      return &WallTime::disk_ns;
    case Pause::kMemory:
      return &WallTime::memory_ns;
    case Pause::kLock:
      return &WallTime::locks_ns;
    case Pause::kPeer:
      return &WallTime::peers_ns;
    case Pause::kTimer:
    case Pause::kTaskSleep:
      return &WallTime::slept_ns;
    case Pause::kStuck:
      return &WallTime::unended_ns;
    case Pause::kIdle:
      return &WallTime::idle_ns;
    case Pause::kByFathom:
    case Pause::kOther:
      break;
  }
  return &WallTime::other_ns;
}

PauseSweep::PauseSweep(std::uint64_t from_ns, std::vector<OffRecord> off_record)
    : now_(from_ns),
      off_record_(std::move(off_record)),
      depth_(off_record_.size(), 0),
      alive_(off_record_.size(), 0) {}

void PauseSweep::take(const PauseChange& change) {
  advance(change.at);
  if (change.is_life)
    live(change);
  else
    pause(change);
}

WallTime PauseSweep::finish(std::uint64_t to_ns) {
  advance(to_ns);
  settle_unended();
  time_.length_ns = time_.ran_ns + time_.queued_ns + time_.disk_ns + time_.memory_ns + time_.locks_ns +
                    time_.peers_ns + time_.slept_ns + time_.unended_ns + time_.other_ns + time_.idle_ns;
  return time_;
}

void PauseSweep::live(const PauseChange& change) {
  if (alive_[change.thread] == static_cast<char>(change.begins)) return;
  alive_[change.thread] = static_cast<char>(change.begins);
  change.begins ? ++living_ : --living_;
  if (depth_[change.thread] == 0) change_running(change.thread, change.begins);
}

void PauseSweep::pause(const PauseChange& change) {
  std::uint32_t& depth = depth_[change.thread];
  if (change.begins) {
    if (depth++ == 0 && alive_[change.thread] != 0) change_running(change.thread, false);
    ++count(change.pause);
    return;
  }
  --count(change.pause);
  // While a thread waits for a file, memory, a lock or a task, no silence is open: what is open then passed before, and ended
  // otherwise, unless waits like this one are missing from the record.
  if (change.stands_for_others || !takes_precedence(change.pause)) settle(change.pause);
  if (--depth == 0 && alive_[change.thread] != 0) change_running(change.thread, true);
}

void PauseSweep::change_running(std::uint32_t thread, bool begins) {
  const OffRecord& odds = off_record_[thread];
  running_.change(odds.ran, begins);
  able_.change(odds.ran + odds.queued, begins);
}

void PauseSweep::advance(std::uint64_t to) {
  if (to <= now_) return;
  const auto length = static_cast<double>(to - now_);
  now_ = to;
  const double silent = running_.probability(), quiet = std::min(silent, able_.probability());
  time_.ran_ns += length * (1 - silent);
  if (silent == 0 && open_ns_ > 0) settle(Pause::kOther);  // ended by a thread that was not there before
  if (living_ == 0) {
    time_.idle_ns += length;  // the program has ended, or has not begun
    return;
  }
  const bool queues = count(Pause::kQueue) > 0;
  time_.queued_ns += length * (queues ? silent : silent - quiet);
  if (queues) return;
  for (const Pause first : {Pause::kDisk, Pause::kMemory, Pause::kLock, Pause::kTaskSleep}) {
    if (count(first) == 0) continue;
    time_.*part_of(first) += length * quiet;
    return;
  }
  if (count(Pause::kByFathom) == 0) open_ns_ += length * quiet;
}

// The silence so far ended with such a pause. A timer next to threads that wait for work is housekeeping.
void PauseSweep::settle(Pause pause) {
  const double silence = std::exchange(open_ns_, 0);
  if (silence == 0) return;
  double WallTime::*part = part_of(pause);
  if (part == &WallTime::other_ns || pause == Pause::kTimer) {
    // A thread that sleeps now and then, next to many that nothing wakes, is not what the program does.
    if (count(Pause::kIdle) > 0)
      part = pause == Pause::kTimer && sleeps_in_a_crowd() ? part : &WallTime::idle_ns;
    else if (count(Pause::kStuck) > count(Pause::kTimer) + 1)
      part = &WallTime::unended_ns;
  }
  time_.*part += silence;
}

// More threads than a program has housekeepers: the jobs of a pool sleep, and its event loop has nothing to do meanwhile.
bool PauseSweep::sleeps_in_a_crowd() {
  constexpr std::uint32_t kHousekeepers = 2;
  return count(Pause::kTimer) + 1 > count(Pause::kIdle) + kHousekeepers;
}

// Nothing ended it inside of the selected time.
void PauseSweep::settle_unended() {
  for (const Pause pause : {Pause::kPeer, Pause::kIdle, Pause::kTimer, Pause::kStuck})
    if (count(pause) > 0) return settle(pause);
  settle(Pause::kOther);
}

}  // namespace fathom::analysis
