#include "present/sentences/stacks_sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "analysis/core/prose_name.h"
#include "analysis/core/words.h"
#include "analysis/stacks/changes.h"
#include "base/stable_sort.h"

namespace fathom::present {
namespace {

using analysis::Cause;
using analysis::counted;
using analysis::FutexKind;
using analysis::printable;
using analysis::seconds;
using stacks::Finding;
using stacks::Holder;
using stacks::LockFamily;
using stacks::Look;
using stacks::ThreadLook;
using stacks::Verdict;

std::string base_name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// "Table::find (table.cpp:12)"
std::string place_words(const stacks::Place& place) {
  if (place.function.empty()) return "an unknown place";
  std::string text = printable(analysis::spoken_name(place.function));
  if (!place.file.empty() && place.line != 0)
    text += fmt::format(" ({}:{})", printable(base_name_of(place.file)), place.line);
  return text;
}

std::string duration(std::uint64_t ns) {
  return seconds(static_cast<double>(ns) * 1e-9);
}

std::string_view lock_noun(const ThreadLook& thread) {
  if (thread.awaited.futex == FutexKind::kReaderWriter) return "rwlock";
  return thread.awaited.family == LockFamily::kPthreadMutex || thread.awaited.family == LockFamily::kRust
             ? "mutex"
             : "lock";
}

std::string holder_words(const Look& look, const Holder& holder) {
  switch (holder.kind) {
    case Holder::Kind::kThread:
      return thread_words(look.threads[holder.thread]);
    case Holder::Kind::kProcess:
      return fmt::format("process {} ({})", holder.pid, printable(holder.name));
    case Holder::Kind::kExited:
      return fmt::format("thread {}, which has exited", holder.tid);
    case Holder::Kind::kUnknown:
      break;
  }
  return "an unknown thread";
}

// Of several waits: from the shortest to the longest.
std::string durations(const Look& look, const std::vector<std::size_t>& rows) {
  std::uint64_t least = UINT64_MAX, most = 0;
  for (const std::size_t row : rows) {
    if (!look.threads[row].waited_ns) continue;
    least = std::min(least, *look.threads[row].waited_ns);
    most = std::max(most, *look.threads[row].waited_ns);
  }
  if (most == 0) return "";
  // Waits that began together: one number says it.
  if (static_cast<double>(least) > 0.9 * static_cast<double>(most))
    return fmt::format(", for {}", duration(most));
  return fmt::format(", for {} to {}", duration(least), duration(most));
}

// "in serve (x.cpp:12)", of the place of most of them: "in serve (x.cpp:12) and 2 other places".
std::string places(const Look& look, const std::vector<std::size_t>& rows) {
  std::map<std::string, std::size_t> counts;
  for (const std::size_t row : rows) ++counts[place_words(look.threads[row].place)];
  const auto most = std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
  if (counts.size() == 1) return "in " + most->first;
  return fmt::format("in {} and {}", most->first, counted(counts.size() - 1, "other place", "other places"));
}

// A lock of parking_lot may be unknown.
bool wait_for_one_lock(const Look& look, const std::vector<std::size_t>& rows) {
  const ThreadLook& first = look.threads[rows.front()];
  return rows.size() == 1 ||
         (first.awaited.address != 0 && std::ranges::all_of(rows, [&](std::size_t row) {
            const ThreadLook& thread = look.threads[row];
            return thread.pid == first.pid && thread.awaited.address == first.awaited.address;
          }));
}

std::string waiters(const Look& look, const std::vector<std::size_t>& rows) {
  if (rows.size() == 1) return thread_words(look.threads[rows.front()]) + " waits";
  return fmt::format("{} threads wait", rows.size());
}

std::string behind_words(const Verdict& verdict) {
  if (verdict.behind == 0) return "";
  return fmt::format(" {} more {} behind {}.", verdict.behind,
                     verdict.behind == 1 ? "thread waits" : "threads wait",
                     verdict.threads.size() == 1 ? "it" : "them");
}

std::string deadlock_sentence(const Look& look, const Verdict& verdict) {
  std::string text;
  const std::vector<std::size_t>& rows = verdict.threads;
  const std::string end = verdict.may_end ? ", until a timeout ends a wait" : "";
  if (rows.size() == 1) {
    const ThreadLook& thread = look.threads[rows.front()];
    text = fmt::format("Deadlock: {} waits in {} for {} that it holds itself{}{}.", thread_words(thread),
                       place_words(thread.place), awaited_words(look, thread), durations(look, rows), end);
  } else {
    text = fmt::format("Deadlock: {} threads wait {}, and none can go on{}{}.", rows.size(),
                       rows.size() == 2 ? "for each other" : "in a circle", durations(look, rows), end);
  }
  return text + behind_words(verdict);
}

std::string unknown_holder_reason(const ThreadLook& thread) {
  switch (thread.awaited.family) {
    case LockFamily::kRust:
      return "locks of Rust's standard library do not keep their holder";
    case LockFamily::kParkingLot:
      return "locks of parking_lot do not keep their holder";
    case LockFamily::kPthreadRwlock:
      return "a reader-writer lock does not keep its readers";
    default:
      return "";
  }
}

std::string lock_sentence(const Look& look, const Verdict& verdict) {
  const ThreadLook& first = look.threads[verdict.threads.front()];
  std::string text =
      fmt::format("{} {} for {}{}", waiters(look, verdict.threads), places(look, verdict.threads),
                  awaited_words(look, first), durations(look, verdict.threads));
  if (verdict.finding == Finding::kHolderUnknown) {
    const std::string why = unknown_holder_reason(first);
    return text + "; who holds it is not known" + (why.empty() ? "." : ": " + why + ".");
  }
  text += fmt::format("; held by {}", holder_words(look, first.holder));
  for (const std::size_t row : verdict.chain) {
    const ThreadLook& holder = look.threads[row];
    if (holder.state == stacks::State::kRuns)
      text += fmt::format(", which runs in {}", place_words(holder.place));
    else
      text += fmt::format(", which itself waits in {} for {}{}", place_words(holder.place),
                          awaited_words(look, holder), durations(look, {row}));
    if (holder.holder.kind != Holder::Kind::kUnknown && !stacks::is_of_an_end(holder.holder.evidence))
      text += fmt::format(", held by {}", holder_words(look, holder.holder));
  }
  return text + ".";
}

std::string stopped_sentence(const Look& look, const Verdict& verdict) {
  const std::int32_t pid = look.threads[verdict.threads.front()].pid;
  const auto target = std::ranges::find(look.targets, pid, &stacks::Target::pid);
  const std::string by = target != look.targets.end() && target->tracer_pid != 0
                             ? fmt::format("a debugger (process {})", target->tracer_pid)
                             : "a signal";
  return fmt::format("Stopped: {} {} stopped by {} and cannot run.",
                     counted(verdict.threads.size(), "thread"), verdict.threads.size() == 1 ? "is" : "are",
                     by);
}

std::string running_sentence(const Look& look, const Verdict& verdict) {
  std::map<std::string, std::size_t> functions;
  std::size_t unseen = 0;
  for (const std::size_t row : verdict.threads) {
    if (look.threads[row].stack.value == 0)
      ++unseen;
    else
      ++functions[place_words(look.threads[row].place)];
  }
  std::string text =
      fmt::format("Busy: {} of {} {}", verdict.threads.size(), counted(look.threads.size(), "thread"),
                  verdict.threads.size() == 1 ? "runs" : "run");
  constexpr std::size_t kMost = 3;
  std::size_t count = 0;
  for (const auto& [name, threads] : functions) {
    if (count == kMost) break;
    text += fmt::format("{}{}", count++ == 0 ? " in " : ", ", name);
    if (threads > 1) text += fmt::format(" ({} threads)", threads);
  }
  if (functions.size() > kMost)
    text += fmt::format(" and {} more", counted(functions.size() - kMost, "place"));
  if (unseen != 0)
    text += fmt::format("; where {} of them {} is not known", unseen, unseen == 1 ? "is" : "are");
  return text + ".";
}

// Nothing shows what ends these waits. What they wait for, most threads first.
std::string waiting_sentence(const Look& look, const Verdict& verdict) {
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> kinds;
  for (const std::size_t row : verdict.threads) {
    const ThreadLook& thread = look.threads[row];
    if (thread.state != stacks::State::kWaits) continue;
    kinds[{place_words(thread.place), thread.awaited.cause == Cause::kFutex
                                          ? awaited_words(look, thread)
                                          : std::string(analysis::describe(thread.awaited.cause))}]
        .push_back(row);
  }
  std::vector<std::pair<std::pair<std::string, std::string>, std::vector<std::size_t>>> rows(kinds.begin(),
                                                                                             kinds.end());
  stable_sort_rows(rows, std::greater(), [](const auto& each) { return each.second.size(); });
  if (rows.empty())
    return fmt::format("What {} {} is not known.", counted(verdict.threads.size(), "thread"),
                       verdict.threads.size() == 1 ? "does" : "do");
  constexpr std::size_t kMost = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(rows.size(), kMost); ++i) {
    const ThreadLook& first = look.threads[rows[i].second.front()];
    text += fmt::format("{}{} in {} for {}{}", i == 0 ? "" : "; ", waiters(look, rows[i].second),
                        rows[i].first.first, awaited_words(look, first), durations(look, rows[i].second));
  }
  if (rows.size() > kMost)
    text += fmt::format("; and threads in {} more", counted(rows.size() - kMost, "place"));
  return text + ". What would end " + (verdict.threads.size() == 1 ? "this wait" : "these waits") +
         " is not known.";
}

}  // namespace

std::string_view to_string(Finding finding) {
  switch (finding) {
    case Finding::kDeadlock:
      return "deadlock";
    case Finding::kHolderExited:
      return "holder-exited";
    case Finding::kPoolExhausted:
      return "pool-exhausted";
    case Finding::kLikelyDeadlock:
      return "likely-deadlock";
    case Finding::kHolderWaits:
      return "holder-waits";
    case Finding::kHolderRuns:
      return "holder-runs";
    case Finding::kHolderElsewhere:
      return "holder-in-another-process";
    case Finding::kHolderUnknown:
      return "holder-unknown";
    case Finding::kStopped:
      return "stopped";
    case Finding::kRuns:
      return "busy";
    case Finding::kKernel:
      return "uninterruptible";
    case Finding::kWaits:
      return "waits";
    case Finding::kIdle:
      break;
  }
  return "idle";
}

std::string_view to_string(stacks::State state) {
  switch (state) {
    case stacks::State::kWaits:
      return "waits";
    case stacks::State::kRuns:
      return "runs";
    case stacks::State::kStopped:
      return "stopped";
    case stacks::State::kExiting:
      return "exiting";
    case stacks::State::kUnknown:
      break;
  }
  return "unknown";
}

std::string_view to_string(stacks::Evidence evidence) {
  switch (evidence) {
    case stacks::Evidence::kOwnerField:
      return "owner-field";
    case stacks::Evidence::kLockWord:
      return "lock-word";
    case stacks::Evidence::kThreadEnd:
      return "thread-end";
    case stacks::Evidence::kFileLocks:
      return "file-locks";
    case stacks::Evidence::kChild:
      return "child";
    case stacks::Evidence::kNone:
      break;
  }
  return "none";
}

std::string thread_words(const ThreadLook& thread) {
  return thread.name.empty() ? fmt::format("thread {}", thread.tid)
                             : fmt::format("{} (thread {})", printable(thread.name), thread.tid);
}

std::string awaited_words(const Look& look, const ThreadLook& thread) {
  const stacks::Awaited& awaited = thread.awaited;
  switch (awaited.cause) {
    case Cause::kFutex:
      break;
    case Cause::kSleep:
      return "a timer";
    case Cause::kPoll:
      return "events";
    case Cause::kSignal:
      return "a signal";
    case Cause::kChild:
      return thread.holder.kind == Holder::Kind::kUnknown
                 ? "the end of a child process"
                 : "the end of its child " + holder_words(look, thread.holder);
    case Cause::kUnknown:
      return "something unknown";
    default: {
      // "wait for socket 10.0.0.1:80" follows "waits for".
      constexpr std::string_view kWaitFor = "wait for ";
      std::string_view object = awaited.object;
      if (object.starts_with(kWaitFor)) object.remove_prefix(kWaitFor.size());
      return object.empty() ? std::string(analysis::describe(awaited.cause)) : printable(object);
    }
  }
  switch (awaited.futex) {
    case FutexKind::kLock:
    case FutexKind::kReaderWriter:
      return awaited.address == 0 ? "a " + std::string(lock_noun(thread))
                                  : fmt::format("{} {:#x}", lock_noun(thread), awaited.address);
    case FutexKind::kCondition:
      return "a condition variable";
    case FutexKind::kSemaphore:
      return "a semaphore";
    case FutexKind::kBarrier:
      return "a barrier";
    case FutexKind::kPark:
      return "another thread to wake it";
    case FutexKind::kChannel:
      return "the other end of a channel";
    case FutexKind::kJoin:
      break;
  }
  return thread.holder.kind == Holder::Kind::kThread
             ? "the end of " + thread_words(look.threads[thread.holder.thread])
             : "the end of a thread";
}

std::string doing_words(const Look& look, const ThreadLook& thread) {
  if (thread.state == stacks::State::kRuns) return look.is_core ? "ran" : "runs";
  if (thread.state == stacks::State::kExiting) return "has ended";
  if (thread.state == stacks::State::kUnknown) return "cannot be read";
  std::string text = thread.state == stacks::State::kStopped ? "is stopped"
                     : !thread.idle.empty()                  ? "idle: " + printable(thread.idle)
                                                             : "waits for " + awaited_words(look, thread);
  if (thread.state == stacks::State::kWaits && thread.idle.empty() &&
      thread.holder.kind != Holder::Kind::kUnknown && !stacks::is_of_an_end(thread.holder.evidence))
    text += ", held by " + holder_words(look, thread.holder);
  if (thread.waited_ns) text += fmt::format(", for {}", duration(*thread.waited_ns));
  return text;
}

std::string verdict_sentence(const Look& look, const Verdict& verdict) {
  switch (verdict.finding) {
    case Finding::kDeadlock:
      return deadlock_sentence(look, verdict);
    case Finding::kHolderExited: {
      const ThreadLook& first = look.threads[verdict.threads.front()];
      return fmt::format("Stuck: {} {} for {}{}; thread {} held it and has exited without releasing it{}.{}",
                         waiters(look, verdict.threads), places(look, verdict.threads),
                         awaited_words(look, first), durations(look, verdict.threads), first.holder.tid,
                         verdict.may_end ? ", so only a timeout ends the wait" : "", behind_words(verdict));
    }
    case Finding::kPoolExhausted:
      return fmt::format(
          "Pool exhausted: all {} threads of a pool wait {} for the result of another job{}, and no thread runs. If those jobs are queued in the same pool, no thread is left to run them.{}",
          verdict.threads.size(), places(look, verdict.threads), durations(look, verdict.threads),
          behind_words(verdict));
    case Finding::kLikelyDeadlock:
      if (wait_for_one_lock(look, verdict.threads))
        return fmt::format(
            "Likely deadlock: {} {} for {}{}, and no other thread can release it: either a waiter holds it, or its holder has exited.",
            waiters(look, verdict.threads), places(look, verdict.threads),
            awaited_words(look, look.threads[verdict.threads.front()]), durations(look, verdict.threads));
      return fmt::format(
          "Likely deadlock: {} threads wait for locks that do not keep their holder{}, and every other thread is at rest. The holders are among the waiters, unless a thread at rest holds a lock.",
          verdict.threads.size(), durations(look, verdict.threads));
    case Finding::kHolderWaits:
    case Finding::kHolderRuns:
    case Finding::kHolderElsewhere:
    case Finding::kHolderUnknown:
      return lock_sentence(look, verdict);
    case Finding::kStopped:
      return stopped_sentence(look, verdict);
    case Finding::kRuns:
      return running_sentence(look, verdict);
    case Finding::kKernel:
      return fmt::format("{} {} for {} and cannot be interrupted{}.", waiters(look, verdict.threads),
                         places(look, verdict.threads),
                         awaited_words(look, look.threads[verdict.threads.front()]),
                         durations(look, verdict.threads));
    case Finding::kWaits:
      return waiting_sentence(look, verdict);
    case Finding::kIdle:
      break;
  }
  if (verdict.threads.size() == look.threads.size())
    return verdict.threads.size() == 1
               ? "Idle: the only thread waits for work, time or events."
               : fmt::format("Idle: all {} threads wait for work, time or events.", verdict.threads.size());
  return fmt::format("{} {} idle: waiting for work, time or events.",
                     counted(verdict.threads.size(), "thread"), verdict.threads.size() == 1 ? "is" : "are");
}

std::vector<std::string> verdict_lines(const Look& look, const Verdict& verdict) {
  std::vector<std::string> lines;
  const bool likely = verdict.finding == Finding::kLikelyDeadlock;
  if ((verdict.finding != Finding::kDeadlock && !likely) || verdict.threads.size() == 1) return lines;
  for (const std::size_t row : verdict.threads) {
    const ThreadLook& thread = look.threads[row];
    const bool joins = stacks::is_of_an_end(thread.holder.evidence);
    lines.push_back(fmt::format("{} waits in {} for {}{}", thread_words(thread), place_words(thread.place),
                                awaited_words(look, thread),
                                joins || likely ? "" : ", held by " + holder_words(look, thread.holder)));
  }
  return lines;
}

std::string core_sentence(const Look& look) {
  if (!look.is_core || look.core_signal == 0 || look.threads.empty()) return "";
  const ThreadLook& thread = look.threads.front();
  const char* name = ::sigabbrev_np(look.core_signal);
  return fmt::format("Ended by signal {}{} in {}, in {}.", look.core_signal,
                     name == nullptr ? "" : fmt::format(" (SIG{})", name), thread_words(thread),
                     place_words(thread.place));
}

std::string changes_sentence(const Look& first, const Look& last) {
  const stacks::Changes changes = stacks::compare(first, last);
  const std::string between = duration(last.time_ns - first.time_ns);
  if (changes.moved.empty())
    return fmt::format("No thread has run in the {} between the first look and the last.", between);
  std::string text = fmt::format("{} of {} have run in the {} between the first look and the last",
                                 changes.moved.size(), counted(last.threads.size(), "thread"), between);
  constexpr std::size_t kMost = 5;
  for (std::size_t i = 0; i < std::min(changes.moved.size(), kMost); ++i)
    text += (i == 0 ? ": " : ", ") + thread_words(last.threads[changes.moved[i]]);
  if (changes.moved.size() > kMost) text += fmt::format(" and {} more", changes.moved.size() - kMost);
  text += ".";
  if (changes.ended != 0 || changes.started != 0)
    text += fmt::format(" {} started, {} ended.", counted(changes.started, "thread"),
                        counted(changes.ended, "thread"));
  return text;
}

}  // namespace fathom::present
