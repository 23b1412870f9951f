#include "analysis/waits/wall_time.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/core/ending.h"
#include "analysis/core/known_waker.h"
#include "analysis/waits/async_tasks.h"
#include "analysis/waits/other_locks.h"
#include "model/block_reads.h"
#include "model/listening_socket.h"
#include "model/system_call.h"
#include "model/wait_sums.h"

namespace fathom::analysis {
namespace {

// What a thread is doing that does not run.
enum class Pause : std::uint8_t {
  kQueue,
  kDisk,
  kMemory,
  kLock,
  kPeer,
  kTimer,
  kTaskSleep,  // a task sleeps, and keeps a thread of its executor from the others
  kIdle,
  kStuck,     // for another thread, which never came
  kByFathom,  // no time of the program
  kOther,
};
constexpr std::size_t kPauses = static_cast<std::size_t>(Pause::kOther) + 1;

constexpr std::string_view kAnswerOfDns = "an answer of the DNS";  // as in wait_reasons.txt

bool is_semaphore(const model::Wait& wait) {
  const std::string_view call = model::system_call_name(wait.system_call);
  return call == "semop" || call == "semtimedop";
}

class PauseOfWaits {
 public:
  PauseOfWaits(const Waits& waits, const RuledWaits& reasons, const WaitSites& sites,
               const HandedOnFutexes& handed_on)
      : waits_(waits),
        reasons_(reasons),
        sites_(sites),
        handed_on_(handed_on),
        wakers_(waits.profile(), waits.causes()),
        tasks_(waits.profile()),
        reads_blocks_(readers_of_blocks(waits)),
        killed_(killed_processes(waits.profile())),
        has_child_(parents(waits.profile())),
        knows_wakers_(knows_wakers(waits)) {}

  Pause of(const SelectedWait& row, const model::Wait& wait) const {
    const Pause pause = of_cause(row, wait);
    return pause == Pause::kTimer && tasks_.task(wait.stack) != 0 ? Pause::kTaskSleep : pause;
  }

 private:
  Pause of_cause(const SelectedWait& row, const model::Wait& wait) const {
    if (row.idle && waits_.idle().by_fathom(*row.idle)) return Pause::kByFathom;
    if (row.idle) return is_for_a_child(row, wait) ? Pause::kOther : Pause::kIdle;
    if (const auto reason = reasons_.rule_of(wait, row.cause)) {
      if (is_lock(reasons_.name(*reason))) return Pause::kLock;
      // An answer that never comes is waited for, too, until a timer gives up.
      if (reasons_.name(*reason) == kAnswerOfDns) return Pause::kPeer;
    }
    switch (row.cause) {
      case Cause::kFutex:
        return of_futex(wait);
      case Cause::kFileLock:
        return Pause::kLock;
      case Cause::kIpc:
        return is_semaphore(wait) ? Pause::kLock : Pause::kPeer;
      case Cause::kFileRead:
      case Cause::kFileWrite:
      case Cause::kFileSync:
      case Cause::kFileOther:
      case Cause::kAsyncIo:
      case Cause::kWriteback:
        return Pause::kDisk;
      case Cause::kPageFault:
        return waits_.profile().objects[wait.object.value].kind == model::ObjectKind::kMemory ? Pause::kMemory
                                                                                              : Pause::kDisk;
      case Cause::kReclaim:
        return Pause::kMemory;
      case Cause::kSocket:  // one that listens asked no one, and work has not arrived
        return model::is_listening(waits_.profile().objects[wait.object.value]) ? Pause::kIdle : Pause::kPeer;
      case Cause::kPipe:
        return Pause::kPeer;
      case Cause::kPoll:
        return wakers_.is_ended_by_timer(wait) ? Pause::kTimer : Pause::kPeer;
      case Cause::kSignal:
        return wakers_.is_ended_by_timer(wait) ? Pause::kTimer : Pause::kOther;
      // Its ring holds timers, sockets and events as well as files; a wait for it does not say which.
      case Cause::kIoUring:
        return reads_blocks_[waits_.profile().threads[wait.thread.value].process.value] != 0 ? Pause::kDisk
                                                                                             : Pause::kPeer;
      case Cause::kSleep:
        return Pause::kTimer;
      default:
        return Pause::kOther;
    }
  }

  // A thread that waits for another one waits for that thread's work, which its own row shows; the rest is
  // how the wait ended.
  Pause of_futex(const model::Wait& wait) const {
    switch (sites_.futex_kind(wait.stack)) {
      case FutexKind::kLock:
      case FutexKind::kReaderWriter:
        return Pause::kLock;
      default:
        break;
    }
    if (handed_on_.contains(wait)) return Pause::kLock;
    if (wait.unfinished || is_cut_off(wait)) return Pause::kStuck;
    return wait.waker == model::kNoThread && knows_wakers_ ? Pause::kTimer : Pause::kOther;
  }

  // Only BPF and a record of wake-ups report which thread ended a wait. A look at /proc does not.
  // Rows of a server have only the threads that ended many waits.
  static bool knows_wakers(const Waits& waits) {
    if (waits.profile().meta.facts.contains(model::kWaitSumsFact)) return false;
    return waits.profile().meta.engine == "bpf" ||
           std::ranges::any_of(waits.rows(), [&](const SelectedWait& row) {
             return waits.wait(row).waker != model::kNoThread;
           });
  }

  // A program that starts another one and waits for a signal, as timeout does, waits for that one.
  bool is_for_a_child(const SelectedWait& row, const model::Wait& wait) const {
    return row.cause == Cause::kSignal &&
           has_child_[waits_.profile().threads[wait.thread.value].process.value] != 0;
  }

  // By process: it started another one of the recording.
  static std::vector<char> parents(const model::Profile& profile) {
    std::set<std::int32_t> pids;
    for (const model::Process& process : profile.processes)
      if (process.parent_pid != process.pid) pids.insert(process.parent_pid);
    std::vector<char> has_child;
    for (const model::Process& process : profile.processes)
      has_child.push_back(static_cast<char>(pids.contains(process.pid)));
    return has_child;
  }

  // The signal that killed the program ended it, and neither a thread of it nor a timer.
  bool is_cut_off(const model::Wait& wait) const {
    constexpr std::uint64_t kToEndNs = 20'000'000;  // from the signal to the end of the thread
    const model::Thread& thread = waits_.profile().threads[wait.thread.value];
    const std::uint64_t over = wait.start_ns + wait.waited_ns + wait.queued_ns;
    const bool is_woken_by_own = wait.waker != model::kNoThread &&
                                 waits_.profile().threads[wait.waker.value].process == thread.process;
    return killed_[thread.process.value] != 0 && !is_woken_by_own && thread.end_ns != 0 &&
           over + kToEndNs >= thread.end_ns;
  }

  // By process: a signal ended it.
  static std::vector<char> killed_processes(const model::Profile& profile) {
    std::vector<char> killed;
    for (const model::Process& process : profile.processes)
      killed.push_back(static_cast<char>(ending_of(profile, process).signal != 0));
    return killed;
  }

  // By process: it read at least a sector of a block device for each wait for a ring.
  static std::vector<char> readers_of_blocks(const Waits& waits) {
    const model::Profile& profile = waits.profile();
    std::vector<double> rings(profile.processes.size());
    for (const SelectedWait& row : waits.rows())
      if (row.cause == Cause::kIoUring)
        rings[profile.threads[waits.wait(row).thread.value].process.value] += row.weight;
    constexpr double kSector = 512;
    std::vector<char> readers(rings.size());
    for (std::size_t i = 0; i < rings.size(); ++i) {
      if (rings[i] == 0) continue;
      const auto fact = profile.meta.facts.find(model::block_reads_fact(profile.processes[i].pid));
      std::uint64_t bytes = 0;
      if (fact == profile.meta.facts.end() ||
          std::from_chars(fact->second.data(), fact->second.data() + fact->second.size(), bytes).ec !=
              std::errc())
        continue;
      readers[i] = static_cast<char>(static_cast<double>(bytes) >= kSector * rings[i]);
    }
    return readers;
  }

  const Waits& waits_;
  const RuledWaits& reasons_;
  const WaitSites& sites_;
  const HandedOnFutexes& handed_on_;
  KnownWakers wakers_;
  PolledTasks tasks_;
  std::vector<char> reads_blocks_, killed_, has_child_;
  bool knows_wakers_;
};

// A moment at which a thread begins or ends to live, or to pause.
struct Change {
  std::uint64_t at = 0;
  std::uint32_t thread = 0;
  Pause pause = Pause::kOther;
  bool begins = false;
  bool is_life = false;
  bool stands_for_others = false;  // of a wait: others like it were not walked
  // Ends stand before beginnings, so a wait that turns into a place in the run queue is no run.
  friend bool operator<(const Change& a, const Change& b) {
    return std::tuple(a.at, a.begins) < std::tuple(b.at, b.begins);
  }
};

// The probabilities of what a thread does in a moment that no wait on record covers. Where all of its waits are on record it runs;
// otherwise it may be in one that was not walked, or in the queue after one.
struct OffRecord {
  double ran = 0, queued = 0;
};

// The probability that none of several threads does something.
class Odds {
 public:
  void change(double probability, bool begins) {
    constexpr double kSure = 0.999;
    if (probability >= kSure)
      begins ? ++sure_ : --sure_;
    else
      none_log_ += (begins ? 1 : -1) * std::log1p(-probability);
  }
  double none() const { return sure_ > 0 ? 0 : std::min(1.0, std::exp(none_log_)); }

 private:
  std::uint64_t sure_ = 0;  // threads that surely do it
  double none_log_ = 0;     // of the probability that none of the others does
};

// Adds up the time between changes, which come in their order.
class Sweep {
 public:
  // off_record[thread]: what a thread that lives and has no wait on record does.
  Sweep(std::uint64_t from_ns, std::vector<OffRecord> off_record)
      : now_(from_ns),
        off_record_(std::move(off_record)),
        depth_(off_record_.size(), 0),
        alive_(off_record_.size(), 0) {}

  void take(const Change& change) {
    advance(change.at);
    if (change.is_life)
      live(change);
    else
      pause(change);
  }

  WallTime finish(std::uint64_t to_ns) {
    advance(to_ns);
    settle_unended();
    time_.length_ns = time_.ran_ns + time_.queued_ns + time_.disk_ns + time_.memory_ns + time_.locks_ns +
                      time_.peers_ns + time_.slept_ns + time_.unended_ns + time_.other_ns + time_.idle_ns;
    return time_;
  }

 private:
  std::uint32_t& count(Pause pause) { return counts_[static_cast<std::size_t>(pause)]; }

  void live(const Change& change) {
    if (alive_[change.thread] == static_cast<char>(change.begins)) return;
    alive_[change.thread] = static_cast<char>(change.begins);
    change.begins ? ++living_ : --living_;
    if (depth_[change.thread] == 0) change_running(change.thread, change.begins);
  }

  void pause(const Change& change) {
    std::uint32_t& depth = depth_[change.thread];
    if (change.begins) {
      if (depth++ == 0 && alive_[change.thread] != 0) change_running(change.thread, false);
      ++count(change.pause);
      return;
    }
    --count(change.pause);
    // While a file, memory, a lock or a task is waited for, no silence is open: what is open then passed before, and ended otherwise, unless
    // waits like this one are missing from the record.
    if (change.stands_for_others || !takes_precedence(change.pause)) settle(change.pause);
    if (--depth == 0 && alive_[change.thread] != 0) change_running(change.thread, true);
  }

  static bool takes_precedence(Pause pause) {
    return pause == Pause::kQueue || pause == Pause::kDisk || pause == Pause::kMemory ||
           pause == Pause::kLock || pause == Pause::kTaskSleep || pause == Pause::kByFathom;
  }

  void change_running(std::uint32_t thread, bool begins) {
    const OffRecord& odds = off_record_[thread];
    running_.change(odds.ran, begins);
    able_.change(odds.ran + odds.queued, begins);
  }

  void advance(std::uint64_t to) {
    if (to <= now_) return;
    const auto length = static_cast<double>(to - now_);
    now_ = to;
    const double silent = running_.none(), quiet = std::min(silent, able_.none());
    time_.ran_ns += length * (1 - silent);
    if (silent == 0 && open_ns_ > 0) settle(Pause::kOther);  // ended by a thread that was not there before
    if (living_ == 0) {
      time_.idle_ns += length;  // the program has ended, or has not begun
      return;
    }
    const bool queues = count(Pause::kQueue) > 0;
    time_.queued_ns += length * (queues ? silent : silent - quiet);
    if (queues) return;
    if (count(Pause::kDisk) > 0)
      time_.disk_ns += length * quiet;
    else if (count(Pause::kMemory) > 0)
      time_.memory_ns += length * quiet;
    else if (count(Pause::kLock) > 0)
      time_.locks_ns += length * quiet;
    else if (count(Pause::kTaskSleep) > 0)
      time_.slept_ns += length * quiet;
    else if (count(Pause::kByFathom) == 0)
      open_ns_ += length * quiet;
  }

  // The silence so far ended with such a pause. A timer next to threads that wait for work is housekeeping.
  void settle(Pause pause) {
    const double silence = std::exchange(open_ns_, 0);
    if (silence == 0) return;
    const bool waits_for_work = count(Pause::kIdle) > 0;
    // A thread that sleeps now and then, next to many that nothing wakes, is not what the program does.
    const bool waits_for_ever = !waits_for_work && count(Pause::kStuck) > count(Pause::kTimer) + 1;
    switch (pause) {
      case Pause::kQueue:
        time_.queued_ns += silence;
        break;
      case Pause::kDisk:
        time_.disk_ns += silence;
        break;
      case Pause::kMemory:
        time_.memory_ns += silence;
        break;
      case Pause::kLock:
        time_.locks_ns += silence;
        break;
      case Pause::kPeer:
        time_.peers_ns += silence;
        break;
      case Pause::kIdle:
        time_.idle_ns += silence;
        break;
      case Pause::kTaskSleep:
        time_.slept_ns += silence;
        break;
      case Pause::kTimer:
        (waits_for_work ? time_.idle_ns : waits_for_ever ? time_.unended_ns : time_.slept_ns) += silence;
        break;
      case Pause::kStuck:
        time_.unended_ns += silence;
        break;
      default:
        (waits_for_work ? time_.idle_ns : waits_for_ever ? time_.unended_ns : time_.other_ns) += silence;
        break;
    }
  }

  // Nothing ended it inside of the selected time.
  void settle_unended() {
    for (const Pause pause : {Pause::kPeer, Pause::kIdle, Pause::kTimer, Pause::kStuck})
      if (count(pause) > 0) return settle(pause);
    settle(Pause::kOther);
  }

  WallTime time_;
  std::uint64_t now_;
  std::array<std::uint32_t, kPauses> counts_{};
  Odds running_, able_;  // of the threads without a wait on record: to run; to run or to stand in the queue
  std::uint64_t living_ = 0;
  double open_ns_ = 0;  // of the silence that has not ended yet
  std::vector<OffRecord> off_record_;
  std::vector<std::uint32_t> depth_;  // waits on record at this moment: one, but in damaged files
  std::vector<char> alive_;
};

std::uint64_t start_of(const model::Profile& profile, const model::Thread& thread) {
  return std::max(profile.meta.start_ns, thread.start_ns);
}
std::uint64_t end_of(const model::Profile& profile, const model::Thread& thread) {
  return thread.end_ns == 0 ? profile.meta.end_ns : std::min(thread.end_ns, profile.meta.end_ns);
}
double lifetime_ns(const model::Profile& profile, const model::Thread& thread) {
  const std::uint64_t start = start_of(profile, thread), end = end_of(profile, thread);
  return end > start ? static_cast<double>(end - start) : 0;
}

struct Life {
  std::uint64_t from_ns = 0, to_ns = 0;
  double on_record_ns = 0;  // in waits and queues
  double queued_ns = 0;     // in the queues of them
  bool seen = false;
};

}  // namespace

WallTime find_wall_time(const Waits& waits, const Selection& selection, const RuledWaits& reasons,
                        const WaitSites& sites, const HandedOnFutexes& handed_on) {
  const model::Profile& profile = waits.profile();
  if (selection.stacks || profile.duration_s() <= 0) return {};
  const std::uint64_t start = profile.meta.start_ns;
  const std::uint64_t from = start + selection.from_ns.value_or(0);
  const std::uint64_t to =
      std::min(profile.meta.end_ns, selection.to_ns ? start + *selection.to_ns : profile.meta.end_ns);
  if (to <= from) return {};

  std::vector<Life> lives(profile.threads.size());
  for (const SelectedWait& row : waits.rows()) {
    const model::Wait& wait = waits.wait(row);
    Life& life = lives[wait.thread.value];
    life.seen = true;
    life.on_record_ns += static_cast<double>(wait.waited_ns + wait.queued_ns);
    life.queued_ns += static_cast<double>(wait.queued_ns);
  }
  const Filter filter(profile, selection);
  const bool is_booked = std::ranges::any_of(profile.threads, [](const model::Thread& thread) {
    return (thread.ran_ns | thread.waited_ns | thread.queued_ns) != 0;
  });
  std::vector<OffRecord> off_record(lives.size());
  std::vector<Change> changes;
  for (std::uint32_t i = 0; i < lives.size(); ++i) {
    const model::Thread& thread = profile.threads[i];
    Life& life = lives[i];
    if (!filter.takes_thread({i}) || (!life.seen && (thread.ran_ns | thread.cpu_ns) == 0)) continue;
    life.from_ns = std::max(from, start_of(profile, thread));
    life.to_ns = std::min(to, end_of(profile, thread));
    OffRecord& odds = off_record[i];
    odds.ran = 1;
    // What no wait covers is running, or a wait that was not walked or was lost, or the queue after it, or the thread had not begun
    // or had ended without fathom seeing it. How long it ran and stood in the queue is known; a thread that executes programs has a
    // row for each, and its time stands in one.
    const double off_record_ns = lifetime_ns(profile, thread) - life.on_record_ns;
    if (is_booked && off_record_ns > 0) {
      odds.ran = std::min(1.0, static_cast<double>(thread.ran_ns) / off_record_ns);
      odds.queued = std::clamp((static_cast<double>(thread.queued_ns) - life.queued_ns) / off_record_ns, 0.0,
                               1 - odds.ran);
    }
    if (life.to_ns <= life.from_ns) continue;
    changes.push_back({.at = life.from_ns, .thread = i, .begins = true, .is_life = true});
    changes.push_back({.at = life.to_ns, .thread = i, .begins = false, .is_life = true});
  }
  std::stable_sort(changes.begin(), changes.end());

  // In pieces of the time, so that millions of waits take no memory of their own.
  constexpr std::size_t kRowsOfPiece = std::size_t{1} << 19;
  const std::size_t pieces = 1 + waits.rows().size() / kRowsOfPiece;
  const PauseOfWaits pause_of(waits, reasons, sites, handed_on);
  Sweep sweep(from, std::move(off_record));
  std::vector<Change> piece;
  for (std::size_t at = 0; at < pieces; ++at) {
    const std::uint64_t first = from + (to - from) / pieces * at;
    const std::uint64_t end = at + 1 == pieces ? to : from + (to - from) / pieces * (at + 1);
    // What lies before the selected time begins with it, and what lies after it never ends.
    const auto add = [&](std::uint64_t begin_ns, std::uint64_t length_ns, const model::Wait& wait,
                         Pause pause) {
      const std::uint64_t begins = std::max(begin_ns, from), ends = begin_ns + length_ns;
      if (length_ns == 0 || ends <= from || begins >= to) return;
      const std::uint32_t thread = wait.thread.value;
      if (begins >= first && begins < end)
        piece.push_back({.at = begins, .thread = thread, .pause = pause, .begins = true});
      if (ends >= first && ends < end)
        piece.push_back({.at = ends, .thread = thread, .pause = pause, .stands_for_others = wait.weight > 1});
    };
    piece.clear();
    for (const Change& change : changes)
      if (change.at >= first && (change.at < end || (at + 1 == pieces && change.at == end && change.begins)))
        piece.push_back(change);
    for (const SelectedWait& row : waits.rows()) {
      const model::Wait& wait = waits.wait(row);
      const std::uint64_t woken = wait.start_ns + wait.waited_ns;
      if (woken + wait.queued_ns < first || wait.start_ns >= end) continue;
      if (wait.waited_ns != 0) add(wait.start_ns, wait.waited_ns, wait, pause_of.of(row, wait));
      add(woken, wait.queued_ns, wait, Pause::kQueue);
    }
    std::stable_sort(piece.begin(), piece.end());
    for (const Change& change : piece) sweep.take(change);
  }
  return sweep.finish(to);
}

WallTime sum_thread_time(const Waits& waits, const RuledWaits& reasons, const WaitSites& sites,
                         const HandedOnFutexes& handed_on, double ran_ns) {
  const PauseOfWaits pause_of(waits, reasons, sites, handed_on);
  WallTime time;
  time.ran_ns = ran_ns;
  double by_fathom = 0;  // no time of the program
  const auto part = [&](Pause pause) -> double& {
    switch (pause) {
      case Pause::kQueue:
        return time.queued_ns;
      case Pause::kDisk:
        return time.disk_ns;
      case Pause::kMemory:
        return time.memory_ns;
      case Pause::kLock:
        return time.locks_ns;
      case Pause::kPeer:
        return time.peers_ns;
      case Pause::kTimer:
      case Pause::kTaskSleep:
        return time.slept_ns;
      case Pause::kStuck:
        return time.unended_ns;
      case Pause::kIdle:
        return time.idle_ns;
      case Pause::kByFathom:
        return by_fathom;
      case Pause::kOther:
        break;
    }
    return time.other_ns;
  };
  time.length_ns = ran_ns;
  for (const SelectedWait& row : waits.rows()) {
    const auto waited = static_cast<double>(weighted_ns(row.waited_ns, waits.weight(row)));
    const auto queued = static_cast<double>(weighted_ns(row.queued_ns, waits.queue_weight(row)));
    if (row.waited_ns != 0) part(pause_of.of(row, waits.wait(row))) += waited;
    time.queued_ns += queued;
    time.length_ns += waited + queued;
  }
  time.length_ns -= by_fathom;
  return time;
}

}  // namespace fathom::analysis
