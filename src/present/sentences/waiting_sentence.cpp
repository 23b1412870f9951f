#include "present/sentences/waiting_sentence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <vector>

#include "analysis/core/prose_name.h"
#include "analysis/core/words.h"
#include "analysis/summary/problem_class.h"
#include "base/stable_sort.h"
#include "present/sentences/hot_spot_sentences.h"

namespace fathom::present {

using namespace analysis;  // this folder puts into words what lies there

namespace {

struct Times {
  double ran = 0, waited = 0, queued = 0, idle = 0;  // ns, of all threads
  double wall() const { return ran + waited + queued; }
  double busy() const { return ran + std::max(0.0, waited - idle) + queued; }
};
Times times_of(const WaitReport& waits) {
  Times times;
  for (const WaitThreadRow& row : waits.threads) {
    times.ran += row.ran_ns;
    times.waited += row.waited_ns;
    times.queued += row.queued_ns;
    times.idle += row.idle_ns;
  }
  return times;
}

// What was waited for by threads of any name.
struct Reason {
  Cause cause = Cause::kUnknown;
  std::string what;
  bool released = false;
  std::string rule;
  auto operator<=>(const Reason&) const = default;
};
struct ReasonSum {
  double ns = 0, variance = 0;
  std::map<std::string, double> sites;  // ns, by place
};

// To follow a time: "for fsync of journal.dat".
std::string words_of(const Reason& reason) {
  const auto with = [&](std::string_view words, std::string_view joint, const std::string& name) {
    return std::string(words) + (name.empty() ? "" : std::string(joint) + name);
  };
  const std::string object = printable(reason.what),
                    site = reason.what.empty() ? "" : spoken_name(reason.what);
  if (!reason.rule.empty() && !reason.released) {
    const bool is_place = reason.cause == Cause::kFutex || reason.cause == Cause::kPoll ||
                          reason.cause == Cause::kSleep || reason.cause == Cause::kChild;
    return with("for " + printable(reason.rule), is_place ? " in " : " of ", is_place ? site : object);
  }
  if (reason.released)
    return fmt::format("for {} from {}", reason.cause == Cause::kPoll ? "events" : "a wake-up", site);
  switch (reason.cause) {
    case Cause::kFutex:
      return with("for a lock or another thread", " in ", site);
    case Cause::kPoll:
      return with("for events", " in ", site);
    case Cause::kSleep:
      return with("asleep", " in ", site);
    case Cause::kPageFault:
      return with("for page faults", " of ", object);
    case Cause::kFileRead:
      return with("reading files", ": ", object);
    case Cause::kFileWrite:
      return with("writing files", ": ", object);
    case Cause::kFileSync:
      return with("for fsync", " of ", object);
    case Cause::kSocket:
      return with("for sockets", ": ", object);
    case Cause::kPipe:
      return with("for pipes", ": ", object);
    case Cause::kStopped:
    case Cause::kTraced:
      return with(describe(reason.cause), " in ", object);
    case Cause::kChild:
      return with("for a child to end", " in ", site);
    case Cause::kSignal:
      return with("for a signal", " in ", site);
    case Cause::kIpc:
    case Cause::kIoUring:
    case Cause::kAsyncIo:
    case Cause::kMemoryMap:
      return with(std::string("for ") + std::string(describe(reason.cause)), " in ", site);
    case Cause::kUnknown:
      return with("for an unknown cause", " in ", site);
    default:
      return with(std::string("for ") + std::string(describe(reason.cause)), " in ", object);
  }
}

// "1.2 s ±0.5" as "1.21 s ±498 ms" where the error is worth a word.
std::string time_of(const ReasonSum& sum) {
  const double error_ns = 1.96 * std::sqrt(sum.variance);
  return seconds(sum.ns * 1e-9) + (error_ns >= 0.05 * sum.ns ? " ±" + seconds(error_ns * 1e-9) : "");
}

// " in Journal::append": who asked for what a file was waited for, if it is one place.
std::string place_of(const ReasonSum& sum) {
  const auto most = std::max_element(sum.sites.begin(), sum.sites.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == sum.sites.end() || most->second < 0.8 * sum.ns) return "";
  return " in " + spoken_name(most->first);
}

constexpr double kMuch = 0.2;         // of what was waited
constexpr double kLeastShare = 0.05;  // of what was waited: less is not printed

// A program that reads a thousand files waits for none of them long, and for reading files all the time.
std::map<Reason, ReasonSum> with_small_ones_joined(const std::map<Reason, ReasonSum>& all, double least_ns) {
  std::map<Reason, ReasonSum> joined;
  for (const auto& [reason, sum] : all) {
    Reason kind;
    kind.cause = reason.cause;
    kind.rule = reason.rule;
    ReasonSum& into = joined[sum.ns >= least_ns ? reason : kind];
    into.ns += sum.ns;
    into.variance += sum.variance;
    for (const auto& [site, ns] : sum.sites) into.sites[site] += ns;
  }
  return joined;
}

// For the end of a thread or of a child, of which the recording shows what it did until then.
bool is_passed_on(const Reason& reason) {
  return reason.cause == Cause::kChild || reason.rule == "the end of a thread";
}

constexpr std::size_t kMostIdle = 2;

// One wait each, from the beginning to the end.
bool never_woke(const IdleRow& row) {
  return row.threads > 1 && row.sum.walked() <= row.threads;
}

std::string idle_words(const WaitReport& waits) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kMostIdle, waits.idle.size()); ++i) {
    const IdleRow& row = waits.idle[i];
    text += fmt::format("{}{}, {}{}", i == 0 ? "" : "; ", printable(row.name), counted(row.threads, "thread"),
                        never_woke(row) ? " that nothing woke" : "");
  }
  return text;
}

// A pool without work looks the same as threads whose notifier has died: only the reader knows which it is.
std::string doubt_of_idleness(const WaitReport& waits) {
  for (std::size_t i = 0; i < std::min(kMostIdle, waits.idle.size()); ++i)
    if (waits.idle[i].name == "pool at one condition variable" && never_woke(waits.idle[i]))
      return " Such a pool has no work, or the thread that should notify it is gone.";
  return "";
}

}  // namespace

std::string sentence_of_waiting(const Report& report) {
  if (report.stacks_waited_ns > 0 && report.tree.metric != model::Metric::kOffCpu)
    return fmt::format("Threads waited for {} in all; what for is not known here.",
                       seconds(static_cast<double>(report.stacks_waited_ns) * 1e-9));
  if (!report.waits) return "";
  const Times times = times_of(*report.waits);
  if (times.wall() <= 0) return "";
  // A file that is still written does not have them yet. They may be those of idle threads, so they are not time with work.
  const double open = std::min(report.waits->open_ns, std::max(0.0, times.waited - times.idle));
  const double waited = std::max(0.0, times.waited - times.idle) + times.queued - open;
  const double busy = times.busy() - open;
  const std::string unended =
      open < 0.01 * times.wall()
          ? ""
          : fmt::format(" Waits that have not ended take another {}: what for is not known yet.",
                        seconds(open * 1e-9));
  std::string idle;
  // The idle workers of a pool are not news if others work.
  if (classify(report).kind == ProblemKind::kIdle && times.idle > 0 && !report.waits->idle.empty()) {
    idle = fmt::format("Its threads were idle for {} of the time (idle: {}).{}",
                       rounded_percent(std::min(0.9999, times.idle / times.wall())),
                       idle_words(*report.waits), doubt_of_idleness(*report.waits));
    if (waited < 0.01 * times.wall()) return idle + unended;
    idle += " ";
  }
  if (waited < 0.01 * busy) return idle + "Its threads hardly waited." + unended;
  std::string text = fmt::format(
      "{}Waited {} ({} of {})", idle, seconds(waited * 1e-9), rounded_percent(waited / busy),
      times.idle + open < 0.01 * times.wall() ? "its threads' time" : "the time that threads had work");
  std::map<Reason, ReasonSum> by_reason;
  for (const BlockedRow& row : report.waits->blocked) {
    if (row.cause == Cause::kRunQueue) continue;
    // A writer that a database slows down sleeps first and waits for a notification then: for the same.
    const Cause cause = row.cause == Cause::kSleep && !row.reason.empty() ? Cause::kFutex : row.cause;
    ReasonSum& sum = by_reason[{cause, row.what, row.released, row.reason}];
    sum.ns += static_cast<double>(row.sum.total_ns());
    sum.variance += row.sum.variance();
    if (!row.site.empty()) sum.sites[row.site] += static_cast<double>(row.sum.total_ns());
  }
  // Both of them are time without a CPU, which is known in all.
  const double throttled = report.waits->throttled_ns, run_queue = std::max(0.0, times.queued - throttled);
  double told = run_queue, variance = 0;
  struct Part {
    double ns = 0;
    std::string words;
    bool passed_on = false;
  };
  std::vector<Part> parts;
  if (run_queue > 0) parts.push_back({run_queue, seconds(run_queue * 1e-9) + " for a CPU (run queue)"});
  for (const auto& [reason, sum] : with_small_ones_joined(by_reason, kLeastShare * waited)) {
    parts.push_back({sum.ns, time_of(sum) + " " + words_of(reason) + place_of(sum), is_passed_on(reason)});
    told += sum.ns;
    variance += sum.variance;
  }
  // Times are exact, and the objects of walked waits are known: a long one may be among the others.
  const double rest = waited - told;
  if (!report.selection.stacks && rest >= kMuch * waited && rest > 2 * 1.96 * std::sqrt(variance))
    parts.push_back({rest, seconds(rest * 1e-9) + " for an unknown cause"});
  std::erase_if(parts, [&](const Part& part) { return part.ns < kLeastShare * waited; });
  stable_sort_rows(parts, [](const Part& a, const Part& b) {
    return std::tuple(!a.passed_on, a.ns) > std::tuple(!b.passed_on, b.ns);
  });
  constexpr std::size_t kMost = 3;
  for (std::size_t i = 0; i < std::min(kMost, parts.size()); ++i)
    text += (i == 0 ? ": " : ", ") + parts[i].words;
  return text + "." + unended;
}

}  // namespace fathom::present
