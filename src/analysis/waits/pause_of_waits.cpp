#include "analysis/waits/pause_of_waits.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "analysis/core/ending.h"
#include "analysis/waits/other_locks.h"
#include "base/parse.h"
#include "model/block_reads.h"
#include "model/listening_socket.h"
#include "model/system_call.h"
#include "model/wait_sums.h"

namespace fathom::analysis {
namespace {

constexpr std::string_view kAnswerOfDns = "an answer of the DNS";  // as in wait_reasons.txt

bool is_semaphore(const model::Wait& wait) {
  const std::string_view call = model::system_call_name(wait.system_call);
  return call == "semop" || call == "semtimedop";
}

// Only BPF and a record of wake-ups report which thread ended a wait. A look at /proc does not.
// Rows of a server have only the threads that ended many waits.
bool knows_wakers(const Waits& waits) {
  if (waits.profile().meta.facts.contains(model::kWaitSumsFact)) return false;
  return waits.profile().meta.engine == "bpf" ||
         std::ranges::any_of(waits.rows(), [&](const SelectedWait& row) {
           return waits.wait(row).waker != model::kNoThread;
         });
}

// By process: it started another one of the recording.
std::vector<char> parents(const model::Profile& profile) {
  std::set<std::int32_t> pids;
  for (const model::Process& process : profile.processes)
    if (process.parent_pid != process.pid) pids.insert(process.parent_pid);
  std::vector<char> has_child;
  for (const model::Process& process : profile.processes)
    has_child.push_back(static_cast<char>(pids.contains(process.pid)));
  return has_child;
}

// By process: a signal ended it.
std::vector<char> killed_processes(const model::Profile& profile) {
  std::vector<char> killed;
  for (const model::Process& process : profile.processes)
    killed.push_back(static_cast<char>(ending_of(profile, process).signal != 0));
  return killed;
}

// By process: it read at least a sector of a block device for each wait for a ring.
std::vector<char> readers_of_blocks(const Waits& waits) {
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
    if (fact == profile.meta.facts.end()) continue;
    const auto bytes = parse_number(fact->second);
    readers[i] = static_cast<char>(bytes && static_cast<double>(*bytes) >= kSector * rings[i]);
  }
  return readers;
}

}  // namespace

PauseOfWaits::PauseOfWaits(const Waits& waits, const RuledWaits& reasons, const WaitSites& sites,
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

Pause PauseOfWaits::of(const SelectedWait& row, const model::Wait& wait) const {
  const Pause pause = of_cause(row, wait);
  return pause == Pause::kTimer && tasks_.task(wait.stack) != 0 ? Pause::kTaskSleep : pause;
}

std::uint32_t PauseOfWaits::process_of(const model::Wait& wait) const {
  return waits_.profile().threads[wait.thread.value].process.value;
}

Pause PauseOfWaits::of_cause(const SelectedWait& row, const model::Wait& wait) const {
  if (row.idle && waits_.idle().by_fathom(*row.idle)) return Pause::kByFathom;
  if (row.idle) return is_for_a_child(row, wait) ? Pause::kOther : Pause::kIdle;
  if (const auto reason = reasons_.rule_of(wait, row.cause)) {
    if (is_lock(reasons_.name(*reason))) return Pause::kLock;
    // An answer that never comes is waited for, too, until a timer gives up.
    if (reasons_.name(*reason) == kAnswerOfDns) return Pause::kPeer;
  }
  const model::WaitObject& object = waits_.profile().objects[wait.object.value];
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
      return object.kind == model::ObjectKind::kMemory ? Pause::kMemory : Pause::kDisk;
    case Cause::kReclaim:
      return Pause::kMemory;
    case Cause::kSocket:  // one that listens asked no one, and work has not arrived
      return model::is_listening(object) ? Pause::kIdle : Pause::kPeer;
    case Cause::kPipe:
      return Pause::kPeer;
    case Cause::kPoll:
      return wakers_.is_ended_by_timer(wait) ? Pause::kTimer : Pause::kPeer;
    case Cause::kSignal:
      return wakers_.is_ended_by_timer(wait) ? Pause::kTimer : Pause::kOther;
    // Its ring holds timers, sockets and events as well as files; a wait for it does not say which.
    case Cause::kIoUring:
      return reads_blocks_[process_of(wait)] != 0 ? Pause::kDisk : Pause::kPeer;
    case Cause::kSleep:
      return Pause::kTimer;
    default:
      return Pause::kOther;
  }
}

// A thread that waits for another one waits for that thread's work, which its own row shows; the rest is
// how the wait ended.
Pause PauseOfWaits::of_futex(const model::Wait& wait) const {
  const FutexKind kind = sites_.futex_kind(wait.stack);
  if (kind == FutexKind::kLock || kind == FutexKind::kReaderWriter) return Pause::kLock;
  if (handed_on_.contains(wait)) return Pause::kLock;
  if (wait.unfinished || is_cut_off(wait)) return Pause::kStuck;
  return wait.waker == model::kNoThread && knows_wakers_ ? Pause::kTimer : Pause::kOther;
}

// A program that starts another one and waits for a signal, as timeout does, waits for that one.
bool PauseOfWaits::is_for_a_child(const SelectedWait& row, const model::Wait& wait) const {
  return row.cause == Cause::kSignal && has_child_[process_of(wait)] != 0;
}

// The signal that killed the program ended it, and neither a thread of it nor a timer.
bool PauseOfWaits::is_cut_off(const model::Wait& wait) const {
  constexpr std::uint64_t kToEndNs = 20'000'000;  // from the signal to the end of the thread
  const model::Thread& thread = waits_.profile().threads[wait.thread.value];
  const std::uint64_t over = wait.start_ns + wait.waited_ns + wait.queued_ns;
  const bool is_woken_by_own =
      wait.waker != model::kNoThread && waits_.profile().threads[wait.waker.value].process == thread.process;
  return killed_[thread.process.value] != 0 && !is_woken_by_own && thread.end_ns != 0 &&
         over + kToEndNs >= thread.end_ns;
}

}  // namespace fathom::analysis
