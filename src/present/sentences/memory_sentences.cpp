#include "present/sentences/memory_sentences.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "analysis/core/rounding.h"
#include "analysis/core/words.h"

namespace fathom::present {

using namespace analysis;  // this folder puts into words what lies there

namespace {

std::string of(std::uint64_t value) {
  return bytes(static_cast<double>(value));
}
std::string with_error(const HeapAmount& amount) {
  return amount.variance <= 0
             ? bytes(amount.value)
             : fmt::format("{} ±{}", bytes_with_error(amount.value, amount.error()), bytes(amount.error()));
}

std::string moment(const RssBreakdown& breakdown) {
  if (breakdown.to_end_s) return seconds(*breakdown.to_end_s) + " before the program ended";
  if (breakdown.at_end) return "at the end";
  return seconds(breakdown.at_s) + " after the start";
}

std::string coverage_text(const RssBreakdown& breakdown) {
  if (breakdown.explained.variance <= 0) return percent(breakdown.coverage);
  const double error = (breakdown.coverage_high - breakdown.coverage_low) / 2;
  return fmt::format("{} %, {} to {} %", percent_with_error(breakdown.coverage, error),
                     percent_with_error(breakdown.coverage_low, error),
                     percent_with_error(breakdown.coverage_high, error));
}

std::string sentence_of_coverage(const RssBreakdown& breakdown) {
  std::string text = fmt::format(
      "The heap profile explains {} ({}) of the {} of anonymous memory that were resident {}",
      with_error(breakdown.explained), coverage_text(breakdown), of(breakdown.anonymous), moment(breakdown));
  std::vector<std::string> rest;
  const auto add = [&](std::string_view key, std::string_view words) {
    if (const double value = breakdown.part(key); value >= 0.005 * static_cast<double>(breakdown.anonymous))
      rest.push_back(fmt::format("{} {}", bytes(value), words));
  };
  add("slack", "that allocators hold beyond live blocks");
  add("thread-stacks", "of stacks of threads");
  add("main-stack", "of the first thread's stack");
  add("file-data", "of data segments of files");
  add("tracer", "of fathom's own tracer");
  add("not-split", "that could not be told apart");
  add("unknown", breakdown.unseen_at_most ? "that may be of an allocator that fathom cannot see"
                                          : "of nobody that is known");
  if (rest.empty()) return text + ".";
  text += "; the rest is ";
  for (std::size_t i = 0; i < rest.size(); ++i)
    text += (i == 0 ? "" : i + 1 == rest.size() ? " and " : ", ") + rest[i];
  return text + ".";
}

}  // namespace

std::vector<std::string> sentences_of(const RssBreakdown& breakdown) {
  std::vector<std::string> sentences;
  const auto say = [&](std::string sentence) { sentences.push_back(std::move(sentence)); };
  const auto anonymous = static_cast<double>(breakdown.anonymous);
  if (breakdown.traced) {
    say(sentence_of_coverage(breakdown));
    if (breakdown.part("slack") > 0.05 * anonymous) {
      std::string text =
          breakdown.rounding
              ? fmt::format(
                    "Of what allocators hold beyond live blocks, sizes rounded up are {} at most; the "
                    "rest was freed and is kept, or is their own tables.",
                    bytes(*breakdown.rounding))
              : "What allocators hold beyond live blocks are sizes rounded up, memory that was freed and "
                "is "
                "kept, and their own tables; only their own statistics could tell these apart.";
      if (breakdown.earlier_at_most && *breakdown.earlier_at_most > 0)
        text += fmt::format(
            " Blocks from before the recording are in it, too, and in the unknown: {} at most, as no more "
            "was resident then.",
            bytes(*breakdown.earlier_at_most));
      say(text);
    }
    const double away = breakdown.live_bytes - breakdown.live.value;
    if (!breakdown.live_is_bound && away > 0.05 * breakdown.live_bytes && away > 2 * breakdown.live.error())
      say(
          fmt::format("{} of the live blocks take no memory: their pages were never touched, or are "
                      "swapped out.",
                      bytes(away)));
    if (breakdown.live_is_bound)
      say("Which pages of the blocks are resident was not looked at everywhere; what is explained is at "
          "most so much.");
    if (breakdown.overestimated > 0)
      say(breakdown.explained.variance > 0
              ? fmt::format(
                    "The samples come to {} more of live blocks than memory was resident for them: the "
                    "estimate is too high by so much at least.",
                    bytes(breakdown.overestimated))
              : fmt::format(
                    "Blocks changed while pages were read: {} more of them were counted as resident than "
                    "allocators held.",
                    bytes(breakdown.overestimated)));
    if (breakdown.shared_out)
      say("Memory in which two allocators have blocks is shared out in proportion to these.");
  }
  std::string text =
      fmt::format("RSS {} was {}: {} anonymous, {} of files, {} shared", moment(breakdown), of(breakdown.rss),
                  of(breakdown.anonymous), of(breakdown.file), of(breakdown.shared));
  std::string beside;
  const auto add = [&](double value, std::string_view words) {
    if (value > 0) beside += fmt::format("{}{} {}", beside.empty() ? "" : ", ", bytes(value), words);
  };
  add(breakdown.page_tables.value_or(0), "of page tables");
  add(static_cast<double>(breakdown.swap), "swapped out");
  add(static_cast<double>(breakdown.huge_file), "on explicit huge pages");
  if (!beside.empty()) text += "; beside it " + beside;
  if (breakdown.processes > 1)
    text +=
        fmt::format(". That is the sum of {} processes: what they share counts in each", breakdown.processes);
  say(text + ".");
  if (static_cast<double>(breakdown.huge) > 0.1 * anonymous)
    say(fmt::format("{} of the anonymous memory is on huge pages, which become resident 2 MiB at a time.",
                    of(breakdown.huge)));
  return sentences;
}

std::string_view label_of(const MemoryPart& part, bool traced) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kLabels{{
      {"live", "live blocks of allocators"},
      {"slack", "allocators, beyond live blocks"},
      {"mapped", "mapped by the program itself"},
      {"thread-stacks", "stacks of threads"},
      {"main-stack", "stack of the first thread"},
      {"file-data", "data segments of files"},
      {"tracer", "fathom's tracer"},
      {"not-split", "anonymous, not split"},
      {"unknown", "anonymous, of nobody that is known"},
      {"files", "pages of files"},
      {"shared", "shared memory"},
      {"tracer-shared", "fathom's tracer, shared with the profiler"},
      {"kernel", "of the kernel (vdso)"},
  }};
  if (part.key == "slack" && !traced) return "allocators (the heap was not traced)";
  for (const auto& [key, label] : kLabels)
    if (key == part.key) return label;
  return part.key;
}

}  // namespace fathom::present
