#include "present/sentences/wait_sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/core/prose_name.h"
#include "analysis/core/words.h"

namespace fathom::present {

using namespace analysis;  // this folder puts into words what lies there

namespace {

std::string in_ticks(std::string_view text) {
  return "`" + printable(text) + "`";
}

// "is blocked in page faults of `mdbx.dat`"
std::string blocked_in(const BlockedRow& row) {
  const auto with = [&](std::string_view words, std::string_view joint) {
    return std::string(words) + (row.what.empty() ? "" : std::string(joint) + in_ticks(row.what));
  };
  if (!row.reason.empty() && !row.released)
    return with("is spent waiting for " + printable(row.reason),
                row.cause == Cause::kPageFault ? " of " : " in ");
  switch (row.cause) {
    case Cause::kFutex:
      return row.released ? "is spent waiting for a wake-up from " + in_ticks(row.what)
                          : with("is spent waiting at futexes", " in ");
    case Cause::kPoll:
      return row.released ? "is spent waiting for events from " + in_ticks(row.what)
                          : with("is spent waiting for events", " in ");
    case Cause::kAsyncIo:
      return with("is spent waiting for asynchronous I/O", " of ");
    case Cause::kSleep:
      return with("is spent sleeping", " in ");
    case Cause::kPageFault:
      return with("is blocked in page faults", " of ");
    case Cause::kFileRead:
      return with("is blocked reading files", ": ");
    case Cause::kFileWrite:
      return with("is blocked writing files", ": ");
    case Cause::kFileSync:
      return with("is blocked in fsync", " of ");
    case Cause::kSocket:
      return with("is spent waiting for sockets", ": ");
    case Cause::kPipe:
      return with("is spent waiting for pipes", ": ");
    case Cause::kRunQueue:
      return "is spent in the run queue: able to run, without a CPU";
    case Cause::kThrottled:
      return "is lost to the CPU quota of its cgroup";
    case Cause::kReclaim:
      return "is spent freeing memory (reclaim)";
    case Cause::kUnknown:
      return with("is spent in waits of unknown cause", " in ");
    default:
      return with("is blocked: " + std::string(describe(row.cause)), ", ");
  }
}

const WaitThreadRow* thread_row(const WaitReport& report, const std::string& name) {
  const auto found = std::find_if(report.threads.begin(), report.threads.end(),
                                  [&](const WaitThreadRow& row) { return row.name == name; });
  return found == report.threads.end() ? nullptr : &*found;
}

std::string sentence_of_split(const WaitReport& report) {
  double ran = 0, waited = 0, queued = 0, idle = 0;
  std::uint64_t threads = 0;
  for (const WaitThreadRow& row : report.threads) {
    ran += row.ran_ns;
    waited += row.waited_ns;
    queued += row.queued_ns;
    idle += row.idle_ns;
    threads += row.threads;
  }
  const double wall = ran + waited + queued;
  if (wall <= 0) return "";
  std::string text = fmt::format(
      "Of {} of thread time ({}), {} ran, {} waited, {} {}", seconds(wall * 1e-9), counted(threads, "thread"),
      percent(ran / wall), percent(waited / wall), percent(queued / wall),
      report.throttled_ns > 0 ? "had no CPU (run queue and CPU quota)" : "waited in the run queue");
  if (idle > 0) {
    text += fmt::format("; {} was idle (workers without work){}", percent(idle / wall),
                        report.folds_idle ? ", and is folded" : "");
  }
  return text + ".";
}

}  // namespace

std::string async_task_sentence(const WaitReport& report) {
  // Other tasks of the worker are late by so much.
  constexpr std::uint64_t kLong_ns = 10'000'000;
  const auto most = std::ranges::find_if(
      report.tasks, [](const AsyncTaskRow& row) { return row.blocked.max_ns() >= kLong_ns; });
  if (most == report.tasks.end()) return "";
  const double total_ns = static_cast<double>(most->blocked.total_ns());
  return fmt::format(
      "Async task {} blocks a worker thread of its executor: {} of up to {} in {} ({}), {} in all.",
      printable(spoken_name(most->task)),
      most->blocked.walked() == 1 ? "a wait" : fmt::format("{:.0f} waits", most->blocked.waits()),
      seconds(static_cast<double>(most->blocked.max_ns()) * 1e-9), printable(spoken_name(most->site)),
      describe(most->cause), seconds(total_ns * 1e-9));
}

std::vector<std::string> sentences_of(const WaitReport& report) {
  std::vector<std::string> sentences;
  if (std::string split = sentence_of_split(report); !split.empty()) sentences.push_back(std::move(split));
  constexpr std::size_t kMost = 3;
  constexpr double kLeastShare = 0.02;
  std::size_t shown = 0;
  for (const BlockedRow& row : report.blocked) {
    if (shown == kMost) break;
    if (row.share < kLeastShare) continue;
    const WaitThreadRow* threads = thread_row(report, row.thread);
    const std::string who = threads != nullptr && threads->threads > 1
                                ? fmt::format("the {} threads {}", threads->threads, in_ticks(row.thread))
                                : in_ticks(row.thread);
    sentences.push_back(
        fmt::format("{} of the wall time of {} {}.", percent(row.share), who, blocked_in(row)));
    ++shown;
  }
  if (std::string blocking = async_task_sentence(report); !blocking.empty())
    sentences.push_back(std::move(blocking));
  if (!report.chains.empty())
    sentences.push_back("The longest chain of waits: " + in_words(report.chains.front()) + ".");
  return sentences;
}

std::string sentence_of(const HolderDelay& delay) {
  const std::string site = printable(spoken_name(delay.site));
  const std::string did =
      delay.cause == Cause::kRunQueue    ? "could run and had no CPU"
      : delay.cause == Cause::kThrottled ? "had used up the CPU quota of its control group"
      : delay.cause == Cause::kSleep     ? "slept in " + site
                                     : fmt::format("waited itself in {} ({})", site, printable(delay.label));
  return fmt::format(
      "Threads waited {} for locks, most of it in {}, and for {} of that the thread that held the lock, {}, {}.",
      seconds(delay.all_locks_ns * 1e-9), printable(spoken_name(delay.lock_site)), seconds(delay.ns * 1e-9),
      printable(delay.holder), did);
}

double share_of_time(const HolderDelay& delay, const WaitReport& report) {
  return report.wall.length_ns > 0 ? delay.ns / report.wall.length_ns : 0;
}

std::string sentence_of(const GoLocks& locks) {
  if (locks.site.empty())
    return "Goroutines at locks, channels and timers hold no thread, so their waits are not seen here: Go's own mutex and block profiles have them.";
  return fmt::format(
      "Goroutines queue for a lock of Go's sync package in {}: {} of {} are in its slow path. How long they wait is not seen, as they hold no thread meanwhile; Go's own mutex and block profiles have it.",
      printable(spoken_name(locks.site)), locks.at_locks, counted(locks.samples, "sample"));
}

std::string in_words(const ChainRow& chain) {
  // Numbers distinguish threads of one name.
  std::map<std::string_view, std::set<std::int32_t>> of_name;
  for (const ChainHop& hop : chain.hops) of_name[hop.thread].insert(hop.tid);
  if (!chain.waker.empty()) of_name[chain.waker].insert(chain.waker_tid);
  const auto name = [&](const std::string& thread, std::int32_t tid) {
    return printable(thread) + (of_name[thread].size() > 1 ? fmt::format(" ({})", tid) : "");
  };
  std::string text;
  for (std::size_t i = 0; i < chain.hops.size(); ++i) {
    const ChainHop& hop = chain.hops[i];
    const bool last = i + 1 == chain.hops.size();
    const std::string who = !last                 ? name(chain.hops[i + 1].thread, chain.hops[i + 1].tid)
                            : chain.waker.empty() ? ""
                                                  : name(chain.waker, chain.waker_tid);
    text += fmt::format("{}{} waited {}{} ({} in {})", i == 0 ? "" : " <- ", name(hop.thread, hop.tid),
                        seconds(static_cast<double>(hop.ns) * 1e-9), who.empty() ? "" : " for " + who,
                        printable(hop.label), printable(hop.site));
  }
  return text;
}

}  // namespace fathom::present
