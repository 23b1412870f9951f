// The same files through us and through the tool that everybody uses: weights and order of frames must agree.
// The corpus is not part of this source tree; without it the test is skipped.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "analysis/core/call_tree.h"
#include "base/files.h"
#include "formats/folded/folded.h"
#include "formats/perf_script/perf_script.h"
#include "formats/perf_script/perf_script_lines.h"

namespace fathom::formats {
namespace {

namespace fs = std::filesystem;
using Stacks = std::map<std::string, std::int64_t>;

fs::path corpus() {
  return fs::path(__FILE__).parent_path() / "../../../../shared/corpus/perf-script";
}

bool cut_suffix(std::string& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.resize(text.size() - suffix.size());
  return true;
}

// stackcollapse-perf tidies names: quotes go, arguments go (but not Go's methods and C++'s anonymous
// namespace), Java classes lose their "L". We keep names as they are, so ours are tidied here before they are
// compared.
std::string tidy(std::string name) {
  std::string mark;
  for (const std::string_view suffix : {"_[k]", "_[j]"}) {
    if (cut_suffix(name, suffix)) mark = suffix;
  }
  cut_suffix(name, "_[i]");
  if (name == "[kernel]") return "[[kernel.kallsyms]]";
  std::erase_if(name, [](char c) { return c == '"' || c == '\''; });
  const bool go_method = name.find(".(") != std::string::npos && name.find(").") != std::string::npos;
  int depth = 0;
  for (std::size_t i = 0; i < name.size() && !go_method; ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>') --depth;
    if (name[i] == '(' && depth == 0 && name.compare(i, 21, "(anonymous namespace)") != 0) name.resize(i);
  }
  if (name.size() > 1 && name[0] == 'L' && name.find('/') != std::string::npos &&
      name.find(":::") != std::string::npos) {
    name.erase(0, 1);
  }
  return name + mark;
}

// They keep the first event of a file only, and the original forgets a last sample that no empty line follows
// (both seen in the corpus). We add all events up and keep every sample, so the text is cut to what they saw.
std::string what_they_see(std::string text, bool with_unfinished) {
  if (with_unfinished) text += "\n\n";
  std::string seen;
  std::string first_event;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find("\n\n", at);
    if (end == std::string::npos) break;
    const std::string block = text.substr(at, end + 2 - at);
    at = end + 2;
    std::string event;
    for (std::size_t line = 0; line < block.size() && event.empty(); line = block.find('\n', line) + 1) {
      const auto header =
          parse_perf_header(std::string_view(block).substr(line, block.find('\n', line) - line));
      if (header) event = header->event;
    }
    if (first_event.empty()) first_event = event;
    if (event == first_event) seen += block;
  }
  return seen;
}

Stacks stacks_of(std::string_view folded, bool tidied) {
  Stacks stacks;
  while (!folded.empty()) {
    const std::size_t end = folded.find('\n');
    const std::string_view line = folded.substr(0, end);
    folded.remove_prefix(std::min(folded.size(), end == std::string_view::npos ? folded.size() : end + 1));
    const std::size_t space = line.rfind(' ');
    if (space == std::string_view::npos) continue;
    std::string stack;
    bool first = true;
    for (std::string_view rest = line.substr(0, space);;) {
      const std::size_t cut = rest.find(';');
      std::string name(rest.substr(0, cut));
      if (first) {
        std::replace(name.begin(), name.end(), ' ', '_');
      } else {
        name = tidied ? tidy(name) : name;
        cut_suffix(name, "_[i]");
        stack += ';';
      }
      stack += name;
      first = false;
      if (cut == std::string_view::npos) break;
      rest.remove_prefix(cut + 1);
    }
    stacks[stack] += std::stoll(std::string(line.substr(space + 1)));
  }
  return stacks;
}

TEST(PerfScriptCorpus, AgreesWithStackcollapse) {
  if (!fs::exists(corpus())) GTEST_SKIP() << corpus() << " is missing: it holds texts of other projects";
  int compared = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(corpus())) {
    if (entry.path().extension() != ".folded") continue;
    SCOPED_TRACE(entry.path().filename());
    fs::path text = entry.path();
    text.replace_extension(".txt");
    const auto ours = [&](bool with_unfinished) {
      const auto profile =
          read_perf_script(what_they_see(read_file(text).value(), with_unfinished), text.filename()).value();
      const FoldedOptions marks{.mark_inlined = true, .mark_jit = true};
      return stacks_of(write_folded(analysis::build_call_tree(profile, {}), marks), true);
    };
    const Stacks theirs = stacks_of(read_file(entry.path()).value(), false);
    if (ours(true) != theirs) {
      EXPECT_EQ(ours(false), theirs);
    }
    ++compared;
  }
  EXPECT_GE(compared, 5);
}

TEST(PerfScriptCorpus, OddTextsAreReadOrRefused) {
  if (!fs::exists(corpus())) GTEST_SKIP() << corpus() << " is missing: it holds texts of other projects";
  const auto read = [](const char* name) {
    return read_perf_script(read_file(corpus() / name).value(), name);
  };
  EXPECT_EQ(read("no-events.txt").error().kind, ErrorKind::kMalformed);
  EXPECT_EQ(read("empty-line.txt").value().samples.size(), 2u);
  EXPECT_EQ(read("weird-stack-line.txt").value().quality.notes.size(), 1u);
}

}  // namespace
}  // namespace fathom::formats
