// The answers to a wrong command or a request for help.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "base/shell_word.h"
#include "cli/testing_program.h"

namespace fathom::cli {
namespace {

TEST_F(Cli, ErrorsAreOneLineAndARemedy) {
  const Outcome missing = run({"report", folder_ + "/nothing"});
  EXPECT_EQ(missing.status, 3);
  EXPECT_THAT(missing.error, StartsWith("fathom: " + folder_ + "/nothing: "));
  EXPECT_EQ(missing.out, "");

  const Outcome binary = run({"report", file("perf.data", "PERFILE2....")});
  EXPECT_EQ(binary.status, 1);
  EXPECT_THAT(binary.error, testing::MatchesRegex("fathom: [^\n]*perf.data[^\n]*\ntry: perf record[^\n]*\n"));

  EXPECT_THAT(run({"report", recording_, "--callers", "server::"}).error,
              HasSubstr("'server::' fits 4 functions: "));
}

// fathom report "$FILE" of a script in which FILE is not set: the newest recording is not what it means.
TEST_F(Cli, AnEmptyValueIsRefused) {
  const std::vector<std::vector<std::string>> commands = {
      {"report", ""},
      {"report", recording_, ""},
      {"report", recording_, "--from", ""},
      {"report", recording_, "--top", ""},
      {"flamegraph", recording_, "-o", ""},
      {"view", recording_, "--html", ""},
      {"export", recording_, "--to", "folded", "-o", ""},
      {"diff", recording_, ""},
      {"merge", "", recording_},
      {"leaks", ""},
      {"timeline", ""},
      {"tui", ""},
      {"list", ""},
      {"clean", "", "--older", "1d"},
      {"oom", ""},
      {"stacks", ""},
      {"symbolize", recording_, "--symbols", "", "-o", folder_ + "/named.fathom"},
      {"record", "-o", "", "--", "true"},
      {"record", "-n", ""},
      {"serve", "nobody", "--store", ""},
      {"watch", ""},
  };
  for (const std::vector<std::string>& command : commands) {
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.status, 2) << command[0];
    EXPECT_THAT(outcome.error, HasSubstr(" is empty\ntry: ")) << command[0];
    EXPECT_EQ(outcome.out, "") << command[0];
  }
  EXPECT_EQ(run({"flamegraph", recording_, "--title", "", "-o", folder_ + "/x.svg"}).status, 0);
}

TEST_F(Cli, EveryErrorHasARemedy) {
  const std::string nothing = folder_ + "/nothing",
                    cut = file("cut.fathom", read_file(recording_).value().substr(0, 12));
  const std::vector<std::vector<std::string>> commands = {
      {"report", nothing},
      {"report", cut},
      {"report", recording_, "--from", "2", "--until", "1"},
      {"report", recording_, "--spans=" + nothing},
      {"diff", recording_, nothing},
      {"flamegraph", nothing},
      {"view", nothing, "--html", folder_ + "/x.html"},
      {"export", nothing, "--to", "folded"},
      {"merge", folder_ + "/m.fathom", nothing},
      {"leaks", recording_, "--suppressions", nothing},
      {"timeline", nothing},
      {"oom", nothing},
      {"symbolize", recording_, "--symbols", nothing, "-o", folder_ + "/n.fathom"},
      {"stacks", nothing},
      {"stacks", recording_},
      {"stacks", "-p", "99999999"},
      {"doctor", "-p", "99999999"},
      {"detach", "-p", "99999999"},
      {"watch", "99999999"},
      {"record", "-p", "99999999"},
      {"record", "--", "/"},
      {"record", "--", recording_},
      {"list", nothing},
      {"clean", nothing, "--older", "1d"},
  };
  for (const std::vector<std::string>& command : commands) {
    const Outcome outcome = run(command);
    EXPECT_THAT(outcome.status, testing::AllOf(testing::Gt(0), testing::Lt(5))) << command[0];
    EXPECT_THAT(outcome.error, HasSubstr("\ntry: ")) << testing::PrintToString(command);
  }
}

TEST_F(Cli, WrongUsageIsStatusTwo) {
  EXPECT_EQ(run({}).status, 2);
  EXPECT_EQ(run({"nonsense"}).status, 2);
  EXPECT_EQ(run({"report"}).status, 3) << "there is no recording in this folder";
  EXPECT_EQ(run({"recrod", "--", "x"}).error, "fathom: there is no command 'recrod'\ntry: fathom record\n");
  EXPECT_EQ(run({"statistics"}).error,
            "fathom: there is no command 'statistics'\ntry: fathom --help, which lists them\n");
  EXPECT_EQ(run({"report", recording_, "--sort", "name"}).status, 2);
  const Outcome metric = run({"report", recording_, "--metric", "joules"});
  EXPECT_EQ(metric.status, 2);
  EXPECT_THAT(metric.error, HasSubstr("heap-temporary, heap-short-lived, latency\n"))
      << "all of them, and nothing after them";
  EXPECT_EQ(run({"report", recording_, "--from", "5", "--to", "4"}).status, 2);
  EXPECT_EQ(run({"export", recording_, "--to", "tea"}).status, 2);
  EXPECT_THAT(run({"report", recording_, "--top", "x"}).error, HasSubstr("\ntry: fathom report --help\n"));
}

TEST_F(Cli, TheNameAloneLeadsToTheHelp) {
  const Outcome alone = run({});
  EXPECT_EQ(alone.status, 2);
  EXPECT_EQ(alone.out, run({"--help"}).out);
  EXPECT_EQ(alone.error, "");
}

TEST_F(Cli, HelpAndVersionGoToStandardOutput) {
  const Outcome help = run({"report", "--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.out, HasSubstr("--callers"));
  EXPECT_EQ(run({"--help"}).status, 0);
  const std::string version = run({"--version"}).out;
  EXPECT_THAT(version, StartsWith("fathom "));
  for (const char* line : {"\nengines: ", "\nrecordings: writes format "})
    EXPECT_THAT(version, HasSubstr(line));
  EXPECT_EQ(run({"help", "report"}).out, help.out);
  EXPECT_EQ(run({"help"}).out, run({"--help"}).out);
  for (const char* word : {"RSS", "OOM", "anonymous", "muzzy", "retained", "confidence"})
    EXPECT_THAT(run({"help", "words"}).out, HasSubstr(word));
  const Outcome mistyped = run({"help", "reprot"});
  EXPECT_EQ(mistyped.status, 2);
  EXPECT_THAT(
      mistyped.error,
      StartsWith(
          "fathom: there is no command 'reprot'\ntry: one of record, triage, tour, top, stacks, report"));
}

// Every option in a line that fathom recommends exists.
TEST_F(Cli, IdiomsAndSymptomsNameOptionsThatExist) {
  const std::string text = run({"help", "idioms"}).out + run({"help", "symptoms"}).out;
  EXPECT_THAT(text, HasSubstr("  it hangs "));
  const std::regex line(R"(  fathom ([a-z]+)([^\n]*))"), option(R"((--[a-z-]+))");
  std::size_t lines = 0;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), line); at != std::sregex_iterator(); ++at) {
    ++lines;
    // "fathom record --heap -- CMD, then fathom timeline": what follows "then" is another command.
    std::istringstream parts(std::regex_replace(at->str(0), std::regex(", then |; "), "\n"));
    for (std::string part; std::getline(parts, part);) {
      std::smatch command;
      ASSERT_TRUE(std::regex_search(part, command, std::regex("fathom ([a-z]+)"))) << part;
      const Outcome help = run({command[1].str(), "--help-all"});
      ASSERT_EQ(help.status, 0) << part;
      for (auto found = std::sregex_iterator(part.begin(), part.end(), option);
           found != std::sregex_iterator(); ++found)
        EXPECT_THAT(help.out, HasSubstr(found->str(1))) << part;
    }
  }
  EXPECT_GT(lines, 45u);
  EXPECT_THAT(run({"script"}).error, HasSubstr("try: fathom export FILE --to folded"));
}

// Scripts of last year go on to work, and help shows only the new names.
TEST_F(Cli, OldSpellingsWorkAndAreNotShown) {
  const std::string help = run({"record", "--help-all"}).out + run({"watch", "--help-all"}).out;
  for (const char* old : {"--events", "--no-probe", "--metrics "})
    EXPECT_THAT(help, Not(HasSubstr(old))) << old;
  for (const char* now : {"--each-block", "--no-trial", "--scrape "})
    EXPECT_THAT(help, HasSubstr(now)) << now;
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"record", "--dry-run", "--heap", "--events", "-p", "1"}, {"doctor", "--no-probe", "--help"}})
    EXPECT_THAT(run(words).error, Not(HasSubstr("has no option"))) << words[2];
}

// Commands that read a recording read the newest one unless a file is given.
TEST_F(Cli, TheNewestRecordingIsTheDefault) {
  const std::string folder = folder_ + "/newest";
  std::filesystem::create_directory(folder);
  std::filesystem::copy(recording_, folder + "/old.fathom");
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"report"},
                                             {"flamegraph", "-o", "-"},
                                             {"export", "--to", "folded"},
                                             {"leaks"},
                                             {"timeline", "-o", "-"},
                                             {"view", "--html", "-"}}) {
    std::string line = "cd " + shell_word(folder) + " && exec " + shell_word(FATHOM_BINARY);
    for (const std::string& word : words) line += " " + word;
    const Outcome outcome = run_program("/bin/sh", {"-c", line}, "/dev/null");
    EXPECT_THAT(outcome.error, HasSubstr("fathom: using old.fathom, the newest recording here\n"))
        << words[0];
  }
}

TEST_F(Cli, WithoutAFileItFindsTheRecordingsOfThisFolderOrNamesTheFolderThatHasSome) {
  const auto in = [&](const std::string& folder, const std::string& words) {
    return run_program(
        "/bin/sh", {"-c", "cd " + shell_word(folder) + " && exec " + shell_word(FATHOM_BINARY) + " " + words},
        "/dev/null");
  };
  const std::string empty = folder_ + "/empty", above = folder_ + "/above";
  for (const std::string& folder : {empty, above, above + "/two words"})
    std::filesystem::create_directory(folder);
  std::filesystem::copy(recording_, above + "/two words/old.fathom");
  EXPECT_THAT(in(above + "/two words", "diff").error, HasSubstr("\ntry: fathom diff BASE NEW, or "));
  std::filesystem::copy(recording_, empty + "/new.fathom");
  std::filesystem::copy(recording_, empty + "/old one.fathom");
  std::filesystem::last_write_time(
      empty + "/old one.fathom",
      std::filesystem::last_write_time(empty + "/new.fathom") - std::chrono::hours(1));
  EXPECT_THAT(in(empty, "diff").error,
              HasSubstr("\ntry: fathom diff 'old one.fathom' new.fathom, the two newest recordings here\n"));
  for (const char* name : {"/new.fathom", "/old one.fathom"}) std::filesystem::remove(empty + name);
  EXPECT_THAT(in(above + "/two words", "list").out, HasSubstr("  old.fathom\n1 recording, "));
  for (const std::string words : {"list", "report", "flamegraph", "leaks", "timeline", "tui"}) {
    EXPECT_EQ(in(empty, words).error,
              "fathom: there is no recording in this folder\ntry: fathom record -- COMMAND\n");
    EXPECT_EQ(in(above, words).error,
              "fathom: there is no recording in this folder\n"
              "try: fathom list 'two words', where there are some\n");
  }
}

std::vector<std::string> commands_of(const std::string& names) {
  std::istringstream words(names);
  return {std::istream_iterator<std::string>(words), {}};
}

std::size_t occurrences(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_F(Cli, HelpFitsOnAScreenAndHelpAllListsEveryOption) {
  for (const std::string& command : commands_of(run({"completion", "names"}).out)) {
    const std::string help = run({command, "--help"}).out;
    EXPECT_LE(std::ranges::count(help, '\n'), 40) << command;
    EXPECT_THAT(help, HasSubstr("\n  fathom " + command)) << "no example";
    EXPECT_LE(occurrences(help, "\n  fathom "), 3u) << command;
    EXPECT_LT(help.find("\n  fathom "), help.find("  -")) << command << ": examples come first";
    const std::string narrow =
        run_program("/usr/bin/env", {"COLUMNS=80", FATHOM_BINARY, command, "--help"}, "/dev/null").out;
    EXPECT_LE(std::ranges::count(narrow, '\n'), 40) << command << " in 80 columns";
    EXPECT_THAT(run({"man", command}).out, HasSubstr("\n.SH EXAMPLES\n")) << command;
    const std::string everything = run({command, "--help-all"}).out;
    EXPECT_THAT(everything, HasSubstr("--help-all ")) << command;
    EXPECT_GT(everything.size(), help.size()) << command;
  }
  EXPECT_THAT(run({"record", "--help"}).out, Not(HasSubstr("--stack-copy")));
  EXPECT_THAT(run({"record", "--help-all"}).out, HasSubstr("--stack-copy"));
}

TEST_F(Cli, TheHelpOfTheProgramFitsOnAScreenAndNamesEveryCommand) {
  const std::string help =
      run_program("/usr/bin/env", {"COLUMNS=80", FATHOM_BINARY, "--help"}, "/dev/null").out;
  EXPECT_LE(std::ranges::count(help, '\n'), 40);
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_LT(help.find("\n  record "), help.find("\n  report ")) << "first a recording, then what it says";
  const std::string everything = run({"--help-all"}).out;
  for (const std::string& command : commands_of(run({"completion", "names"}).out)) {
    EXPECT_TRUE(std::regex_search(help, std::regex("\\b" + command + "\\b"))) << command;
    EXPECT_THAT(everything, HasSubstr("\n  " + command + " ")) << command;
  }
  EXPECT_THAT(everything, HasSubstr("Exit status: 0 done"));
}

TEST_F(Cli, ThePageOfCommandsIsWhatTheProgramPrints) {
  EXPECT_EQ(run({"completion", "markdown"}).out, read_file(FATHOM_DOCS "/commands.md").value())
      << "fathom completion markdown > docs/commands.md";
}

// What a letter means in one command, it means in all of them.
TEST_F(Cli, AnOptionHasTheSameLetterInEveryCommand) {
  // limit -m is the limit itself, view opens a page by default, and record -s is what users of samply type.
  const std::set<std::string> other{"--memory", "--no-open"};
  std::map<std::string, std::map<std::string, std::string>> commands_by_letter;  // by option
  const std::regex row(R"(^\| `([^`]*)`)"), word(R"((--?)([a-zA-Z][\w-]*))");
  std::istringstream page(run({"completion", "markdown"}).out);
  std::string command;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) command = line.substr(3);
    std::smatch cells;
    if (!std::regex_search(line, cells, row)) continue;
    const std::string names = cells[1];
    std::string letter;
    std::vector<std::string> options;
    for (std::sregex_iterator at(names.begin(), names.end(), word), end; at != end; ++at)
      if ((*at)[1] == "-" && (*at)[2].length() == 1)
        letter = at->str();
      else if ((*at)[1] == "--")
        options.push_back(at->str());
    for (const std::string& option : options) commands_by_letter[option][letter] += command + " ";
  }
  EXPECT_GT(commands_by_letter.size(), 100U);
  for (const auto& [option, letters] : commands_by_letter)
    if (!other.contains(option)) {
      EXPECT_EQ(letters.size(), 1U) << option << ": " << testing::PrintToString(letters);
    }
}

// Words that readers stumble over. The list grows with each one that is found.
TEST_F(Cli, HelpIsPlainEnglish) {
  const std::regex stumbling(
      R"(\b(anew|beside|sought|by itself|amid|midst|whoever|nobody|save for|besides|is told|tells|so many|so much|so long|at the latest|as of|speaks? of|looked after)\b)");
  for (const std::string& command : commands_of(run({"completion", "names"}).out)) {
    const std::string help = run({command, "--help-all"}).out;
    std::smatch found;
    EXPECT_FALSE(std::regex_search(help, found, stumbling)) << command << ": " << found.str();
  }
}

// bash's own completion: `words` are those of the line so far, with an incomplete last one.
std::string completed_by_bash(const std::string& completion, const std::string& words) {
  const std::string script = "source " + completion + "; COMP_WORDS=(" + words +
                             "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _fathom; echo \"${COMPREPLY[*]}\"";
  FILE* pipe = ::popen(("bash -c '" + script + "' 2>&1").c_str(), "r");
  std::string text;
  for (char buffer[512]; pipe != nullptr && std::fgets(buffer, sizeof(buffer), pipe) != nullptr;)
    text += buffer;
  if (pipe != nullptr) ::pclose(pipe);
  return text;
}

TEST_F(Cli, BashCompletesCommandsOptionsAndValues) {
  const std::string completion = folder_ + "/completion";
  ASSERT_TRUE(write_file(completion, run({"completion", "bash"}).out).has_value());
  EXPECT_EQ(completed_by_bash(completion, "fathom rep"), "report\n");
  EXPECT_EQ(completed_by_bash(completion, "fathom report --calle"), "--callers --callees\n");
  EXPECT_EQ(completed_by_bash(completion, "fathom report --sort s"), "self\n");
  EXPECT_EQ(completed_by_bash(completion, "fathom help fla"), "flamegraph\n");
  EXPECT_THAT(completed_by_bash(completion, "fathom report " + folder_ + "/serv"),
              HasSubstr("/server.fathom"));
}

TEST_F(Cli, ManualPagesAreOfEveryCommand) {
  EXPECT_THAT(run({"man"}).out, StartsWith(".TH fathom 1\n"));
  for (const char* command : {"report", "leaks", "export", "timeline"})
    EXPECT_THAT(run({"man", command}).out, StartsWith(".TH fathom\\-" + std::string(command) + " 1\n"));
  EXPECT_EQ(run({"man", "fly"}).status, 2);
}

}  // namespace
}  // namespace fathom::cli
