// The texts of corpus/, recorded or written for it, each with what it becomes: ../golden/perf_script/NAME.folded. And, where
// the environment variable FATHOM_STACKCOLLAPSE_CORPUS names a folder of pairs NAME.txt and NAME.folded,
// these through us and through the tool that everybody uses: weights and order of frames must agree. (The
// variable is read when the program starts: run it by hand, ctest does not know of these tests.)
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "analysis/core/call_tree.h"
#include "base/files.h"
#include "base/golden.h"
#include "formats/perf_script/perf_script.h"
#include "formats/perf_script/perf_script_lines.h"
#include "present/exports/folded_writer.h"

namespace fathom::formats {
namespace {

namespace fs = std::filesystem;
using Stacks = std::map<std::string, std::int64_t>;

std::vector<fs::path> files_in(const fs::path& folder, const char* extension) {
  std::vector<fs::path> paths;
  if (!fs::exists(folder)) return paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == extension) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}
// Tests run in the folder of their target, which is formats/.
std::vector<fs::path> own_texts() {
  return files_in("perf_script/corpus", ".txt");
}
std::vector<fs::path> texts_of_others() {
  const char* folder = std::getenv("FATHOM_STACKCOLLAPSE_CORPUS");  // NOLINT(concurrency-mt-unsafe)
  return folder == nullptr ? std::vector<fs::path>() : files_in(folder, ".folded");
}
std::string name_of(const ::testing::TestParamInfo<fs::path>& info) {
  std::string name = info.param.stem();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

// All that a reader of the text has understood, in lines.
std::string understood(const Result<model::Profile>& read) {
  if (!read) return fmt::format("# refused: {}\n", read.error().message);
  std::string text = fmt::format("# {} samples of {}\n", read->samples.size(), read->meta.event);
  for (const auto& [name, value] : read->meta.facts) text += fmt::format("# {}: {}\n", name, value);
  if (read->meta.start_ns != 0)
    text += fmt::format("# from {} to {} ns\n", read->meta.start_ns, read->meta.end_ns);
  for (const model::Thread& thread : read->threads)
    text += fmt::format("# thread {}/{} {}\n", read->processes[thread.process.value].pid, thread.tid,
                        read->strings[thread.name]);
  for (const std::string& note : read->quality.notes) text += fmt::format("# note: {}\n", note);
  const present::FoldedOptions marks{.mark_inlined = true, .mark_jit = true};
  return text + present::write_folded(analysis::build_call_tree(*read, {}), marks);
}

class PerfScriptCorpus : public ::testing::TestWithParam<fs::path> {};

TEST_P(PerfScriptCorpus, BecomesWhatStandsBesideIt) {
  const auto read = read_perf_script(read_file(GetParam()).value(), GetParam().filename());
  expect_golden("perf_script/" + GetParam().stem().string() + ".folded", understood(read));
}

// A text that was cut off, or sent through another system, gives a part of it or a message, and no weight
// is lost.
TEST_P(PerfScriptCorpus, CutAnywhereItIsReadOrRefused) {
  const std::string text = read_file(GetParam()).value();
  std::size_t most = 0;
  if (const auto whole = read_perf_script(text, "whole")) most = whole->samples.size();
  for (std::size_t size = 0; size < text.size(); size += 1 + text.size() / 400) {
    const auto read = read_perf_script(std::string_view(text).substr(0, size), "cut");
    if (read)
      EXPECT_LE(read->samples.size(), most) << size;
    else
      EXPECT_EQ(read.error().kind, ErrorKind::kMalformed) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Own, PerfScriptCorpus, ::testing::ValuesIn(own_texts()), name_of);

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

class Stackcollapse : public ::testing::TestWithParam<fs::path> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Stackcollapse);

TEST_P(Stackcollapse, Agrees) {
  fs::path text = GetParam();
  text.replace_extension(".txt");
  const auto ours = [&](bool with_unfinished) {
    const auto profile =
        read_perf_script(what_they_see(read_file(text).value(), with_unfinished), text.filename()).value();
    const present::FoldedOptions marks{.mark_inlined = true, .mark_jit = true};
    return stacks_of(present::write_folded(analysis::build_call_tree(profile, {}), marks), true);
  };
  const Stacks theirs = stacks_of(read_file(GetParam()).value(), false);
  if (ours(true) != theirs) {
    EXPECT_EQ(ours(false), theirs);
  }
}

INSTANTIATE_TEST_SUITE_P(Others, Stackcollapse, ::testing::ValuesIn(texts_of_others()), name_of);

}  // namespace
}  // namespace fathom::formats
