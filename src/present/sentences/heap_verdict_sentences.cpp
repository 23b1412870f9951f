#include "present/sentences/heap_verdict_sentences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "analysis/core/ending.h"
#include "analysis/core/functions.h"
#include "analysis/core/prose_name.h"
#include "analysis/core/rounding.h"
#include "analysis/core/words.h"
#include "model/nameless_function.h"
#include "present/sentences/heap_verdict_words.h"

namespace fathom::present {

using namespace analysis;  // this folder puts into words what lies there

namespace {

// "parse"; of a stripped file "code below rb_ary_push (an unnamed function of libruby-3.1, 0xd8460)".
std::string subject_of(const std::string& name, const std::string& caller) {
  const auto nameless = model::nameless_function(name);
  if (caller.empty() || (!nameless && !is_unnamed(name))) return spoken_name(name);
  return fmt::format("code below {}{}", spoken_name(caller),
                     nameless ? fmt::format(" (an unnamed function of {}, 0x{})",
                                            short_module(nameless->module), nameless->address)
                              : "");
}

// "parse in server". What has no name has its file in its place.
std::string subject_in_module(const std::string& name, const std::string& module, const std::string& caller) {
  const bool said = module.empty() || model::nameless_function(name);
  return subject_of(name, caller) + (said ? "" : " in " + printable(module));
}

std::string place_of(const HeapVerdict& verdict) {
  const HeapPlace& place = verdict.facts.place;
  std::string text = place.one_stack ? "one stack of " : "";
  text += subject_in_module(place.name, place.module, place.caller);
  if (!place.caller.empty()) return text;
  for (std::size_t i = 0; i < place.callers.size(); ++i)
    text += (i == 0 ? " (called by " : " < ") + spoken_name(place.callers[i]);
  return text + (place.callers.empty() ? "" : ")");
}

// What a verdict of the whole heap is about: no more than what was traced of it.
std::string the_heap(const HeapVerdict& verdict) {
  if (verdict.facts.chosen_part) return "what is selected of the heap";
  return verdict.facts.traced_part ? "what is traced of the heap" : "the heap";
}
std::string heap_first(const HeapVerdict& verdict) {
  if (verdict.facts.chosen_part) return "What is selected of the heap";
  return verdict.facts.traced_part ? "What is traced of the heap" : "The heap";
}

// A part of `amount`, with the digits that sampling leaves: "78 %" of a hundred sampled blocks.
std::string part_text(double share, double amount, const HeapFacts& facts) {
  const double samples = samples_behind(amount, facts.per_unit.bytes);
  const double error = std::sqrt(std::max(share * (1 - share), 1 / samples) / samples);
  return percent_with_error(share, error) + " %";
}

std::string slope_text(const TrendLine& slope) {
  // The ends of an interval have one digit more than what lies within it.
  const double error = std::fabs(slope.high - slope.low) / 2;
  return fmt::format("{}/s (95 %: {}/s to {}/s)", bytes_with_error(slope.per_s, error),
                     bytes_with_error(slope.low, error / 10), bytes_with_error(slope.high, error / 10));
}

// "83.0 % by parse in server, 12.1 % by load in server": up to three.
std::string largest_shares(const HeapVerdict& verdict) {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, verdict.shares.size()); ++i) {
    const HeapShare& share = verdict.shares[i];
    text += fmt::format("{}{} by {}", i == 0 ? "" : ", ",
                        part_text(std::min(1.0, share.share), verdict.bytes, verdict.facts),
                        subject_in_module(share.name, share.module, share.caller));
  }
  return text;
}

// "; parse accounts for 83.0 % of that, load for 12.1 %": up to two.
std::string of_that(const HeapVerdict& verdict) {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(2, verdict.shares.size()); ++i) {
    const std::string name = subject_of(verdict.shares[i].name, verdict.shares[i].caller);
    const std::string part = part_text(std::min(1.0, verdict.shares[i].share), verdict.bytes, verdict.facts);
    text += i == 0 ? fmt::format("; {} accounts for {} of that", name, part)
                   : fmt::format(", {} for {}", name, part);
  }
  return text;
}

std::string growth_share_of(const HeapVerdict& verdict) {
  const auto& share = verdict.facts.growth_share;
  if (!share) return "";
  return fmt::format(", {} of the {} growth", part_text(*share, verdict.bytes, verdict.facts),
                     verdict.facts.chosen_part ? "selection's" : "heap's");
}

std::string sentence_of_leak(const HeapVerdict& verdict) {
  const auto& work = verdict.facts.work_ratio;
  return fmt::format("Leak candidate: the memory of {} grows by {}{}, {}.", place_of(verdict),
                     slope_text(verdict.trend->slope), growth_share_of(verdict),
                     !work          ? "with an unknown amount of work"
                     : *work >= 1.1 ? "faster than the work"
                                    : "while the work does not");
}

std::string sentence_of_ends(const HeapVerdict& verdict) {
  const HeapFacts& facts = verdict.facts;
  const double change = *facts.change_bytes;
  const std::string amount =
      bytes(std::fabs(change)) + (facts.change_error > 0 ? " \u00b1" + bytes(facts.change_error) : "");
  const std::string moved =
      change == 0 ? "is as large as at the start" : (change > 0 ? "grew by " : "shrank by ") + amount;
  return fmt::format(
      "{} {} in {}, to {}. Its course is unknown: these rows have what was live at the start and at the end only.",
      heap_first(verdict), moved, seconds(facts.seconds), bytes(facts.level_bytes));
}

std::string sentence_of_turnover(const HeapVerdict& verdict) {
  const std::string slope = slope_text(verdict.trend->slope);
  if (verdict.of_whole)
    return fmt::format(
        "The recorded part of {} grows by {}, but the process does not: new blocks may only replace those from before the recording{}. It is unknown whether it also leaks.",
        verdict.facts.chosen_part ? "the selection" : "the heap", slope, of_that(verdict));
  return fmt::format(
      "The recorded part of {} grows by {}, but its process does not: new blocks may only replace those from before the recording. It is unknown whether it also leaks.",
      place_of(verdict), slope);
}

std::string sentence_of_steps(const HeapVerdict& verdict) {
  const std::string steps = counted(verdict.trend->steps, "step"), last = seconds(verdict.trend->last_step_s);
  if (verdict.of_whole)
    return fmt::format("{} rose by {} in {}, the last at {}: too few to call it growing.",
                       heap_first(verdict), bytes(verdict.bytes), steps, last);
  return fmt::format(
      "The memory of {} rose by {} in {}, the last after {}: a single container that grows looks like this, and so does a leak of a few large blocks.",
      place_of(verdict), bytes(verdict.bytes), steps, last);
}

std::string sentence_of_may_level(const HeapVerdict& verdict) {
  const HeapFacts& facts = verdict.facts;
  const std::string who = verdict.of_whole ? heap_first(verdict) : "The memory of " + place_of(verdict);
  const std::string of = verdict.of_whole ? of_that(verdict) : growth_share_of(verdict);
  if (facts.slowing)
    return fmt::format(
        "{} grows more and more slowly: by {} in the first half of the time, by {} in the second{}. Memory that fills up to a limit looks like this.",
        who, rate(facts.early_per_s), rate(facts.late_per_s), of);
  return fmt::format("{} grows by {}{}. It is too early to say whether it continues or fills up to a limit.",
                     who, slope_text(verdict.trend->slope), of);
}

constexpr double kMostUnseen = 0.5;  // of the level

std::string sentence_of_level(const HeapVerdict& verdict) {
  // Where nothing was seen it is not nothing: it is what would not be seen.
  const double unsampled = verdict.facts.unseen_bytes_per_s * verdict.facts.unseen_in_s;
  const std::string level = verdict.facts.level_bytes >= 1 || unsampled < 1024
                                ? bytes_text(verdict.facts.level_bytes, verdict.facts)
                                : fmt::format("no more than {}", bytes(unsampled));
  const std::string unseen =
      verdict.facts.unseen_bytes_per_s > 0
          ? fmt::format("; growth below {} would not be visible in {}",
                        rate(verdict.facts.unseen_bytes_per_s), seconds(verdict.facts.unseen_in_s))
          : "";
  // Few samples cannot exclude what would double it.
  if (unsampled >= kMostUnseen * verdict.facts.level_bytes && unsampled >= 1024)
    return fmt::format("{} shows no growth, {}: it is at {}{}.", heap_first(verdict),
                       verdict.facts.per_unit.bytes > 0 ? "which so few samples cannot exclude"
                                                        : "but it swings too much to exclude it",
                       level, unseen);
  if (!verdict.facts.since_s)
    return fmt::format("{} does not grow: it is level at {}{}.", heap_first(verdict), level, unseen);
  return fmt::format(
      "{} does not grow: it has been level at {} since the end of its warm-up, {} after the start{}.",
      heap_first(verdict), level, seconds(*verdict.facts.since_s), unseen);
}

// "10.0 times the usual 976.6 KiB".
std::string usual_of(const HeapFacts& facts) {
  if (facts.level_bytes < 1) return "where zero is usual";
  const double times = facts.height_bytes / facts.level_bytes;
  return times < 1000 ? fmt::format("{:.1f} times the usual {}", times, bytes(facts.level_bytes))
                      : fmt::format("where {} are usual", bytes(facts.level_bytes));
}

std::string sentence_of_peak(const HeapVerdict& verdict) {
  const HeapFacts& facts = verdict.facts;
  const std::string by = largest_shares(verdict);
  return fmt::format("Peak of {} at {}{}, {}{}.", bytes(facts.height_bytes), seconds(facts.at_s),
                     facts.late    ? ", shortly before the end"
                     : facts.early ? ", at the start"
                                   : "",
                     usual_of(facts), by.empty() ? "" : "; above the usual level: " + by);
}

std::string sentence_of_churn(const HeapVerdict& verdict) {
  const HeapFacts& facts = verdict.facts;
  // No rate is known to more than three digits, sampled or not.
  const std::string calls = count_with_error(facts.calls_per_s, 0.02 * facts.calls_per_s);
  if (!verdict.of_whole)
    return fmt::format(
        "Churn: {} allocates {} times and {} a second, {} of all calls; {} of its blocks are freed {}.",
        place_of(verdict), calls, bytes(facts.bytes_per_s),
        part_text(facts.calls_share, verdict.bytes, facts),
        part_text(facts.passing_share, verdict.bytes, facts),
        facts.by_order ? "before its thread allocates again" : "within 1 ms");
  std::string by;
  for (const auto& [name, share] : facts.cpu_for)
    by += fmt::format("{}{:.0f} % of it for {}", by.empty() ? "; " : ", ", 100 * share, spoken_name(name));
  return fmt::format("The allocators take {} ±{} of CPU time for {} calls a second{}.",
                     percent(facts.cpu_share), percent_number(facts.cpu_error), calls, by);
}

std::string since_of(const HeapVerdict& verdict) {
  return verdict.facts.since_s ? fmt::format("since {}", seconds(*verdict.facts.since_s)) : "all the time";
}

std::string sentence_of_cache(const HeapVerdict& verdict) {
  const HeapFacts& facts = verdict.facts;
  return fmt::format(
      "{}: {} holds {} ({} of what is live), {} {}, while its blocks are replaced: {:.1f} times in {}, after {} on average.",
      facts.level ? "Bounded cache" : "Cache", place_of(verdict), bytes_text(verdict.bytes, facts),
      percent(facts.live_share), facts.level ? "level" : "up and down", since_of(verdict), facts.replaced,
      seconds(facts.level_s), seconds(facts.mean_life_s));
}

std::string sentence_of_bloat(const HeapVerdict& verdict) {
  const HeapFacts& facts = verdict.facts;
  return fmt::format(
      "Large and rarely changing: {} holds {} ({} of what is live) in {} of {} on average, level {}; growth below {} would not be visible.",
      place_of(verdict), bytes_text(verdict.bytes, facts), percent(facts.live_share),
      blocks_text(facts.blocks, facts), bytes(facts.mean_bytes), since_of(verdict),
      rate(facts.unseen_bytes_per_s));
}

std::string sentence_of_held(const HeapVerdict& verdict) {
  const HeapFacts& facts = verdict.facts;
  return fmt::format(
      "Kept but unused: {} has had {} resident for {} of live blocks since {}, and these do not grow: {} is free memory that it does not give back, or gaps between live blocks (fragmentation).",
      printable(facts.allocator), bytes(facts.held_bytes), bytes(facts.live_bytes),
      seconds(facts.since_s.value_or(0)), bytes(verdict.bytes));
}

// "3 blocks of read_line in server (called by main) were freed"
std::string freed_blocks(const HeapVerdict& verdict) {
  return fmt::format("{} of {} {} freed", blocks_text(verdict.facts.blocks, verdict.facts), place_of(verdict),
                     verdict.facts.blocks == 1 ? "was" : "were");
}

std::string sentence_of_foreign_free(const HeapVerdict& verdict) {
  std::string from;
  for (const std::string& label : verdict.facts.given_by)
    from += (from.empty() ? "" : ", ") + printable(label);
  return fmt::format("Error: {} through another allocator than the one that gave {} ({}).",
                     freed_blocks(verdict), verdict.facts.blocks == 1 ? "it" : "them", from);
}

std::string sentence_of_process(const HeapVerdict& verdict) {
  const TrendLine& slope = verdict.trend->slope;
  const std::string grows =
      verdict.kind == HeapVerdictKind::kGrowing
          ? fmt::format("grows by {}, {} an hour", slope_text(slope), bytes(slope.per_s * 3600))
          : fmt::format("grew by {}, and it is unknown whether that continues", slope_text(slope));
  return fmt::format(
      "The process {} (the kernel's count of its anonymous memory). The heap samples are too few to show where.",
      grows);
}

std::string sentence_of_slack(const HeapVerdict& verdict) {
  const double usable = verdict.facts.usable_bytes;
  std::string by;
  for (std::size_t i = 0; i < std::min<std::size_t>(2, verdict.shares.size()); ++i)
    by += fmt::format("{}{} of that for {}", i == 0 ? "; " : ", ", percent(verdict.shares[i].share),
                      subject_of(verdict.shares[i].name, verdict.shares[i].caller));
  return fmt::format(
      "Of the {} that the allocators reserve for blocks live at the end, {} ({}) were not requested{}.",
      bytes(usable), bytes(verdict.bytes), percent(verdict.bytes / usable), by);
}

}  // namespace

std::string sentence_of(const HeapVerdict& verdict) {
  const HeapFacts& facts = verdict.facts;
  switch (verdict.kind) {
    case HeapVerdictKind::kForeignFree:
      return sentence_of_foreign_free(verdict);
    case HeapVerdictKind::kWrongSize:
      return fmt::format("Error: {} with a size that is not {}.", freed_blocks(verdict),
                         facts.blocks == 1 ? "its own" : "theirs");
    case HeapVerdictKind::kFreedTwice:
      return fmt::format("Error: {} twice.", freed_blocks(verdict));
    case HeapVerdictKind::kGrowing:
      if (facts.of_process) return sentence_of_process(verdict);
      return fmt::format(
          "{} grows by {}, {} an hour{}{}.", heap_first(verdict), slope_text(verdict.trend->slope),
          bytes(verdict.trend->slope.per_s * 3600),
          verdict.trend->shape == TrendShape::kGrowing ? ", and does not level off" : ", if this continues",
          of_that(verdict));
    case HeapVerdictKind::kLeak:
      return sentence_of_leak(verdict);
    case HeapVerdictKind::kGrowsWithWork:
      return fmt::format(
          "The memory of {} grows by {}{}, and so does the work: the program allocates {:.1f} times as often in the second half of the time.",
          place_of(verdict), slope_text(verdict.trend->slope), growth_share_of(verdict),
          facts.work_ratio.value_or(1));
    case HeapVerdictKind::kSteps:
      return sentence_of_steps(verdict);
    case HeapVerdictKind::kMayLevel:
      if (facts.of_process) return sentence_of_process(verdict);
      return sentence_of_may_level(verdict);
    case HeapVerdictKind::kTurnover:
      return sentence_of_turnover(verdict);
    case HeapVerdictKind::kLevel:
      return sentence_of_level(verdict);
    case HeapVerdictKind::kFalling: {
      const TrendLine& slope = verdict.trend->slope;
      return fmt::format("{} shrinks by {}.", heap_first(verdict),
                         slope_text({-slope.per_s, -slope.high, -slope.low, slope.r2}));
    }
    case HeapVerdictKind::kNoise: {
      const Trend& trend = *verdict.trend;
      return fmt::format(
          "It is unknown whether {} grows: live bytes swing by ±{} around {}, which would hide growth of up to {}.",
          the_heap(verdict), bytes(2 * trend.swing), bytes(facts.level_bytes),
          rate(facts.unseen_bytes_per_s));
    }
    case HeapVerdictKind::kTooShort:
      if (facts.change_bytes) return sentence_of_ends(verdict);
      return fmt::format("{} in {} are too short to say whether {} grows.", seconds(facts.seconds),
                         counted(facts.slices, "slice of time", "slices of time"), the_heap(verdict));
    case HeapVerdictKind::kHeld:
      return sentence_of_held(verdict);
    case HeapVerdictKind::kPeak:
      return sentence_of_peak(verdict);
    case HeapVerdictKind::kChurn:
      return sentence_of_churn(verdict);
    case HeapVerdictKind::kUnfreed:
    case HeapVerdictKind::kFreedAtExit: {
      std::string by = largest_shares(verdict);
      if (!by.empty()) by = "; " + by;
      if (verdict.kind == HeapVerdictKind::kUnfreed && facts.ended_by_signal != 0)
        return fmt::format("Live when {} ended the program: {} in {}{}.", signal_name(facts.ended_by_signal),
                           bytes_text(verdict.bytes, facts), blocks_text(facts.blocks, facts), by);
      if (verdict.kind == HeapVerdictKind::kUnfreed && facts.end_not_known)
        return fmt::format("Live when the program ended (how it ended is unknown): {} in {}{}.",
                           bytes_text(verdict.bytes, facts), blocks_text(facts.blocks, facts), by);
      if (verdict.kind == HeapVerdictKind::kUnfreed)
        return fmt::format("Not freed when the program ended: {} in {}{}.", bytes_text(verdict.bytes, facts),
                           blocks_text(facts.blocks, facts), by);
      return fmt::format(
          "Freed only when the program ended: {} in {} were live until the last {} of the run{}.",
          bytes_text(verdict.bytes, facts), blocks_text(facts.blocks, facts), seconds(facts.seconds), by);
    }
    case HeapVerdictKind::kCache:
      return sentence_of_cache(verdict);
    case HeapVerdictKind::kBloat:
      return sentence_of_bloat(verdict);
    case HeapVerdictKind::kSlack:
      return sentence_of_slack(verdict);
  }
  return "";
}

}  // namespace fathom::present
