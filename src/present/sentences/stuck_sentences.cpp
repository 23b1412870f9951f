#include "present/sentences/stuck_sentences.h"

#include <fmt/format.h>

#include "analysis/core/prose_name.h"
#include "analysis/core/words.h"
#include "analysis/summary/problem_class.h"
#include "present/sentences/stacks_sentences.h"

namespace fathom::present {
namespace {

using analysis::FutexKind;
using analysis::UnendedRow;

std::string_view awaited_of(const UnendedRow& row) {
  switch (row.kind) {
    case FutexKind::kSemaphore:
      return "at a semaphore";
    case FutexKind::kBarrier:
      return "at a barrier";
    case FutexKind::kPark:
      return row.threads == 1 ? "for another thread to wake it" : "for another thread to wake them";
    case FutexKind::kChannel:
      return "for the other end of a channel";
    default:
      return "at a condition variable";
  }
}

std::string since(const UnendedRow& row) {
  const auto in_words = [](std::uint64_t ns) { return analysis::seconds(static_cast<double>(ns) * 1e-9); };
  if (static_cast<double>(row.shortest_ns) > 0.9 * static_cast<double>(row.longest_ns))
    return in_words(row.longest_ns);
  return fmt::format("{} to {}", in_words(row.shortest_ns), in_words(row.longest_ns));
}

bool is_news(const analysis::ProblemClass& problem, const UnendedRow& row) {
  using analysis::ProblemKind;
  if (row.is_waker_gone) return true;
  return problem.kind == ProblemKind::kUnended || problem.kind == ProblemKind::kSleep;
}

}  // namespace

std::vector<StuckSentence> stuck_sentences(const analysis::Report& report) {
  std::vector<StuckSentence> all;
  for (const stacks::Verdict& verdict : report.stuck.verdicts)
    all.push_back({verdict_sentence(report.stuck, verdict), verdict_lines(report.stuck, verdict)});
  return all;
}

std::string unended_sentence(const analysis::Report& report) {
  if (!report.waits || report.waits->unended.empty()) return "";
  const UnendedRow& row = report.waits->unended.front();
  if (!is_news(analysis::classify(report), row)) return "";
  const std::string_view them = row.threads == 1 ? "it" : "them";
  std::string text =
      fmt::format("{} {} in {} {}, for {}, and nothing woke {}", analysis::counted(row.threads, "thread"),
                  row.threads == 1 ? "waits" : "wait", analysis::spoken_name(row.site), awaited_of(row),
                  since(row), them);
  if (row.is_waker_gone)
    text += fmt::format(". {} {} before: {} (thread {}) exited {} after the start",
                        row.wakers == 1 ? "Only one thread woke" : "The threads are gone that woke", them,
                        analysis::printable(row.waker), row.waker_tid,
                        analysis::seconds(static_cast<double>(row.waker_ended_ns) * 1e-9));
  else
    text += fmt::format(": {} stuck, or {} no work", row.threads == 1 ? "it is" : "they are",
                        row.threads == 1 ? "has" : "have");
  return text + ".";
}

}  // namespace fathom::present
