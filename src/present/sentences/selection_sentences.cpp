#include "present/sentences/selection_sentences.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

#include "analysis/core/rounding.h"
#include "analysis/core/words.h"
#include "present/sentences/amount_words.h"
#include "present/sentences/hot_spot_sentences.h"
#include "present/sentences/report_sentences.h"

namespace fathom::present {

using namespace analysis;  // this folder puts into words what lies there

namespace {

std::string sentence_of_sizes(const analysis::SizeBuckets& sizes) {
  constexpr int kMost = 64;
  const auto power = [](int bucket) { return bytes(bucket == 0 ? 0 : std::ldexp(1.0, bucket - 1)); };
  const std::string which = sizes.end > kMost  ? power(sizes.first) + " or more"
                            : sizes.first == 0 ? "less than " + power(sizes.end)
                                               : power(sizes.first) + " to less than " + power(sizes.end);
  return fmt::format("Only call sites that requested blocks of {}, with everything they requested.", which);
}

}  // namespace

std::string sentence_of_selection(const Selection& selection, const CallTree& tree,
                                  std::optional<std::int64_t> whole) {
  std::string text;
  if (tree.filtered != 0)
    text = fmt::format("The selection leaves out {}.", counted(tree.filtered, "sample"));
  if (selection.asked_sizes) text += (text.empty() ? "" : " ") + sentence_of_sizes(*selection.asked_sizes);
  if (!selection.stacks || !whole) return text;
  const analysis::StackChoice& stacks = *selection.stacks;
  const auto listed = [&](const std::vector<std::string>& patterns) {
    std::string list;
    for (const std::string& pattern : patterns) {
      list += (list.empty() ? "" : " or ") + printable(pattern);
      if (const auto shared = stacks.shared_names.find(pattern); shared != stacks.shared_names.end())
        list += fmt::format(" ({} functions)", shared->second);
    }
    return list;
  };
  std::string cut;
  for (const auto& [words, patterns] :
       {std::pair("without calls of ", &stacks.hidden), std::pair("from ", &stacks.starts)}) {
    std::vector<std::string> texts;
    for (const analysis::NamePattern& pattern : *patterns) texts.push_back(pattern.text());
    if (!texts.empty()) cut += (cut.empty() ? "Shown " : ", ") + (words + listed(texts));
  }
  if (!cut.empty()) text += (text.empty() ? "" : " ") + cut + "; sentences cover whole stacks.";
  if (stacks.focus.empty() && stacks.ignore.empty()) return text;
  std::string which = selection.stacks->focus.empty() ? "" : " with " + listed(selection.stacks->focus);
  if (!selection.stacks->ignore.empty())
    which += (which.empty() ? "" : ",") + (" without " + listed(selection.stacks->ignore));
  const double part = *whole == 0 ? 0 : static_cast<double>(tree.total) / static_cast<double>(*whole);
  return fmt::format("{}{}Stacks{}: {} of {}.", text, text.empty() ? "" : " ", which, rounded_percent(part),
                     amount(static_cast<double>(*whole), tree.unit));
}

}  // namespace fathom::present
