#include "present/code/annotation_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "analysis/core/prose_name.h"
#include "analysis/core/source_facts.h"
#include "analysis/core/words.h"
#include "base/text.h"
#include "present/code/annotation_sentences.h"
#include "present/text/text_table.h"

namespace fathom::present {
namespace {

using analysis::printable;
using annotate::Annotation;
using annotate::CodeBlock;
using annotate::CodeInstruction;
using annotate::CodeLine;

// Around what has a cost so many instructions are shown: where it comes from and where it goes.
constexpr std::size_t kAround = 2;
// A fold that saves less than this many rows is none.
constexpr std::size_t kLeastFold = 3;
constexpr std::size_t kLeastCode = 24;
constexpr std::size_t kDeepestIndent = 12;

class AnnotationText {
 public:
  AnnotationText(const Annotation& annotation, const TextOptions& options, bool fold)
      : annotation_(annotation), options_(options), width_(table_width(options)), fold_(fold) {}

  std::string text() {
    for (const std::string& sentence : sentences_of(annotation_))
      out_ += fill("", sentence, options_.width, 2);
    for (const CodeBlock& block : annotation_.blocks) write(block);
    if (annotation_.blocks_left_out != 0)
      out_ += fill("\n", left_out_sentence(annotation_), options_.width, 2);
    return std::move(out_);
  }

 private:
  std::string part(std::int64_t value, std::int64_t of) const {
    if (value == 0 || of == 0) return "";
    return analysis::percent_number(static_cast<double>(value) / static_cast<double>(of));
  }

  void line(std::string_view start, std::string_view style, std::string text) {
    text.erase(text.find_last_not_of(' ') + 1);
    out_ += start;
    out_ += options_.color && !style.empty() ? fmt::format("\x1b[{}m{}\x1b[0m\n", style, text) : text + "\n";
  }

  std::string fitted(std::string text, std::size_t used) const {
    if (width_ == 0) return text;
    const std::size_t room = std::max(width_ > used ? width_ - used : 0, kLeastCode);
    return keep_both_ends(text, room);
  }

  // Which rows are shown: what has a cost, and what is around it.
  std::vector<char> shown_rows(const CodeBlock& block) const {
    const auto& rows = block.instructions;
    std::vector<char> shown(rows.size(), fold_ ? 0 : 1);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].cost.total == 0) continue;
      const std::size_t end = std::min(rows.size(), i + kAround + 1);
      for (std::size_t j = i > kAround ? i - kAround : 0; j < end; ++j) shown[j] = 1;
    }
    for (std::size_t i = 0; i < rows.size();) {
      std::size_t end = i;
      while (end < rows.size() && shown[end] == 0) ++end;
      if (end - i < kLeastFold)
        std::fill(shown.begin() + static_cast<std::ptrdiff_t>(i),
                  shown.begin() + static_cast<std::ptrdiff_t>(end), 1);
      i = end + 1;
    }
    return shown;
  }

  void write(const CodeBlock& block) {
    const bool has_code = block.gap.empty();
    line("\n", "1", fitted(block_title(block), 0));
    if (!has_code) out_ += fill("  ", printable(block.gap) + ".", options_.width, 2);
    if (block.instructions.empty()) return;
    digits_ = fmt::format("{:x}", block.instructions.back().address.value).size();
    line("", "2",
         fmt::format("{:>7}{:>8}{:>8}  {:>{}}  {}", "self %", "of all", "total", "address",
                     std::max<std::size_t>(7, digits_), has_code ? "instruction" : "place"));
    const std::vector<char> shown = shown_rows(block);
    std::vector<CodeLine> last;
    for (std::size_t i = 0; i < block.instructions.size();) {
      if (shown[i] != 0) {
        write_chain(last, block.instructions[i].chain);
        last = block.instructions[i].chain;
        write(block.instructions[i]);
        ++i;
        continue;
      }
      const std::size_t first = i;
      while (i < block.instructions.size() && shown[i] == 0) ++i;
      line("", "2", std::string(kIndent, ' ') + fmt::format("⋯ {} instructions without cost", i - first));
    }
  }

  // What is new of a chain, from the function whose code it is to what was inlined last.
  void write_chain(const std::vector<CodeLine>& before, const std::vector<CodeLine>& chain) {
    std::size_t same = 0;
    while (same < before.size() && same < chain.size() &&
           before[before.size() - 1 - same] == chain[chain.size() - 1 - same])
      ++same;
    if (same == chain.size() && same == before.size()) return;
    // Back from an inlined call to a line that was shown before: it is named again.
    if (same == chain.size()) --same;
    for (std::size_t level = same; level < chain.size(); ++level) {
      const CodeLine& at = chain[chain.size() - 1 - level];
      std::string text(2 * std::min(level, kDeepestIndent), ' ');
      if (level != 0) text += "↳ " + analysis::prose_name(at.function) + "  ";
      text += at.line == 0 ? (at.file.empty() ? "(no line)" : std::string(base_name(at.file)))
                           : fmt::format("{}:{}", base_name(at.file), at.line);
      const auto file = annotation_.sources.find(at.file);
      if (file != annotation_.sources.end()) {
        const auto source = file->second.find(at.line);
        if (source != file->second.end())
          text += "  " + source->second.substr(
                             std::min(source->second.find_first_not_of(' '), source->second.size()));
      }
      line(std::string(kIndent, ' '), "36", fitted(printable(text), kIndent));
    }
  }

  void write(const CodeInstruction& row) {
    const std::size_t deep = row.chain.empty() ? 0 : 2 * std::min(row.chain.size() - 1, kDeepestIndent);
    const std::string total = row.cost.total == row.cost.self ? "" : part(row.cost.total, annotation_.all);
    const std::string address = row.address.value == 0 ? "" : fmt::format("{:x}", row.address.value);
    std::string text =
        fmt::format("{:>7}{:>8}{:>8}  {:>{}}  ", part(row.cost.self, annotation_.cost.self),
                    part(row.cost.self, annotation_.all), total, address, std::max<std::size_t>(7, digits_));
    const std::string code = row.text.empty() && !row.chain.empty() ? row.chain.front().function : row.text;
    const std::size_t used = display_width(text) + deep;
    text += std::string(deep, ' ') + fitted(printable(code), used);
    const double share = annotation_.cost.self == 0 ? 0
                                                    : static_cast<double>(row.cost.self) /
                                                          static_cast<double>(annotation_.cost.self);
    line("", share >= 0.1 ? "1;31" : share >= 0.02 ? "32" : row.cost.total == 0 ? "2" : "", text);
  }

  static constexpr std::size_t kIndent = 25;  // under the numbers
  const Annotation& annotation_;
  const TextOptions& options_;
  std::size_t width_;
  bool fold_;
  std::size_t digits_ = 7;
  std::string out_;
};

}  // namespace

std::string annotation_text(const Annotation& annotation, const TextOptions& options, bool fold) {
  return AnnotationText(annotation, options, fold).text();
}

}  // namespace fathom::present
