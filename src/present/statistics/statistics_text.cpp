#include <fmt/format.h>

#include <algorithm>

#include "analysis/core/words.h"
#include "attach/allocators/state/held_words.h"
#include "attach/allocators/statistics/held_by.h"
#include "base/stable_sort.h"
#include "present/statistics/statistics_report.h"
#include "present/statistics/statistics_sentences.h"
#include "present/statistics/statistics_words.h"
#include "present/text/text_table.h"

namespace fathom::present {
namespace {

using allocators::AllocatorState;
using allocators::HeldKind;
using allocators::HeldLine;
using allocators::Statistics;
using allocators::StatisticsClass;

std::string head(std::string_view title, bool color) {
  return color ? fmt::format("\n\x1b[1m{}\x1b[0m\n", title) : fmt::format("\n{}\n", title);
}

// From what is resident to what it is made of.
std::string bridge(const Statistics& one, const AllocatorState& held, std::size_t width, bool color) {
  TextTable table({{"bytes", Align::kRight}, {"%", Align::kRight}, {"part"}});
  const std::uint64_t whole = one.resident.value_or(0);
  const auto percent = [&](std::uint64_t part) {
    return whole == 0 ? "" : analysis::percent_number(static_cast<double>(part) / static_cast<double>(whole));
  };
  if (whole != 0)
    table.add({size_words(whole), "100",
               "resident, as jemalloc counts it: includes pages that were never touched"});
  std::uint64_t sum = 0;
  for (const HeldLine& line : held.lines) {
    if (line.kind == HeldKind::kRetained) continue;
    table.add(
        {size_words(line.bytes), percent(line.bytes), "  " + std::string(allocators::words_of(line.kind))});
    sum += line.bytes;
  }
  constexpr double kWorthALine = 0.01;
  if (whole > sum && static_cast<double>(whole - sum) >= kWorthALine * static_cast<double>(whole))
    table.add({size_words(whole - sum), percent(whole - sum), "  not separated by these statistics"});
  std::string text = head("What it holds", color) + table.text(width, color);
  if (const std::uint64_t retained = held.bytes(HeldKind::kRetained); retained != 0)
    text += fmt::format("  plus {} of address space that it keeps, whose pages were given back (retained)\n",
                        size_words(retained));
  return text;
}

std::string classes(const Statistics& one, std::size_t width, bool color, std::size_t top) {
  std::vector<const StatisticsClass*> rows;
  for (const StatisticsClass& of : one.classes)
    if (of.live != 0 || of.free_bytes() != 0) rows.push_back(&of);
  if (rows.empty()) return "";
  stable_sort_rows(rows, [](const StatisticsClass* a, const StatisticsClass* b) {
    return a->live_bytes() + a->free_bytes() > b->live_bytes() + b->free_bytes();
  });
  const std::size_t shown = top == 0 ? rows.size() : std::min(top, rows.size());
  TextTable table({{"size", Align::kRight},
                   {"live", Align::kRight},
                   {"blocks", Align::kRight},
                   {"free among them", Align::kRight},
                   {"used %", Align::kRight},
                   {"slabs", Align::kRight},
                   {"made since the start", Align::kRight}});
  for (const StatisticsClass* of : std::span(rows).first(shown)) {
    const auto all = static_cast<double>(of->live_bytes()) + static_cast<double>(of->free_bytes());
    table.add(
        {number_words(of->size), size_words(of->live_bytes()), number_words(of->live),
         of->large ? "" : size_words(of->free_bytes()),
         of->large || all == 0 ? "" : analysis::percent_number(static_cast<double>(of->live_bytes()) / all),
         of->slabs ? number_words(*of->slabs) : "", number_words(of->made)});
  }
  return head(shown < rows.size()
                  ? fmt::format("Sizes of blocks, by what they hold, {} of {}", shown, rows.size())
                  : std::string("Sizes of blocks, by what they hold"),
              color) +
         table.text(width, color);
}

std::string settings(const Statistics& one, std::size_t width) {
  std::string words;
  for (const char* name : {"background_thread", "dirty_decay_ms", "muzzy_decay_ms", "narenas", "percpu_arena",
                           "tcache", "thp", "metadata_thp", "retain", "hpa", "prof", "lg_prof_sample"}) {
    const std::string* value = one.setting(std::string("opt.") + name);
    if (value != nullptr)
      words += fmt::format("{}{}:{}", words.empty() ? "" : ", ", name, analysis::printable(*value));
  }
  return words.empty() ? "" : "\n" + fill("Settings: ", words, width, 10);
}

std::string bullets(const std::vector<StatisticsSentence>& sentences, std::size_t width) {
  std::string text;
  for (const StatisticsSentence& sentence : sentences) {
    text += fill("", sentence.text, width, 2);
    for (const std::string& remedy : sentence.remedies) text += fill("  try: ", remedy, width, 7);
  }
  return text;
}

}  // namespace

std::string statistics_text(std::span<const Statistics> all, std::size_t width, bool color, std::size_t top) {
  const Statistics& last = all.back();
  std::string text = statistics_headline(last) +
                     (all.size() > 1 ? fmt::format(" · the last of {}", all.size()) : "") + "\n\n";
  text += bullets(growth_sentences(all), width);
  text += bullets(statistics_sentences(last), width);
  const AllocatorState held = allocators::held_by(last);
  if (held.certainty == allocators::Certainty::kUnknown) return text + settings(last, width);
  return text + bridge(last, held, width, color) + classes(last, width, color, top) + settings(last, width);
}

}  // namespace fathom::present
