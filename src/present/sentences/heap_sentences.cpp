#include "present/sentences/heap_sentences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "analysis/core/prose_name.h"
#include "analysis/core/rounding.h"
#include "analysis/core/words.h"
#include "base/stable_sort.h"
#include "present/sentences/amount_words.h"

namespace fathom::present {

using namespace analysis;  // this folder puts into words what lies there

namespace {

constexpr std::size_t kMostRanges = 3;

std::string blocks_of(double count) {
  return with_commas(std::llround(std::min(count, 9e15)));
}
// An estimate has no more digits than its error leaves it.
std::string blocks_of(const HeapAmount& amount) {
  return amount.variance <= 0 ? blocks_of(amount.value) : count_with_error(amount.value, amount.error());
}
// "1 block", "12,000 blocks".
std::string blocks_in_words(const HeapAmount& amount) {
  const std::string count = blocks_of(amount);
  return count + (count == "1" ? " block" : " blocks");
}
std::string share_of(double part, double whole) {
  return percent(whole > 0 ? part / whole : 0);
}

// "f in m, 45.0 %, g, 20.0 %": up to three of those that have most.
std::string top_of(const HeapReport& report, const std::function<HeapAmount(const HeapFunctionRow&)>& value) {
  std::vector<std::pair<HeapAmount, const HeapFunctionRow*>> rows;
  double whole = 0;
  for (const HeapFunctionRow& row : report.functions) {
    const HeapAmount amount = value(row);
    if (amount.value <= 0) continue;
    whole += amount.value;
    rows.push_back({amount, &row});
  }
  stable_sort_rows(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.first.value > b.first.value; });
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(rows.size(), 3); ++i) {
    const auto& [amount, row] = rows[i];
    // Less than a twentieth, or no more than its error: not worth a place in a sentence.
    if (i > 0 && amount.value < 0.05 * whole) break;
    text +=
        fmt::format("{}{}{} ({}{})", i == 0 ? "" : ", ", spoken_name(row->name),
                    row->module.empty() ? "" : " in " + printable(row->module), share_of(amount.value, whole),
                    amount.error() > amount.value / 2 ? ", which may be chance" : "");
  }
  return text;
}

// What lost events make of the numbers of an exact heap.
std::string consequence_of(const model::HeapExactness& exactness) {
  if (!exactness.countable()) return "Live and freed amounts are not exact.";
  return fmt::format("The live amount may be wrong by up to {}.", counted(exactness.lost(), "block"));
}

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + printable(names[i]);
  return text;
}

std::string sentence_of_method(const HeapReport& report) {
  const std::string_view start = report.from_start ? " from the start of the program" : "";
  const std::string missing = text_of(report.losses);
  if (!report.unseen.empty())
    return fmt::format("The rest covers {} only, {}{}{}.", list_of(report.traced),
                       report.sampled ? "sampled" : "with every call recorded", start,
                       missing.empty() ? "" : ", with these exceptions: " + missing);
  if (!report.sampled && missing.empty())
    return fmt::format("Every call of the allocators was recorded{}.", start);
  if (!report.sampled)
    return fmt::format("Calls of the allocators were recorded{}, but not every one: {}. {}", start, missing,
                       consequence_of(report.losses.exactness));
  if (report.of_dump)
    return fmt::format(
        "The program itself sampled its heap, one byte in {}; sizes are those of the allocator's size classes; ± is the 95 % interval.",
        bytes(static_cast<double>(report.mean_bytes)));
  std::string text =
      report.by_probes
          ? fmt::format(
                "The heap data comes from the program's own otel_memory probes{}; fathom put nothing into the program. The program sampled it",
                start)
          : fmt::format("The heap was {}{}", report.exact ? "traced, in part by samples," : "sampled", start);
  if (report.mean_bytes != 0)
    text += fmt::format(", one byte in {}", bytes(static_cast<double>(report.mean_bytes)));
  if (missing.empty()) return text + "; ± is the 95 % interval.";
  return text + fmt::format("; ± is the 95 % interval of the sampling alone, as {}.", missing);
}

std::string sentence_of_returns(const std::vector<HeapReturnRow>& returns) {
  if (returns.empty()) return "";
  double calls = 0, all = 0;
  for (const HeapReturnRow& row : returns) {
    calls += row.calls;
    all += row.bytes;
  }
  std::string by;
  for (std::size_t i = 0; i < std::min<std::size_t>(returns.size(), 3); ++i) {
    const HeapReturnRow& row = returns[i];
    by += (i == 0 ? "" : ", ") +
          (row.allocator.empty() ? printable(row.function) : printable(row.allocator)) +
          fmt::format(" ({})", percent(all > 0 ? row.bytes / all : 0));
  }
  return fmt::format("{} of madvise gave back {} that stay mapped, as far as they were resident: {}.",
                     counted(static_cast<std::uint64_t>(std::clamp(std::round(calls), 0.0, 9e15)), "call"),
                     bytes(all), by);
}

}  // namespace

std::string lost_events_text(const HeapLosses& losses) {
  const model::HeapExactness& exactness = losses.exactness;
  std::string text, reasons;
  const auto reason = [&](std::uint64_t count, std::string_view what) {
    if (count != 0) reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", number(count), what);
  };
  reason(exactness.lost_ring_full, "found no room");
  reason(exactness.lost_no_ring, "had no ring");
  reason(exactness.lost_throwing, "of a failing operator new");
  reason(exactness.lost_set_full, "beyond the set of samples");
  if (const std::uint64_t lost = exactness.lost(); lost != 0)
    text = fmt::format("{} of {} events {} lost ({})", number(lost), number(exactness.events + lost),
                       lost == 1 ? "was" : "were", reasons);
  if (exactness.damaged_rings != 0)
    text += fmt::format("{}{} given up because the content was invalid", text.empty() ? "" : "; ",
                        counted(exactness.damaged_rings, "ring was", "rings were"));
  return text;
}

std::string outages_text(const HeapLosses& losses) {
  if (losses.outages.empty())
    return losses.exactness.switched_off ? "the end was not recorded because fathom did not respond" : "";
  std::string text = "nothing was recorded ";
  for (std::size_t i = 0; i < std::min(losses.outages.size(), kMostRanges); ++i)
    text += fmt::format("{}from {} to {}", i == 0 ? "" : ", ", seconds(losses.outages[i].from_s),
                        seconds(losses.outages[i].to_s));
  if (losses.outages.size() > kMostRanges)
    text +=
        fmt::format(" and in {} more", counted(losses.outages.size() - kMostRanges, "stretch", "stretches"));
  return text + ", because fathom did not respond";
}

std::string unseen_text(const std::vector<UnseenAllocator>& unseen, std::optional<double> at_most) {
  constexpr std::size_t kMost = 3;
  if (unseen.empty()) return "";
  const bool one = unseen.size() == 1;
  std::string text =
      at_most ? fmt::format("Up to {} belong to {} that fathom cannot see:", bytes(*at_most),
                            one ? "an allocator" : "allocators")
              : fmt::format("There {} that fathom cannot see:", one ? "is an allocator" : "are allocators");
  for (std::size_t i = 0; i < std::min(unseen.size(), kMost); ++i)
    text += fmt::format("{} {} in {}, as {}", i == 0 ? "" : ";", printable(unseen[i].label),
                        printable(short_module(unseen[i].module)), printable(unseen[i].why));
  if (unseen.size() > kMost) text += fmt::format("; and {} more", unseen.size() - kMost);
  return text + ". It is unknown whether its blocks leak.";
}

std::string text_of(const HeapLosses& losses) {
  const std::string events = lost_events_text(losses), outages = outages_text(losses);
  return events + (events.empty() || outages.empty() ? "" : "; ") + outages;
}

std::string block_choice_text(const HeapReport& report) {
  if (report.block_choice.empty()) return "";
  return fmt::format(
      "The rest covers only the blocks {}{}.", printable(report.block_choice),
      report.chosen_by_fate
          ? "; they cannot show whether the heap grows or leaks: run the report without this filter"
          : "");
}

std::string text_of(const HeapDropped& dropped) {
  if (dropped.programs == 0) return "";
  return fmt::format("{} ({}) disappeared with {} that executed another program (exec).",
                     counted(static_cast<std::uint64_t>(std::min(dropped.blocks, 9e15)), "block"),
                     bytes(dropped.bytes), counted(dropped.programs, "program"));
}

std::vector<std::string> sentences_of(const HeapReport& report) {
  std::vector<std::string> sentences;
  const auto add = [&](std::string sentence) { sentences.push_back(std::move(sentence)); };
  if (!report.unseen.empty()) add(unseen_text(report.unseen, report.unseen_at_most));
  if (report.is_blind()) return sentences;
  add(sentence_of_method(report));
  if (std::string choice = block_choice_text(report); !choice.empty()) add(std::move(choice));
  const HeapSiteSums& total = report.total;
  // Of blocks that are three mean distances together none is sampled in one case of twenty.
  const std::string unsampled = bytes(3 * static_cast<double>(report.mean_bytes));
  if (total.allocated.blocks.value <= 0 && total.live.blocks.value <= 0) {
    if (report.sampled) {
      // The distance between samples is unknown for a program without calls.
      add(report.mean_bytes == 0
              ? "No block was sampled in this time."
              : fmt::format("No block was sampled in this time: at most {} were allocated{}.", unsampled,
                            report.unseen.empty() ? "" : " through " + list_of(report.traced)));
      return sentences;
    }
    add(report.unseen.empty()
            ? "Nothing was allocated in this time."
            : fmt::format("Nothing was allocated through {} in this time.", list_of(report.traced)));
    return sentences;
  }
  std::string rate;
  if (report.window_s > 0)
    rate = fmt::format(": {}/s and {} calls/s", bytes(total.allocated.bytes.value / report.window_s),
                       blocks_of({total.allocated.blocks.value / report.window_s,
                                  total.allocated.blocks.variance / report.window_s / report.window_s}));
  if (!report.allocated_known)
    add("Allocations were not counted, so the rest shows live memory.");
  else if (report.of_dump && !report.of_dumps)
    add(fmt::format(
        "Since profiling was switched on, it has allocated {}{}.", bytes_of(total.allocated.bytes),
        report.blocks_known ? fmt::format(" in {} calls", blocks_of(total.allocated.blocks)) : ""));
  else
    add(fmt::format("It allocated {} in {} calls{}{}.", bytes_of(total.allocated.bytes),
                    blocks_of(total.allocated.blocks),
                    report.window_s > 0 ? " in " + seconds(report.window_s) : "", rate));
  if (const std::string top = top_of(report, [](const auto& row) { return row.allocated.bytes; });
      !top.empty() && report.allocated_known)
    add("Most of it was requested by " + top + ".");

  const auto in_blocks = [&](const HeapAmount& blocks) {
    return report.blocks_known ? " in " + blocks_in_words(blocks) : "";
  };
  const double live = total.live.bytes.value;
  if (live <= 0 && report.of_dump) {
    add(fmt::format("{} were allocated; the file does not record live memory.",
                    bytes_of(total.allocated.bytes)));
  } else if (live > 0) {
    const double growth = total.growth.bytes.value;
    if (report.of_dump && !report.of_dumps)
      add(fmt::format("{} are live{}; most of it by {}.", bytes_of(total.live.bytes),
                      in_blocks(total.live.blocks),
                      top_of(report, [](const auto& row) { return row.live.bytes; })));
    else
      add(fmt::format("At the end {} are live{}, {} {} than at the start of this time; most of it by {}.",
                      bytes_of(total.live.bytes), in_blocks(total.live.blocks),
                      bytes_of({std::fabs(growth), total.growth.bytes.variance}),
                      growth < 0 ? "less" : "more",
                      top_of(report, [](const auto& row) { return row.live.bytes; })));
  } else if (report.sampled && report.mean_bytes != 0) {
    add(fmt::format("At the end no sampled block is live, so at most {} are.", unsampled));
  } else {
    add("At the end none of it is live.");
  }
  if (report.peak.bytes.value > 0 && !(report.of_dump && !report.of_dumps)) {
    add(fmt::format("The peak was {}{}: {}{}, including {}.",
                    report.steps == "snapshot"
                        ? fmt::format("in snapshot {:.0f}", report.peak_at_s)
                        : seconds(std::max(0.0, report.peak_at_s)) + " after the start",
                    report.peak_exact          ? ""
                    : report.peak_to_slice_end ? " (to the end of a slice)"
                                               : " (in the part that was recorded)",
                    bytes_of(report.peak.bytes), in_blocks(report.peak.blocks),
                    top_of(report, [](const auto& row) { return row.peak.bytes; })));
  }
  const model::HeapSum& temporary = report.temporary_is_short_lived ? total.short_lived : total.temporary;
  if (temporary.blocks > 0 && total.allocated.blocks.value > 0) {
    add(fmt::format("{} of the calls were temporary: freed {}; most by {}.",
                    share_of(temporary.blocks, total.allocated.blocks.value),
                    report.temporary_is_short_lived ? "within 1 ms" : "before the thread allocated again",
                    top_of(report, [&](const auto& row) {
                      return HeapAmount{
                          report.temporary_is_short_lived ? row.short_lived.blocks : row.temporary.blocks, 0};
                    })));
  }
  if (std::string sentence = text_of(report.dropped); !sentence.empty()) add(std::move(sentence));
  if (std::string sentence = sentence_of_returns(report.returns); !sentence.empty()) add(std::move(sentence));
  if (!report.from_start && !report.of_dump) {
    const model::Heap& counters = report.counters;
    std::string text = "These numbers exclude blocks from before the recording";
    if (counters.earlier_rss_bytes != 0)
      text += fmt::format(": {} of anonymous memory were resident at that time",
                          bytes(static_cast<double>(counters.earlier_rss_bytes)));
    if (counters.earlier_frees != 0) {
      const auto frees = static_cast<double>(counters.earlier_frees);
      text += fmt::format("; {} of them have been freed since, {} of all frees", blocks_of(frees),
                          share_of(frees, frees + report.freed_blocks));
    }
    add(text + ".");
  }
  return sentences;
}

std::string text_of(const HeapFinding& finding, const HeapReport& report) {
  const auto count = static_cast<std::uint64_t>(finding.number);
  switch (finding.kind) {
    case HeapFindingKind::kLostEvents:
      return fmt::format("Heap: {}: {}.", lost_events_text(report.losses),
                         report.losses.exactness.damaged_rings != 0
                             ? "live memory is not exact"
                             : "live memory may be wrong by that many blocks");
    case HeapFindingKind::kOutages:
      return fmt::format("Heap: {}: blocks that were live before may have been freed since.",
                         outages_text(report.losses));
    case HeapFindingKind::kMergedSites:
      return fmt::format("Too many call sites allocate: {} counted without a site.",
                         counted(count, "allocation is", "allocations are"));
    case HeapFindingKind::kWithoutStack:
      return fmt::format("{} of the events have no stack.", percent(finding.number));
    case HeapFindingKind::kUnseenFrees:
      return fmt::format("{} frees were missed: a function that frees memory was not hooked.", number(count));
    case HeapFindingKind::kNotTraced: {
      constexpr std::size_t kMost = 3;
      std::string names;
      for (std::size_t i = 0; i < std::min(kMost, finding.functions.size()); ++i)
        names += (i == 0 ? "" : ", ") + printable(finding.functions[i]);
      if (finding.functions.size() > kMost)
        names += fmt::format(" and {} more names", finding.functions.size() - kMost);
      return fmt::format("Heap: {} not traced: {}. Nothing is known about {} blocks.",
                         counted(count, "forked process was", "forked processes were"), names,
                         count == 1 ? "its" : "their");
    }
    case HeapFindingKind::kNotHooked:
      return fmt::format("{}: {} could not be hooked; blocks that pass only through {} are missing.",
                         printable(finding.allocator),
                         printable(fmt::format("{}", fmt::join(finding.functions, ", "))),
                         finding.functions.size() == 1 ? "it" : "them");
  }
  return "";
}

}  // namespace fathom::present
