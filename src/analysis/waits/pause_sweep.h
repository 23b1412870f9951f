// Adds up what a program did at each moment, from the moments at which its threads begin and end to live and to pause. Time in which
// no thread runs is a silence; it counts for the pause that has precedence then, or for the one that ended it.
#pragma once

#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

#include "analysis/waits/pause_of_waits.h"
#include "analysis/waits/wall_time.h"

namespace fathom::analysis {

// A moment at which a thread begins or ends to live, or to pause.
struct PauseChange {
  std::uint64_t at = 0;
  std::uint32_t thread = 0;
  Pause pause = Pause::kOther;
  bool begins = false;
  bool is_life = false;
  bool stands_for_others = false;  // of a wait: others like it were not walked
  // Ends stand before beginnings, so a wait that turns into a place in the run queue is no run.
  friend bool operator<(const PauseChange& a, const PauseChange& b) {
    return std::tuple(a.at, a.begins) < std::tuple(b.at, b.begins);
  }
};

// The probabilities of what a thread does in a moment that no wait on record covers. If all of its waits are on record, it runs.
// Otherwise it may be in one that was not walked, or in the run queue after one.
struct OffRecord {
  double ran = 0, queued = 0;
};

// The probability that none of several threads does something.
class NoneDoes {
 public:
  void change(double probability, bool begins);
  double probability() const;

 private:
  std::uint64_t sure_ = 0;  // threads that surely do it
  double log_ = 0;          // of the probability that none of the others does
};

// The part of `time` that such a pause of all threads belongs to.
double WallTime::*part_of(Pause pause);

class PauseSweep {
 public:
  // off_record[thread]: what a thread that lives and has no wait on record does.
  PauseSweep(std::uint64_t from_ns, std::vector<OffRecord> off_record);
  // Changes come in their order.
  void take(const PauseChange& change);
  WallTime finish(std::uint64_t to_ns);

 private:
  std::uint32_t& count(Pause pause) { return counts_[static_cast<std::size_t>(pause)]; }
  void live(const PauseChange& change);
  void pause(const PauseChange& change);
  void change_running(std::uint32_t thread, bool begins);
  void advance(std::uint64_t to);
  void settle(Pause pause);
  bool sleeps_in_a_crowd();
  void settle_unended();

  WallTime time_;
  std::uint64_t now_;
  std::array<std::uint32_t, kPauses> counts_{};
  NoneDoes running_,
      able_;  // of the threads without a wait on record: to run; to run or to stand in the queue
  std::uint64_t living_ = 0;
  double open_ns_ = 0;  // of the silence that has not ended yet
  std::vector<OffRecord> off_record_;
  std::vector<std::uint32_t> depth_;  // waits on record at this moment: one, but in damaged files
  std::vector<char> alive_;
};

}  // namespace fathom::analysis
