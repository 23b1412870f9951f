#include "present/sentences/leak_sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/core/ending.h"
#include "analysis/core/rounding.h"
#include "analysis/core/words.h"
#include "present/sentences/amount_words.h"
#include "present/sentences/heap_sentences.h"

namespace fathom::present {

using namespace analysis;  // this folder puts into words what lies there

namespace {

std::string blocks_in_all(const HeapAmount& amount) {
  const std::string blocks = count_with_error(amount.value, amount.variance <= 0 ? 0 : amount.error());
  return blocks + (blocks == "1" ? " block" : " blocks");
}
std::string sum_of(const HeapAmounts& amounts) {
  return fmt::format("{} in {}", bytes_of(amounts.bytes), blocks_in_all(amounts.blocks));
}

}  // namespace

std::vector<std::string> sentences_of(const LeakReport& report) {
  std::vector<std::string> sentences;
  const auto add = [&](std::string sentence) { sentences.push_back(std::move(sentence)); };
  const std::string target = report.target.empty() ? "The program" : printable(report.target);
  const std::string left = report.ended_by_signal
                               ? fmt::format("live when {} ended it", signal_name(*report.ended_by_signal))
                           : report.end_not_known ? "live when it ended (how is unknown)"
                           : report.ended && !report.stopped_short.empty() ? "live when its process ended"
                           : report.ended                                  ? "never freed"
                                          : "live at the end of the recording";
  const HeapLosses& losses = report.losses;
  const model::HeapExactness& lost = losses.exactness;
  const std::string of_events = text_of(losses);
  const std::string missing = !of_events.empty()     ? of_events
                              : report.partly_hooked ? "not every function of its allocator could be hooked"
                              : report.frees_unseen  ? "some frees were missed"
                                                     : "";
  const std::string places = counted(report.groups.size(), "call site", "call sites");
  if (report.groups.empty() && !report.unseen.empty()) {
    add(fmt::format("{}: it is unknown whether anything is left.", target));
  } else if (report.groups.empty() && missing.empty()) {
    add(fmt::format("{}: nothing is left that {}.", target,
                    report.ended ? "was never freed" : "is live at the end of the recording"));
  } else if (report.groups.empty()) {
    add(fmt::format(
        "{}: nothing that was recorded is left, but the recording is incomplete: {}. {} be left unseen.",
        target, missing,
        lost.countable() ? fmt::format("Up to {} may", counted(lost.lost(), "block"))
                         : std::string("Any number of blocks may")));
  } else if (report.answer == LeakAnswer::kNotKnown) {
    add(fmt::format(
        "{}: it is unknown whether anything is left. {} from {} {} {}, but {}, which may include the frees of all of them.",
        target, sum_of(report.shown), places, report.shown.blocks.value == 1 ? "looks" : "look", left,
        missing));
    add("Record again on a less busy machine, or with --lossless, which makes the program wait for fathom.");
  } else if (!missing.empty()) {
    add(fmt::format("{}: {} from {} {} {}, at least {} of them for certain, because {}.", target,
                    sum_of(report.shown), places, report.shown.blocks.value == 1 ? "looks" : "look", left,
                    blocks_in_all({report.sure_blocks, 0}), missing));
  } else {
    add(fmt::format("{}: {} {} from {}.", target, sum_of(report.shown), left, places));
  }
  if (!report.unseen.empty()) add(unseen_text(report.unseen, std::nullopt));
  if (report.of_dump)
    add("The program itself sampled its heap: this was live when the dump was written: leaks, but also caches and buffers in use. Look at what grows from dump to dump: fathom report --merge all DUMP...");
  else if (!report.ended)
    add("The program was still running when the recording ended, so this was live at that moment: leaks, but also caches and buffers in use. Look at old blocks (--older SECONDS) and at groups that grow (fathom report).");
  if (report.ended_by_signal)
    add(fmt::format("{} ended it, so it had no chance to free what it had.",
                    signal_name(*report.ended_by_signal)));
  for (const Ending& ending : report.stopped_short)
    add(ending.not_known ? fmt::format("Process {} ended; how is unknown.", *ending.pid)
                         : fmt::format("{} ended process {}, so it had no chance to free what it had.",
                                       signal_name(ending.signal), *ending.pid));
  if (!report.stopped_short.empty()) add("--pid PID shows what one process left.");
  if (std::string dropped = text_of(report.dropped); !dropped.empty()) add(std::move(dropped));
  if (!report.from_start && !report.of_dump)
    add("fathom attached to a running program, so blocks from before the recording are missing.");
  if (report.sampled) {
    const double mean = static_cast<double>(std::max<std::uint64_t>(1, report.mean_bytes));
    add(fmt::format(
        "The heap was sampled, one byte in {}: ± is the 95 % interval, and small leaks can be missed (one of {} in all is seen with 95 % certainty, one of {} with 10 %).{}",
        bytes(mean), bytes(3 * mean), bytes(0.105 * mean),
        report.of_dump ? "" : " --heap=exact finds all of them."));
  }
  if (report.truncated)
    add(report.still_recorded ? "The recording is still running: this is its state so far."
        : report.of_dump      ? "The file is cut short: blocks may be missing."
                              : "The recorder was killed: this is what it had recorded by then.");
  if (report.no_ages && !report.of_dump) add("The recording holds no ages of blocks.");
  if (report.young.blocks.value > 0 || report.asked_older_s > 0)
    add(fmt::format(
        "{} younger than {}{}; ages are stored in powers of two, so --older {} was rounded to this.",
        report.young.blocks.value > 0 ? sum_of(report.young) : "Nothing is", seconds(report.older_s),
        report.young.blocks.value > 0 ? " are left out" : "", report.asked_older_s));
  if (report.small.blocks.value > 0)
    add(fmt::format("{} in smaller groups are left out.", sum_of(report.small)));
  if (report.mappings.blocks.value > 0)
    add(fmt::format(
        "This excludes memory that the program mapped without an allocator and has not unmapped: {} (--mappings).",
        sum_of(report.mappings)));
  return sentences;
}

}  // namespace fathom::present
