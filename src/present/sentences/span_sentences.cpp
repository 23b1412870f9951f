#include "present/sentences/span_sentences.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/core/prose_name.h"
#include "analysis/core/words.h"

namespace fathom::present {

using namespace analysis;  // this folder puts into words what lies there

namespace {

std::string span_time(double ns) {
  return seconds(ns * 1e-9);
}

std::string spoken_site(const std::string& site, const std::string& line) {
  if (site.empty()) return "";
  return spoken_name(printable(site)) + (line.empty() ? "" : " (" + printable(line) + ")");
}

std::string in_site(std::string words, const SpanPlace& place) {
  const std::string site = spoken_site(place.site, place.line);
  return site.empty() ? words : words + " in " + site;
}

std::string futex_words(const SpanPlace& place) {
  const std::string site = spoken_site(place.site, place.line);
  switch (place.futex) {
    case FutexKind::kLock:
      return site.empty() ? "a lock" : "the lock of " + site;
    case FutexKind::kReaderWriter:
      return site.empty() ? "a reader-writer lock" : "the reader-writer lock of " + site;
    case FutexKind::kJoin:
      return in_site("waiting for a thread to end", place);
    case FutexKind::kChannel:
      return in_site("waiting for a channel", place);
    case FutexKind::kSemaphore:
      return in_site("waiting for a semaphore", place);
    case FutexKind::kBarrier:
      return in_site("waiting at a barrier", place);
    case FutexKind::kCondition:
    case FutexKind::kPark:
      break;
  }
  return in_site("waiting for another thread", place);
}

}  // namespace

std::string span_place_words(const SpanPlace& place) {
  switch (place.work) {
    case SpanWork::kRunning:
      return in_site("running", place);
    case SpanWork::kAllocating:
      return in_site("allocating memory", place);
    case SpanWork::kFaulting:
      return in_site("page faults", place);
    case SpanWork::kQueued:
      return place.cause == Cause::kThrottled ? "the CPU quota" : "the run queue";
    case SpanWork::kBetween:
      return "between two parts of the span";
    case SpanWork::kWaiting:
      break;
  }
  if (place.cause == Cause::kFutex) return futex_words(place);
  if (place.cause == Cause::kSleep) return in_site("asleep", place);
  return in_site(printable(place.label), place);
}

std::string span_holder_words(const SpanPlace& place, const std::string& thread, const std::string& site,
                              const std::string& line) {
  if (thread.empty()) return "";
  const bool has_holder = place.cause == Cause::kFileLock ||
                          (place.cause == Cause::kFutex &&
                           (place.futex == FutexKind::kLock || place.futex == FutexKind::kReaderWriter));
  const std::string where = spoken_site(site, line);
  return fmt::format("{} thread {}{}", has_holder ? "held by" : "ended by", printable(thread),
                     where.empty() ? "" : " in " + where);
}

// To follow a time: "waiting for a channel", "in the run queue", "in fsync of /data/x".
static std::string spent_words(const SpanPlace& place) {
  std::string words = span_place_words(place);
  for (const std::string_view verb : {"running", "allocating", "asleep", "waiting", "between"})
    if (words.starts_with(verb)) return words;
  return "in " + words;
}

std::string slow_sentence(const SpanKindReport& kind) {
  if (!kind.slow) return "";
  const SlowSpans& slow = *kind.slow;
  const double more = slow.slow_mean_ns - slow.fast_mean_ns;
  const std::string name = printable(kind.name);
  if (!slow.is_claimed())
    return fmt::format(
        "The slowest {} of {} take {} on average, the faster half {}: no cause sets them apart beyond noise.",
        slow.count, name, span_time(slow.slow_mean_ns), span_time(slow.fast_mean_ns));
  std::string text = fmt::format(
      "The slowest {:.0f} % of {} ({} of {}, {} or more) take {} more than the faster half ({}): ",
      100.0 * static_cast<double>(slow.count) / static_cast<double>(kind.seen), name, slow.count,
      with_commas(static_cast<std::int64_t>(kind.seen)), span_time(static_cast<double>(slow.least_ns)),
      span_time(more), span_time(slow.fast_mean_ns));
  std::size_t said = 0;
  bool explained = false;  // what is behind one wait is enough for a sentence
  for (const SlowCause& cause : slow.causes) {
    if (!cause.is_certain || said == 3) break;
    const std::string by =
        span_holder_words(cause.place, cause.holder_thread, cause.holder_site, cause.holder_line);
    text += fmt::format("{}{} ± {} more {}{}", said == 0 ? "" : "; ", span_time(cause.more_ns()),
                        span_time(cause.error_ns), spent_words(cause.place), by.empty() ? "" : ", " + by);
    ++said;
    if (explained || cause.behind.empty()) continue;
    explained = true;
    std::string behind;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, cause.behind.size()); ++i) {
      const SlowDetail& detail = cause.behind[i];
      if (detail.mean_ns < 0.1 * cause.more_ns()) break;
      behind += fmt::format("{}thread {} spent {} {}", behind.empty() ? "" : ", ", printable(detail.thread),
                            span_time(detail.mean_ns), spent_words(detail.place));
    }
    if (!behind.empty()) text += " (behind it: " + behind + ")";
  }
  return text + ".";
}

std::vector<std::string> span_notes(const SpanReport& report) {
  std::vector<std::string> notes;
  for (const SpanKindReport& kind : report.kinds) {
    const std::string name = printable(kind.name);
    if (kind.seen < kind.count)
      notes.push_back(fmt::format(
          "{}: {} of {} spans ran on no single recorded thread, so fathom knows only their lengths.", name,
          with_commas(static_cast<std::int64_t>(kind.count - kind.seen)),
          with_commas(static_cast<std::int64_t>(kind.count))));
    if (kind.cut != 0)
      notes.push_back(fmt::format("{}: {} began before the recording or ended after it, and {} left out.",
                                  name, counted(kind.cut, "span"), kind.cut == 1 ? "is" : "are"));
    if (kind.seen != 0 && kind.seen < kLeastSpans && kind.source != model::SpanSource::kMark)
      notes.push_back(fmt::format("{}: {} {} too few to compare slow with fast ones; that takes {}.", name,
                                  counted(kind.seen, "span"), kind.seen == 1 ? "is" : "are", kLeastSpans));
  }
  if (!report.has_waits && !report.kinds.empty())
    notes.push_back("Waiting was not recorded, so all time of a span counts as running.");
  if (report.unwalked_share >= 0.01)
    notes.push_back(fmt::format(
        "{} of the time of these threads was waits that fathom could not record one by one; it counts as running.",
        percent(report.unwalked_share)));
  return notes;
}

}  // namespace fathom::present
