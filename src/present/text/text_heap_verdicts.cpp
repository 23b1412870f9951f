#include "present/text/text_heap_verdicts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "present/sentences/heap_verdict_sentences.h"
#include "present/text/text_table.h"

namespace fathom::present {

std::string heap_verdicts_text(const std::vector<analysis::HeapVerdict>& verdicts,
                               const TextOptions& options) {
  if (verdicts.empty()) return "";
  const std::string title = "What the heap shows";
  std::string out = options.color ? "\n\x1b[1m" + title + "\x1b[0m\n" : "\n" + title + "\n";
  constexpr std::size_t kMost = 8;
  const std::size_t most = options.top == 0 ? verdicts.size() : kMost;
  std::vector<std::size_t> shown = analysis::first_verdicts(verdicts, most);
  // What is of low confidence stands last: it is counted, unless there is nothing else.
  const auto is_low = [&](std::size_t i) { return verdicts[i].confidence == analysis::Confidence::kLow; };
  if (options.top != 0 && !shown.empty() && !is_low(shown.front())) std::erase_if(shown, is_low);
  std::set<std::string> said;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const analysis::HeapVerdict& verdict = verdicts[shown[i]];
    out += fill(fmt::format("{:3}. ", i + 1), sentence_of(verdict), options.width, 5);
    std::string why = fmt::format("{}", to_string(verdict.confidence));
    if (!verdict.doubts.empty()) why += fmt::format(": {}", fmt::join(doubts_of(verdict), "; "));
    out += fill("     confidence ", why, options.width, 7);
    // What several have in common is read once.
    std::vector<std::string> evidence;
    for (const std::string& text : evidence_of(verdict))
      if (said.insert(text).second) evidence.push_back(text);
    if (!evidence.empty())
      out += fill("     evidence: ", fmt::format("{}", fmt::join(evidence, "; ")), options.width, 7);
    const std::string advice = advice_of(verdict);
    if (said.insert(advice).second) out += fill("     next: ", advice, options.width, 7);
  }
  if (shown.size() < verdicts.size())
    out += fmt::format("     {} more{}: --top 0\n", verdicts.size() - shown.size(),
                       is_low(verdicts.size() - 1) ? ", the last of low confidence" : "");
  return out;
}

}  // namespace fathom::present
