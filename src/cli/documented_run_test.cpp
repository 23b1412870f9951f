// Every line that a document shows to be typed is one that the command line understands.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

#include "cli/testing_program.h"

namespace fathom::cli {
namespace {

namespace fs = std::filesystem;

struct Typed {
  std::string where;  // "README.md:12"
  std::vector<std::string> words;
};

// The words of a command as a shell has them, up to a pipe, a second command or a comment. What a shell would put in is "1", as
// is what a reader puts in (PID, N, "...").
std::vector<std::string> shell_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  const auto end_word = [&] {
    if (in_word) words.push_back(std::exchange(word, {}));
    in_word = false;
  };
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == '$' && i + 1 < line.size() && line[i + 1] == '(') {
      i = std::min(line.find(')', i), line.size());
      word += '1';
      in_word = true;
    } else if (c == '$') {
      while (i + 1 < line.size() &&
             (std::isalnum(static_cast<unsigned char>(line[i + 1])) != 0 || line[i + 1] == '!'))
        ++i;
      word += '1';
      in_word = true;
    } else if (c == '|' || c == ';' || c == '>' || c == '<' || c == '&' || (c == '#' && !in_word)) {
      break;
    } else if (c == ' ' || c == '\t') {
      end_word();
    } else {
      word += c;
      in_word = true;
    }
  }
  end_word();
  static const std::set<std::string> kNumbers = {"PID", "N", "S", "SECONDS", "PORT", "HZ", "RATE", "COUNT"};
  std::erase_if(words,
                [](const std::string& each) { return each == "..." || each == "\\" || each == "\u2026"; });
  for (std::string& each : words) {
    if (kNumbers.contains(each)) each = "1";
    if (each.ends_with("...")) each.resize(each.size() - 3);
  }
  return words;
}

class Documented : public Cli {
 protected:
  Documented() {
    std::istringstream names(run({"completion", "names"}).out);
    for (std::string name; names >> name;) commands_.insert(name);
    for (const char* name : {"man", "completion"}) commands_.insert(name);
  }

  void add(const std::string& where, std::string_view line) {
    const std::size_t first = line.find_first_not_of(" \t$#");
    if (first == std::string_view::npos) return;
    line.remove_prefix(first);
    if (line.starts_with("sudo ")) line.remove_prefix(5);
    if (!line.starts_with("fathom ")) return;
    std::vector<std::string> words = shell_words(line);
    if (words.size() < 2 || !commands_.contains(words[1])) return;
    words.erase(words.begin());
    typed_.push_back({where, std::move(words)});
  }

  // Lines of blocks of code. What stands in the middle of a sentence is no line to be typed.
  void add_document(const fs::path& path) {
    std::istringstream text(read_file(path.string()).value());
    std::string line, joined;
    std::size_t number = 0;
    bool in_block = false;
    while (std::getline(text, line)) {
      const std::string where = fmt::format("{}:{}", path.filename().string(), ++number);
      if (line.find("```") != std::string::npos) in_block = !in_block;
      if (in_block || line.starts_with("    ")) {
        joined += line;
        if (joined.ends_with('\\')) {
          joined.pop_back();
          continue;
        }
        for (std::size_t at = 0; at <= joined.size();) {  // "fathom report --memory; fathom report --series"
          const std::size_t end = std::min(joined.find("; ", at), joined.size());
          add(where, std::string_view(joined).substr(at, end - at));
          at = end + 2;
        }
        joined.clear();
        continue;
      }
    }
  }

  std::set<std::string> commands_;
  std::vector<Typed> typed_;
};

TEST_F(Documented, EveryLineIsUnderstood) {
  add_document(FATHOM_README);
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(FATHOM_DOCS))
    if (entry.path().extension() == ".md") add_document(entry.path());
  EXPECT_GT(typed_.size(), 60U) << "they are found";
  for (Typed& line : typed_) {
    std::string text = "fathom";
    for (const std::string& word : line.words) text += " " + word;
    line.words.insert(line.words.begin(), "--check-usage");
    const Outcome outcome = run(line.words);
    EXPECT_EQ(outcome.status, 0) << line.where << ": " << text << "\n" << outcome.error;
  }
}

TEST_F(Documented, SoIsWhatHelpAndManualPagesShow) {
  for (const std::string& command : commands_) {
    if (command == "man" || command == "completion") continue;
    for (const std::string& text : {run({command, "--help"}).out, run({"man", command}).out}) {
      EXPECT_FALSE(text.empty()) << command;
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);) {
        std::erase(line, '\\');  // of roff
        add(command + " --help", line);
      }
    }
  }
  for (Typed& line : typed_) {
    std::string text = "fathom";
    for (const std::string& word : line.words) text += " " + word;
    if (text.find('[') != std::string::npos)
      continue;  // "fathom report [OPTIONS]", which is no line to be typed
    line.words.insert(line.words.begin(), "--check-usage");
    const Outcome outcome = run(line.words);
    EXPECT_EQ(outcome.status, 0) << line.where << ": " << text << "\n" << outcome.error;
  }
}

TEST_F(Documented, ALineThatIsMistypedIsSeen) {
  EXPECT_EQ(run({"--check-usage", "report", "--no-such-option"}).status, 2);
  EXPECT_EQ(run({"--check-usage", "record", "-p", "x"}).status, 2);
  EXPECT_EQ(run({"--check-usage", "record", "-p", "1"}).status, 0) << "and nothing is recorded";
}

}  // namespace
}  // namespace fathom::cli
