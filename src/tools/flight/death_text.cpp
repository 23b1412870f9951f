#include "tools/flight/death_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "analysis/core/ending.h"
#include "analysis/core/words.h"
#include "model/nameless_function.h"
#include "present/sentences/last_place_words.h"
#include "present/text/text_table.h"

namespace fathom::flight {
namespace {

using analysis::bytes;
using analysis::printable;
using analysis::seconds;

constexpr double kLeastShare = 0.01;  // of what is named

std::string amount_of(const Holder& holder, bool sampled) {
  std::string text = bytes(holder.bytes.value);
  if (sampled && holder.bytes.error() > 0) text += " ±" + bytes(holder.bytes.error());
  const auto blocks = static_cast<std::uint64_t>(holder.blocks.value + 0.5);
  return fmt::format("{} in {}{}", text, sampled ? "some " : "", analysis::counted(blocks, "block"));
}

// Of a function with its parameters only the name.
std::string short_name(const std::string& name) {
  constexpr std::size_t kLongest = 60;
  std::string text = printable(name);
  if (const std::size_t parameters = text.find('('); parameters != std::string::npos && parameters > 0)
    text.resize(parameters);
  return text.size() > kLongest ? text.substr(0, kLongest - 3) + "..." : text;
}

std::string of_kernel(const oom::Record& record, std::int32_t pid) {
  for (const oom::Kill& kill : record.kills) {
    if (kill.pid != pid || !kill.measured) continue;
    std::string text = fmt::format("anonymous {}, files {}", bytes(static_cast<double>(kill.anon_bytes)),
                                   bytes(static_cast<double>(kill.file_bytes)));
    if (kill.shmem_bytes != 0)
      text += fmt::format(", shared {}", bytes(static_cast<double>(kill.shmem_bytes)));
    if (kill.page_table_bytes)
      text += fmt::format(", page tables {}", bytes(static_cast<double>(*kill.page_table_bytes)));
    return text + " (the kernel's record)";
  }
  return "";
}

std::string holders_text(const Death& death) {
  if (!death.live) return "";
  std::string text;
  constexpr std::size_t kNamed = 3;
  for (std::size_t i = 0; i < std::min(kNamed, death.holders.size()); ++i)
    if (i == 0 || death.holders[i].bytes.value >= kLeastShare * death.live->bytes.value)
      text += fmt::format("{}{} {}", text.empty() ? "" : "; ", short_name(death.holders[i].name),
                          amount_of(death.holders[i], death.sampled));
  if (death.holders.empty()) return "no block that was recorded was live";
  text += fmt::format("; {} live in all{}, ", bytes(death.live->bytes.value),
                      death.sampled ? fmt::format(" ±{}", bytes(death.live->bytes.error())) : "");
  if (death.sampled) return text + "by sampling (± is the 95 % interval)";
  return text + (death.lost_events == 0
                     ? "every call up to the kill"
                     : fmt::format("but {} were lost", analysis::counted(death.lost_events, "event")));
}

std::string lines_text(const Death& death) {
  if (!death.lines)
    return death.last_rss ? fmt::format("{} resident, {} before it was gone", bytes(*death.last_rss),
                                        seconds(death.last_rss_before_s))
                          : "";
  std::string text = fmt::format("{} before it was gone, {} resident", seconds(death.lines_before_s),
                                 bytes(static_cast<double>(death.lines->rss_bytes)));
  constexpr std::size_t kNamed = 4;
  for (std::size_t i = 0; i < std::min(kNamed, death.lines->lines.size()); ++i)
    if (static_cast<double>(death.lines->lines[i].bytes) >=
        kLeastShare * static_cast<double>(death.lines->rss_bytes))
      text += fmt::format("{}{} {}", i == 0 ? ": " : ", ", printable(death.lines->lines[i].name),
                          bytes(static_cast<double>(death.lines->lines[i].bytes)));
  return text;
}

std::string slope_text(const Death& death) {
  const double grew = death.facts.anonymous.grew;
  if (!(death.window_s > 0)) return "";
  if (death.slope && death.slope->grows())
    return fmt::format("anonymous memory grew by {}/s (95 %: {}/s to {}/s) over the last {}",
                       bytes(death.slope->per_second), bytes(death.slope->low), bytes(death.slope->high),
                       seconds(death.window_s));
  if (grew > 0)
    return fmt::format("anonymous memory grew by {} in the last {}, too fast or too unevenly for a rate",
                       bytes(grew), seconds(death.window_s));
  return fmt::format("anonymous memory did not grow in the last {}", seconds(death.window_s));
}

std::string kind_text(const Death& death) {
  const GrowthVerdict& growth = death.growth;
  const GrowthFacts& facts = death.facts;
  const std::string grew = bytes(growth.grew);
  std::string top = death.holders.empty() ? "" : short_name(death.holders.front().name);
  std::string text;
  switch (growth.kind) {
    case GrowthKind::kNone:
      text = "nothing grew before the end: what it needs at once meets the limit";
      break;
    case GrowthKind::kLeak:
      text = fmt::format("like a leak: live blocks explain {} of the growth of {}",
                         analysis::percent(std::min(1.0, growth.explained)), grew);
      if (facts.freed_share)
        text += fmt::format(", {} of those of {} were freed",
                            *facts.freed_share <= 0 ? "none" : analysis::percent(*facts.freed_share), top);
      break;
    case GrowthKind::kGrowing:
      text = fmt::format(
          "live blocks grow steadily and explain {} of the growth of {}, although {} of those of {} were freed: a queue or table that fills faster than it empties, or a leak among other blocks",
          analysis::percent(std::min(1.0, growth.explained)), grew,
          analysis::percent(facts.freed_share.value_or(0)), top);
      break;
    case GrowthKind::kFilling:
      text = fmt::format("like a cache that fills: live blocks explain {} of the growth of {}",
                         analysis::percent(std::min(1.0, growth.explained)), grew);
      if (facts.freed_share)
        text += fmt::format(", {} of those of {} were freed", analysis::percent(*facts.freed_share), top);
      if (facts.late_share)
        text +=
            fmt::format(", the last third of the time added {:.1f} times a mean third", *facts.late_share);
      break;
    case GrowthKind::kRetained:
      text = fmt::format("memory that the allocator keeps: it grew by {} outside of live blocks", grew);
      break;
    case GrowthKind::kHugePages:
      text = fmt::format("huge pages around blocks that need little of them: {}", grew);
      break;
    case GrowthKind::kMapped:
      text = fmt::format("memory that the program maps itself, without an allocator: {}", grew);
      break;
    case GrowthKind::kAnonymous:
      text = fmt::format("anonymous memory, {}; owner unknown{}", grew,
                         death.live ? "" : ": record with --heap");
      break;
    case GrowthKind::kShared:
      text = fmt::format("shared memory (memfd, tmpfs): {}", grew);
      break;
    case GrowthKind::kPageTables:
      text = fmt::format("page tables, for a large and sparse use of addresses: {}", grew);
      break;
    case GrowthKind::kPageCache:
      text = fmt::format("page cache of files that were read or written: {}", grew);
      break;
    case GrowthKind::kMappedDatabase:
      text = fmt::format("pages of mapped files: {}", grew);
      if (facts.major_faults_per_s)
        text += fmt::format(", with {:.0f} faults from disk a second", *facts.major_faults_per_s);
      break;
  }
  return fmt::format("{} (confidence {})", text, to_string(growth.sureness));
}

std::string headroom_text(const Death& death) {
  const Headroom& headroom = death.headroom;
  const auto limit = static_cast<double>(death.limit_bytes.value_or(0));
  switch (headroom.kind) {
    case HeadroomKind::kNotKnown:
      return "";
    case HeadroomKind::kNoneHelps:
      return limit > 0 ? fmt::format("a larger limit only delays it: at this rate, with {} it dies {} later",
                                     bytes(2 * limit), seconds(headroom.seconds_at_twice))
                       : "a larger limit only delays it";
    case HeadroomKind::kLevelsOff:
      return fmt::format(
          "it needs more than {}; its growth slows down, and its end is unknown: fathom limit --bisect finds the smallest limit that works",
          bytes(std::max(limit, headroom.needed)));
    case HeadroomKind::kGivesWay:
      return fmt::format(
          "the kernel takes pages of files back before it kills: what has to fit are {} of anonymous, shared and page table memory",
          bytes(headroom.needed));
    case HeadroomKind::kNeedsAtOnce:
      return fmt::format(
          "it needs {} at once, and possibly more: fathom limit --bisect finds the smallest limit that works",
          bytes(headroom.needed));
  }
  return "";
}

// " in parse (request.cpp:40): a null pointer (address 0x8)"
std::string crash_place(const Death& death) {
  if (!death.fatal) return "";
  const std::string why = present::end_reason_words(*death.fatal, death.place.reason);
  return present::last_place_words(death.place, false) + (why.empty() ? "" : ": " + why);
}

// The innermost calls, without those that stand for several frames of one function.
std::string last_calls(const Death& death) {
  constexpr std::size_t kShown = 10;
  if (!death.fatal || death.fatal->frames.empty()) return "";
  std::string calls, last;
  std::size_t shown = 0;
  for (const model::FatalSignal::Frame& frame : death.fatal->frames) {
    const auto nameless = model::nameless_function(frame.function);
    const std::string name = nameless ? model::short_name(*nameless) : short_name(frame.function);
    if (frame.function == "(heap tracer)" || name == last) continue;
    if (shown++ == kShown) break;
    calls += (calls.empty() ? "" : " <- ") + name;
    last = name;
  }
  return fmt::format("{}, thread {} ({})", calls, printable(death.fatal->thread), death.fatal->tid);
}

bool is_want_of_memory(Verdict verdict) {
  return verdict == Verdict::kGroupLimit || verdict == Verdict::kMachine || verdict == Verdict::kWantOfMemory;
}

nlohmann::ordered_json or_null(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

}  // namespace

std::string verdict_sentence(const Death& death) {
  const std::string who = fmt::format("{} (pid {})", printable(death.name), death.pid);
  const std::string group =
      death.group.empty() ? "its control group" : "control group " + printable(death.group);
  const std::string limit =
      death.limit_bytes ? fmt::format(" of {}", bytes(static_cast<double>(*death.limit_bytes))) : "";
  switch (death.verdict) {
    case Verdict::kGroupLimit:
      return fmt::format("the kernel killed {} at the limit{} of {}", who, limit, group);
    case Verdict::kMachine:
      return fmt::format(
          "the kernel killed {} as the machine had no memory left{}; no control group's limit was met", who,
          limit.empty() ? "" : limit);
    case Verdict::kWantOfMemory:
      return fmt::format(
          "the kernel killed {} because memory ran out: {} counted it{}; it is unknown whose limit was reached{}",
          who, group,
          death.limit_bytes ? fmt::format(" (limit {})", bytes(static_cast<double>(*death.limit_bytes))) : "",
          death.log_unread ? ", as the kernel's log could not be read" : "");
    case Verdict::kAskedFor:
      return fmt::format("the kernel killed {} because of a SysRq request", who);
    case Verdict::kSomebodysKill:
      return fmt::format(
          "a process sent SIGKILL to {}: the kernel did not kill it for lack of memory ({})", who,
          death.log_unread ? "the counter of its control group did not move" : "its log has no record of it");
    case Verdict::kKill:
      return fmt::format(
          "SIGKILL ended {}; the sender is unknown because the kernel log could not be read{}", who,
          death.gone_group.empty()
              ? ""
              : fmt::format(
                    ", and control group {} was removed before its kills were counted, so it is unknown whether memory was the reason",
                    printable(death.gone_group)));
    case Verdict::kCrash:
      return fmt::format("{} crashed: {}{}", who, analysis::signal_name(death.signal), crash_place(death));
    case Verdict::kSignal:
      break;
  }
  return fmt::format("{} ended {}", analysis::signal_name(death.signal), who);
}

std::string death_text(const Death& death, std::size_t width) {
  std::string text = present::fill("Death: ", verdict_sentence(death) + ".", width, 2);
  const auto add = [&](std::string_view label, const std::string& what) {
    if (!what.empty()) text += present::fill(fmt::format("  {:<10}", label), what, width, 12);
  };
  if (death.record) add("record", of_kernel(*death.record, death.pid));
  add("stack", last_calls(death));
  add("heap", holders_text(death));
  add("last look", lines_text(death));
  if (!is_want_of_memory(death.verdict)) return text;
  add("slope", slope_text(death));
  if (death.wall) {
    std::string calls;
    constexpr std::size_t kShown = 6;
    for (std::size_t i = 0; i < std::min(kShown, death.wall->functions.size()); ++i)
      calls += fmt::format("{}{}", i == 0 ? "" : " <- ", short_name(death.wall->functions[i]));
    add("at wall", fmt::format("{}, thread {}", calls, printable(death.wall->thread)));
  } else if (!death.wall_unseen.empty()) {
    add("at wall", "not known: " + printable(death.wall_unseen));
  }
  if (death.window_s > 0) {  // else it was not read often enough
    add("growth", kind_text(death));
    add("headroom", headroom_text(death));
  }
  if (!death.marks.empty())
    add("seen",
        fmt::format("{}{}", printable(death.marks.back()),
                    death.marks.size() == 1
                        ? ""
                        : fmt::format(" ({} before)", analysis::counted(death.marks.size() - 1, "mark"))));
  return text;
}

std::string with_death(std::string text, const Death& death, std::size_t width) {
  const std::string paragraph = death_text(death, width);
  const std::size_t end = text.find("\n\n");
  if (end == std::string::npos) return text + "\n" + paragraph;
  return text.insert(end + 2, paragraph + "\n");
}

void add_death(nlohmann::ordered_json& json, const Death& death) {
  nlohmann::ordered_json out;
  out["verdict"] = to_string(death.verdict);
  out["text"] = verdict_sentence(death);
  out["signal"] = death.signal;
  out["pid"] = death.pid;
  out["name"] = analysis::valid_utf8(death.name);
  out["group"] = death.group.empty() ? nlohmann::ordered_json()
                                     : nlohmann::ordered_json(analysis::valid_utf8(death.group));
  out["limit_bytes"] =
      death.limit_bytes ? nlohmann::ordered_json(*death.limit_bytes) : nlohmann::ordered_json();
  out["kernel_record"] = death.record.has_value();
  out["sampled"] = death.sampled;
  out["lost_events"] = death.lost_events;
  out["live_bytes"] = death.live ? nlohmann::ordered_json(death.live->bytes.value) : nlohmann::ordered_json();
  out["held_by"] = nlohmann::ordered_json::array();
  for (const Holder& holder : death.holders)
    out["held_by"].push_back({{"name", analysis::valid_utf8(holder.name)},
                              {"module", analysis::valid_utf8(holder.module)},
                              {"bytes", holder.bytes.value},
                              {"error_bytes", holder.bytes.error()},
                              {"blocks", holder.blocks.value}});
  out["last_look"] = nlohmann::ordered_json();
  if (death.lines) {
    auto& look = out["last_look"];
    look["before_end_s"] = death.lines_before_s;
    look["rss_bytes"] = death.lines->rss_bytes;
    look["parts"] = nlohmann::ordered_json::array();
    for (const analysis::MemoryLine& line : death.lines->lines)
      look["parts"].push_back({{"name", analysis::valid_utf8(line.name)}, {"bytes", line.bytes}});
  }
  out["slope_bytes_per_s"] = or_null(death.slope ? std::optional(death.slope->per_second) : std::nullopt);
  out["window_s"] = death.window_s;
  out["growth"] = {{"kind", to_string(death.growth.kind)},
                   {"confidence", to_string(death.growth.sureness)},
                   {"bytes", death.growth.grew},
                   {"explained", death.growth.explained}};
  out["needed_bytes"] = death.headroom.needed;
  out["reason"] = death.fatal ? nlohmann::ordered_json(analysis::valid_utf8(
                                    present::end_reason_words(*death.fatal, death.place.reason)))
                              : nlohmann::ordered_json();
  out["stack"] = nlohmann::ordered_json::array();
  if (death.fatal)
    for (const model::FatalSignal::Frame& frame : death.fatal->frames)
      out["stack"].push_back({{"function", analysis::valid_utf8(frame.function)},
                              {"module", analysis::valid_utf8(frame.module)},
                              {"file", analysis::valid_utf8(frame.file)},
                              {"line", frame.line}});
  out["wall_stack"] = nlohmann::ordered_json::array();
  if (death.wall)
    for (const std::string& function : death.wall->functions)
      out["wall_stack"].push_back(analysis::valid_utf8(function));
  out["wall_unseen"] = death.wall_unseen.empty()
                           ? nlohmann::ordered_json()
                           : nlohmann::ordered_json(analysis::valid_utf8(death.wall_unseen));
  out["marks"] = nlohmann::ordered_json::array();
  for (const std::string& mark : death.marks) out["marks"].push_back(analysis::valid_utf8(mark));
  json["death"] = std::move(out);
}

}  // namespace fathom::flight
