#include "present/text/text_leaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/core/words.h"
#include "present/sentences/heap_sentences.h"
#include "present/sentences/leak_sentences.h"
#include "present/text/text_estimates.h"
#include "present/text/text_table.h"

namespace fathom::present {
namespace {

using analysis::bytes;
using analysis::counted;
using analysis::HeapAmount;
using analysis::HeapAmounts;
using analysis::LeakFrame;
using analysis::LeakGroup;
using analysis::LeakReport;
using analysis::printable;
using analysis::seconds;
using analysis::with_commas;

std::string number(double value) {
  return with_commas(std::llround(std::min(value, 9e15)));
}
std::string with_error(const EstimateCells& cells) {
  return cells.value + (cells.error.empty() ? "" : " " + cells.error);
}
std::string blocks_of(const HeapAmount& amount) {
  return with_error(count_cells(amount)) + (std::llround(amount.value) == 1 ? " block" : " blocks");
}

// "older than 1.05 ms and younger than 33.6 ms"
std::string ages_of(const LeakGroup& group) {
  if (!group.youngest_s || !group.oldest_s) return "";
  if (*group.youngest_s <= 0) return fmt::format(", younger than {}", seconds(*group.oldest_s));
  return fmt::format(", {} to {} old", seconds(*group.youngest_s), seconds(*group.oldest_s));
}

std::string threads_of(const LeakGroup& group) {
  constexpr std::size_t kMost = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(group.threads.size(), kMost); ++i)
    text += (i == 0 ? "" : ", ") + printable(group.threads[i]);
  if (group.threads.size() > kMost) text += fmt::format(" and {} more", group.threads.size() - kMost);
  return text.empty() ? "" : ", by " + text;
}

std::string frame_line(std::size_t index, const LeakFrame& frame, std::size_t width) {
  std::string place;
  if (!frame.file.empty()) {
    place = " " + printable(frame.file);
    if (frame.line != 0) place += fmt::format(":{}", frame.line);
  }
  if (!frame.module.empty()) place += fmt::format(" ({})", printable(frame.module));
  const std::string start = fmt::format("    #{:<2} ", index);
  std::string name = printable(frame.function);
  const std::size_t taken = start.size() + display_width(place);
  // The place is what editors and scripts take up: it stays whole, and the name keeps a readable length.
  if (width != 0) name = shorten_name(name, std::max<std::size_t>(40, width > taken ? width - taken : 0));
  return start + name + place + "\n";
}

std::string group_text(std::size_t index, const LeakGroup& group, double whole,
                       const LeakTextOptions& options) {
  const double blocks = group.amounts.blocks.value;
  std::string head = fmt::format("{} in {} ({}", with_error(bytes_cells(group.amounts.bytes)),
                                 blocks_of(group.amounts.blocks),
                                 analysis::percent(whole > 0 ? group.amounts.bytes.value / whole : 0));
  if (blocks > 1) head += fmt::format(", {} each on average", bytes(group.amounts.bytes.value / blocks));
  head += ")" + ages_of(group) + threads_of(group);
  std::string out = "\n";
  if (options.color) out += "\x1b[1m";
  out += fill(fmt::format("{}. ", index), head, options.width, 4);
  if (options.color) out.insert(out.size() - 1, "\x1b[0m");
  if (group.frames.empty()) return out + "    no stack was taken\n";
  const std::size_t shown =
      options.frames == 0 ? group.frames.size() : std::min(group.frames.size(), options.frames);
  for (std::size_t i = 0; i < shown; ++i)
    out += frame_line(i, group.frames[i], options.cut_names ? options.width : 0);
  if (shown < group.frames.size())
    out += fmt::format("    ... {} more (--frames 0 shows all)\n",
                       counted(group.frames.size() - shown, "frame"));
  return out;
}

std::string suppressions_text(const LeakReport& report, const LeakTextOptions& options) {
  if (report.uses.empty()) return "";
  std::string out = options.color ? "\n\x1b[1mSuppressed\x1b[0m\n" : "\nSuppressed\n";
  TextTable table(
      {{"bytes", Align::kRight}, {"blocks", Align::kRight}, {"pattern", Align::kLeft, true}, {"from"}});
  for (const analysis::SuppressionUse& use : report.uses)
    table.add({bytes(use.taken.bytes.value), number(use.taken.blocks.value),
               printable(use.suppression->pattern),
               use.suppression->built_in
                   ? "built in"
                   : fmt::format("{}:{}", printable(use.suppression->file), use.suppression->line)});
  return out + table.text(options.cut_names ? options.width : 0, options.color);
}

std::string last_line(const LeakReport& report) {
  std::string text =
      fmt::format("SUMMARY: {} bytes in {} {}, {}", with_error(count_cells(report.shown.bytes)),
                  blocks_of(report.shown.blocks),
                  report.end_not_known                            ? "live when it ended"
                  : report.ended_by_signal                        ? "live when a signal ended it"
                  : report.ended && !report.stopped_short.empty() ? "live when its process ended"
                  : report.ended                                  ? "never freed"
                                                                  : "live at the end",
                  counted(report.groups.size(), "place", "places"));
  if (report.suppressed.blocks.value > 0)
    text += fmt::format("; suppressed {} bytes in {}", with_error(count_cells(report.suppressed.bytes)),
                        blocks_of(report.suppressed.blocks));
  if (report.answer == analysis::LeakAnswer::kNotKnown)
    text += report.groups.empty() ? "; not known, as an allocator was not seen"
                                  : "; not known, as events were lost";
  return text + "\n";
}

// Every output of a recording says how much of it there is.
std::string quality_text(const LeakReport& report, const LeakTextOptions& options) {
  const std::string missing = text_of(report.losses);
  std::string text = missing.empty()
                         ? counted(report.losses.exactness.events, "event") + " of the heap; none was lost"
                         : missing;
  if (!options.own_cost.empty()) text += "; " + options.own_cost;
  return fill("Quality: ", text, options.width, 2);
}

}  // namespace

std::string leaks_text(const LeakReport& report, const LeakTextOptions& options) {
  std::string out;
  for (const std::string& sentence : sentences_of(report)) out += fill("", sentence, options.width, 2);
  const std::size_t shown =
      options.top == 0 ? report.groups.size() : std::min(report.groups.size(), options.top);
  for (std::size_t i = 0; i < shown; ++i)
    out += group_text(i + 1, report.groups[i], report.shown.bytes.value, options);
  if (shown < report.groups.size())
    out += fmt::format("\n... {} more (--top 0 shows all)\n", counted(report.groups.size() - shown, "group"));
  out += suppressions_text(report, options);
  return out + "\n" + quality_text(report, options) + last_line(report);
}

}  // namespace fathom::present
