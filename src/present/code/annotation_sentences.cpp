#include "present/code/annotation_sentences.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/core/prose_name.h"
#include "analysis/core/source_facts.h"
#include "analysis/core/words.h"
#include "base/text.h"

namespace fathom::present {
namespace {

using analysis::printable;
using annotate::Annotation;
using annotate::LineCost;

double share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string place(const LineCost& line) {
  std::string text = printable(fmt::format("{}:{}", base_name(line.at.file), line.at.line));
  const std::size_t first = line.text.find_first_not_of(' ');
  if (first == std::string::npos) return text;
  std::string source = line.text.substr(first);
  constexpr std::size_t kMost = 60;
  if (source.size() > kMost) source = analysis::valid_utf8(source.substr(0, kMost)) + "…";
  return fmt::format("{} `{}`", text, printable(source));
}

std::string who(const Annotation& annotation) {
  if (annotation.functions.size() == 1) return analysis::spoken_name(annotation.functions.front());
  return fmt::format(
      "{} functions together ({}{})", annotation.functions.size(),
      analysis::prose_name(annotation.functions.front()),
      annotation.functions.size() > 1 ? ", " + analysis::prose_name(annotation.functions[1]) : "");
}

// Where it costs most by itself: as many lines as make half of it, three at most.
std::string hot_lines(const Annotation& annotation) {
  std::vector<const LineCost*> lines;
  std::int64_t sum = 0;
  for (const LineCost& line : annotation.lines) {
    if (lines.size() == 3 || line.cost.self <= 0 || share(sum, annotation.cost.self) >= 0.5) break;
    lines.push_back(&line);
    sum += line.cost.self;
  }
  if (lines.empty()) return {};
  std::string text =
      fmt::format("{} of its own cost is at ", analysis::percent(share(sum, annotation.cost.self)));
  for (std::size_t i = 0; i < lines.size(); ++i)
    text += (i == 0 ? "" : i + 1 == lines.size() ? " and " : ", ") + place(*lines[i]);
  return text + ".";
}

// A timer's sample falls on the instruction after the one that took the time, so both are named.
std::string hot_instruction(const Annotation& annotation) {
  const annotate::CodeInstruction *hottest = nullptr, *before = nullptr;
  for (const annotate::CodeBlock& block : annotation.blocks)
    for (std::size_t i = 0; i < block.instructions.size(); ++i) {
      const annotate::CodeInstruction& row = block.instructions[i];
      if (row.cost.self <= 0 || (hottest != nullptr && row.cost.self <= hottest->cost.self)) continue;
      hottest = &row;
      before = i > 0 ? &block.instructions[i - 1] : nullptr;
    }
  if (hottest == nullptr || hottest->text.empty()) return {};
  std::string text = fmt::format("The instruction at 0x{:x}, `{}`, has {} of it", hottest->address.value,
                                 printable(hottest->text),
                                 analysis::percent(share(hottest->cost.self, annotation.cost.self)));
  if (before != nullptr && !before->text.empty())
    text += fmt::format(", or `{}` before it: a sample often falls one later", printable(before->text));
  return text + ".";
}

// The line from which most is called.
std::string hot_call(const Annotation& annotation) {
  const LineCost* line = nullptr;
  for (const LineCost& other : annotation.lines)
    if (line == nullptr || other.cost.total - other.cost.self > line->cost.total - line->cost.self)
      line = &other;
  if (line == nullptr || share(line->cost.total - line->cost.self, annotation.cost.total) < 0.1) return {};
  return fmt::format("{} is in what {} calls.",
                     analysis::percent(share(line->cost.total - line->cost.self, annotation.cost.total)),
                     place(*line));
}

}  // namespace

std::vector<std::string> sentences_of(const Annotation& annotation) {
  std::vector<std::string> sentences;
  const std::string all = annotation.unit == "samples"
                              ? analysis::amount(static_cast<double>(annotation.all), "samples")
                              : analysis::amount(static_cast<double>(annotation.all), annotation.unit);
  if (annotation.cost.self == annotation.cost.total)
    sentences.push_back(fmt::format("{}: {} of {}, all of it in its own code.", who(annotation),
                                    analysis::percent(share(annotation.cost.total, annotation.all)), all));
  else
    sentences.push_back(fmt::format("{}: {} of {}, {} in its own code and what was inlined into it.",
                                    who(annotation),
                                    analysis::percent(share(annotation.cost.total, annotation.all)), all,
                                    analysis::percent(share(annotation.cost.self, annotation.all))));
  for (const std::string& sentence :
       {hot_lines(annotation), hot_instruction(annotation), hot_call(annotation)})
    if (!sentence.empty()) sentences.push_back(sentence);
  const bool any_line = std::any_of(annotation.lines.begin(), annotation.lines.end(),
                                    [](const LineCost& line) { return line.at.line != 0; });
  if (!any_line)
    sentences.push_back(
        "It has no source lines: the program is stripped, or was compiled without -g. Pass its unstripped binary or debug file with --symbols DIR.");
  for (const std::string& note : annotation.notes) sentences.push_back(printable(note) + ".");
  return sentences;
}

std::string block_title(const annotate::CodeBlock& block) {
  std::string text = printable(block.function);
  if (block.inlined) text += " (the part that was inlined into it)";
  text += " in " + printable(block.module);
  if (block.size != 0) text += fmt::format(", at 0x{:x}, {} bytes", block.start.value, block.size);
  return text;
}

std::string left_out_sentence(const Annotation& annotation) {
  return fmt::format("{} more pieces of code with {} of its own cost are not shown.",
                     annotation.blocks_left_out,
                     analysis::percent(share(annotation.left_out, annotation.cost.self)));
}

}  // namespace fathom::present
