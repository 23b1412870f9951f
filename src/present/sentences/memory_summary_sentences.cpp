#include "present/sentences/memory_summary_sentences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "analysis/core/prose_name.h"
#include "analysis/core/rounding.h"
#include "analysis/core/words.h"
#include "analysis/summary/memory_problem.h"
#include "model/nameless_function.h"
#include "present/sentences/amount_words.h"
#include "present/sentences/heap_sentences.h"
#include "present/sentences/heap_verdict_sentences.h"
#include "present/sentences/hot_spot_sentences.h"
#include "present/sentences/report_sentences.h"

namespace fathom::present {

using namespace analysis;  // this folder puts into words what lies there

namespace {

constexpr double kLongEnough_s = 30;  // below that a start looks like growth

// "; 185.5 MiB of it is free memory that glibc keeps"
std::string free_memory_text(const ResidentMemory& memory) {
  constexpr double kWorthSaying = 0.1;
  if (memory.free_bytes >= kWorthSaying * memory.last)
    return fmt::format("; {} of it is free memory that {} keeps", bytes(memory.free_bytes),
                       printable(memory.free_in));
  // What was free then may be in use by now.
  if (memory.free_before_bytes >= kWorthSaying * memory.last)
    return fmt::format("; at the start, {} of it was free memory that {} kept",
                       bytes(memory.free_before_bytes), printable(memory.free_in));
  return "";
}

std::string with_confidence(const HeapVerdict& verdict) {
  const auto doubts = doubts_of(verdict);
  return fmt::format("{} (confidence {}{})", sentence_of(verdict), to_string(verdict.confidence),
                     doubts.empty() ? "" : ": " + doubts.front());
}

// The verdicts on the first screen, with the first one first.
std::vector<const HeapVerdict*> told_verdicts(const HeapReport& heap) {
  if (heap.is_blind() || heap.verdicts.empty()) return {};
  const auto sure = std::find_if(heap.verdicts.begin(), heap.verdicts.end(), [](const HeapVerdict& verdict) {
    return verdict.kind == HeapVerdictKind::kLeak && verdict.confidence != Confidence::kLow;
  });
  const HeapVerdict& first = sure != heap.verdicts.end() ? *sure : heap.verdicts.front();
  std::vector<const HeapVerdict*> told{&first};
  // What is not certain leaves room for what is.
  const auto certain = std::ranges::find(heap.verdicts, Confidence::kHigh,
                                         [](const HeapVerdict& of) { return of.confidence; });
  if (first.confidence == Confidence::kMedium && certain != heap.verdicts.end()) told.push_back(&*certain);
  return told;
}

}  // namespace

std::string first_touch_text(const FirstTouch& touch) {
  return fmt::format("{} touches {} of the new pages first", spoken_name(touch.site),
                     rounded_percent(touch.share));
}

std::string sentence_of_resident(const Report& report) {
  if (!report.resident) return "";
  const ResidentMemory& memory = *report.resident;
  std::string course;
  switch (memory.trend.shape) {
    case TrendShape::kGrowing:
      course = memory.trend.duration_s < kLongEnough_s
                   ? ", rising"
                   : fmt::format(", growing by {} a minute", bytes(memory.trend.slope.per_s * 60));
      if (const auto kept = find_kept_trend(report); kept && kept->shape != TrendShape::kGrowing)
        course += " with pages of files, which the kernel can drop";
      break;
    case TrendShape::kPlateau:
      course = ", level";
      break;
    case TrendShape::kFalling:
      course = ", falling";
      break;
    default:
      if (memory.most <= 1.02 * memory.first) course = ", level";
      break;
  }
  const std::string free = free_memory_text(memory);
  const auto toucher = toucher_of_growth(report);
  const std::string touch = toucher ? "; " + first_touch_text(*toucher) : "";
  return fmt::format("RSS {} at most, {} at the end{}{}{}.", bytes(memory.most), bytes(memory.last), course,
                     touch, free);
}

std::vector<std::string> paragraphs_of_heap(const Report& report) {
  if (!report.heap) return {};
  const HeapReport& heap = *report.heap;
  if (heap.is_blind()) return {unseen_text(heap.unseen, heap.unseen_at_most)};
  std::vector<std::string> paragraphs;
  if (!heap.unseen.empty()) paragraphs.push_back(unseen_text(heap.unseen, heap.unseen_at_most));
  if (std::string choice = block_choice_text(heap); !choice.empty()) paragraphs.push_back(std::move(choice));
  if (heap.verdicts.empty()) paragraphs.push_back(sentences_of(heap).back());
  for (const HeapVerdict* verdict : told_verdicts(heap)) paragraphs.push_back(with_confidence(*verdict));
  return paragraphs;
}

std::string sentence_of_heap(const Report& report) {
  return fmt::format("{}", fmt::join(paragraphs_of_heap(report), " "));
}

std::string sentence_of_allocator_cpu(const Report& report) {
  constexpr double kMuch = 0.05;        // of CPU time
  constexpr std::int64_t kEnough = 20;  // samples
  if (!report.allocator_cpu) return "";
  const AllocatorCpu& cpu = *report.allocator_cpu;
  if (cpu.inside < kEnough || cpu.share() < kMuch) return "";
  if (report.heap)
    for (const HeapVerdict* verdict : told_verdicts(*report.heap))
      if (verdict->kind == HeapVerdictKind::kChurn && verdict->of_whole) return "";
  const double error = cpu.interval().half_width();
  const auto of_all = [&](std::int64_t samples) {
    return static_cast<double>(samples) / static_cast<double>(cpu.total);
  };
  // An allocator linked into a stripped program has functions that are not recognized as its own.
  constexpr double kManyUnnamed = 0.05;
  std::string text = fmt::format(
      "Allocating and freeing take {}{}{} of {}",
      report.quality.unnamed_share > kManyUnnamed ? "at least " : "", rounded_percent(cpu.share()),
      error >= 0.02 ? fmt::format(" ±{:.0f}", error * 100) : "", cost_in_words(report));
  if (of_all(cpu.kernel) >= 0.01)
    text += fmt::format(" ({} in the kernel)", rounded_percent(of_all(cpu.kernel)));
  // A function without a name says nothing to anybody.
  const auto named =
      std::ranges::find_if(cpu.functions, [](const AllocatorCpuRow& row) { return !is_unnamed(row.name); });
  constexpr std::int64_t kTenth = 10;
  if (named != cpu.functions.end() && named->inside >= cpu.inside / kTenth) {
    const AllocatorCpuRow& most = *named;
    const double part = static_cast<double>(most.inside) / static_cast<double>(cpu.inside);
    text += fmt::format(", {} for {}",
                        part >= 0.9    ? "nearly all of that"
                        : part >= 0.66 ? "most of that"
                                       : rounded_percent(part) + " of that",
                        spoken_name(most.name));
  }
  const auto& heap = report.heap;
  // Calls that were counted of some processes are not those that took the CPU time of all.
  const bool of_all_processes = heap && std::ranges::none_of(heap->findings, [](const HeapFinding& finding) {
                                  return finding.kind == HeapFindingKind::kNotTraced;
                                });
  if (of_all_processes && heap->window_s > 0 && heap->allocated_known &&
      heap->total.allocated.blocks.value > 0) {
    const HeapAmounts& allocated = heap->total.allocated;
    const double calls = allocated.blocks.value / heap->window_s;
    text += fmt::format(
        ": {} calls and {} a second",
        count_with_error(calls, std::max(0.02 * calls, allocated.blocks.error() / heap->window_s)),
        bytes_with_error(allocated.bytes.value / heap->window_s, allocated.bytes.error() / heap->window_s));
  }
  // Of the code that touches the pages first, not only of the allocators.
  if (of_all(cpu.page_faults) >= kMuch)
    text += fmt::format("; page faults of all kinds take {}", rounded_percent(of_all(cpu.page_faults)));
  return text + ".";
}

}  // namespace fathom::present
