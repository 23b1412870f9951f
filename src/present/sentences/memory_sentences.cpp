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
      "The heap profile explains {} ({}) of the {} of anonymous memory resident {}",
      with_error(breakdown.explained), coverage_text(breakdown), of(breakdown.anonymous), moment(breakdown));
  std::vector<std::string> rest;
  const auto add = [&](std::string_view key, std::string_view words) {
    if (const double value = breakdown.part(key); value >= 0.005 * static_cast<double>(breakdown.anonymous))
      rest.push_back(fmt::format("{} {}", bytes(value), words));
  };
  add("slack", "that allocators hold beyond live blocks");
  add("thread-stacks", "of thread stacks");
  add("main-stack", "of the main stack");
  add("file-data", "of data segments of files");
  add("tracer", "of fathom's own tracer");
  add("not-split", "that could not be separated");
  add("unknown", breakdown.unseen_at_most ? "that may belong to an allocator that fathom cannot see"
                                          : "with an unknown owner");
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
                    "Of the memory that allocators hold beyond live blocks, at most {} are rounding of sizes; the rest is freed memory that they keep, or their own tables.",
                    bytes(*breakdown.rounding))
              : "Allocators hold more than live blocks: rounding of sizes, freed memory that they keep, and their own tables. Only their own statistics could separate these.";
      if (breakdown.earlier_at_most && *breakdown.earlier_at_most > 0)
        text += fmt::format(
            " It includes blocks from before the recording, as does the unknown part: {} at most, because no more was resident at that time.",
            bytes(*breakdown.earlier_at_most));
      say(text);
    }
    const double away = breakdown.live_bytes - breakdown.live.value;
    if (!breakdown.live_is_bound && away > 0.05 * breakdown.live_bytes && away > 2 * breakdown.live.error())
      say(fmt::format(
          "{} of the live blocks use no memory: their pages were never touched, or are swapped out.",
          bytes(away)));
    if (breakdown.live_is_bound)
      say("fathom did not check all pages of the blocks for residency, so the explained amount is an upper bound.");
    if (breakdown.overestimated > 0)
      say(breakdown.explained.variance > 0
              ? fmt::format(
                    "The samples suggest {} more live blocks than their resident memory allows: the estimate is too high by at least that much.",
                    bytes(breakdown.overestimated))
              : fmt::format(
                    "Blocks changed while pages were read: {} more of them were counted as resident than allocators held.",
                    bytes(breakdown.overestimated)));
    if (breakdown.shared_out)
      say("Memory in which two allocators have blocks is divided in proportion to those blocks.");
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
  if (!beside.empty()) text += "; plus " + beside;
  if (breakdown.processes > 1)
    text +=
        fmt::format(". That is the sum over {} processes: shared memory counts in each", breakdown.processes);
  say(text + ".");
  if (breakdown.lazy_free.value_or(0) > 0)
    say(fmt::format(
        "{} of the anonymous memory is already free (MADV_FREE): the kernel takes it back when it needs memory.",
        bytes(*breakdown.lazy_free)));
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
      {"thread-stacks", "thread stacks"},
      {"main-stack", "main stack"},
      {"file-data", "data segments of files"},
      {"tracer", "fathom's tracer"},
      {"not-split", "anonymous, not split"},
      {"unknown", "anonymous memory, owner unknown"},
      {"files", "pages of files"},
      {"shared", "shared memory"},
      {"tracer-shared", "fathom's tracer, shared with the profiler"},
      {"kernel", "kernel (vdso)"},
  }};
  if (part.key == "slack" && !traced) return "allocators (the heap was not traced)";
  for (const auto& [key, label] : kLabels)
    if (key == part.key) return label;
  return part.key;
}

}  // namespace fathom::present
