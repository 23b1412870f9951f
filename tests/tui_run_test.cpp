// fathom tui in terminals: a pseudo-terminal of our own, and tmux, which renders the output as a user sees
// it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "support/command.h"
#include "support/fathom_program.h"
#include "support/terminal.h"

namespace fathom::support {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

class TuiRun : public testing::Test {
 protected:
  TuiRun() {
    std::string pattern = (std::filesystem::temp_directory_path() / "fathom-tui-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no folder for temporary files");
    folder_ = pattern;
    file_ = folder_ + "/a.folded";
    std::ofstream(file_)
        << "server;main;parse 30\nserver;main;serve;write_all 50\nserver;main;evil\x1b[2Jname 20\n";
  }
  ~TuiRun() override { std::filesystem::remove_all(folder_); }
  std::string folder_, file_;
};

// The escapes with which a terminal is left.
constexpr std::string_view kPutBack = "\x1b[?25h\x1b[?1049l";

TEST_F(TuiRun, WithoutATerminalItPrintsOneLine) {
  const Outcome outcome = fathom({"tui", file_});
  EXPECT_EQ(outcome.exit_status, 2);
  EXPECT_EQ(outcome.output, "");
  EXPECT_THAT(outcome.errors, HasSubstr("needs a terminal"));
}

TEST_F(TuiRun, ItDrawsTakesKeysAndPutsTheTerminalBack) {
  ::setenv("TERM", "xterm", 1);
  Terminal terminal(fathom_command({"tui", file_}));
  ASSERT_TRUE(terminal.wait_for("write_all")) << terminal.screen();
  EXPECT_THAT(terminal.screen(), Not(HasSubstr("evil\x1b[2J"))) << "a name is no command to the terminal";
  terminal.type("<");
  ASSERT_TRUE(terminal.wait_for("who called")) << terminal.screen();
  terminal.type("qq");
  EXPECT_EQ(terminal.wait(20s), 0);
  EXPECT_THAT(terminal.screen(), HasSubstr(kPutBack));
}

TEST_F(TuiRun, CtrlCLeavesTheTerminalAsItWas) {
  ::setenv("TERM", "xterm", 1);
  Terminal terminal(fathom_command({"tui", file_}));
  ASSERT_TRUE(terminal.wait_for("write_all")) << terminal.screen();
  terminal.type(Terminal::kCtrlC);
  EXPECT_EQ(terminal.wait(20s), 128 + 2);
  EXPECT_THAT(terminal.screen(), HasSubstr(kPutBack));
}

class TmuxRun : public TuiRun {
 protected:
  void SetUp() override {
    if (run({"sh", "-c", "command -v tmux"}).exit_status != 0)
      GTEST_SKIP() << "needs tmux, which is not installed";
  }
  ~TmuxRun() override { (void)run({"tmux", "-S", folder_ + "/socket", "kill-server"}); }
  Outcome tmux(std::vector<std::string> words) {
    words.insert(words.begin(), {"tmux", "-S", folder_ + "/socket", "-f", "/dev/null"});
    return run(words);
  }
  // Until the screen has it, as a person waits.
  std::string screen_with(const std::string& text) {
    std::string screen;
    for (int i = 0; i < 400; ++i) {
      screen = tmux({"capture-pane", "-p", "-t", "s"}).output;
      if (screen.find(text) != std::string::npos) break;
      std::this_thread::sleep_for(50ms);
    }
    return screen;
  }
  void keys(std::vector<std::string> keys) {
    keys.insert(keys.begin(), {"send-keys", "-t", "s"});
    EXPECT_EQ(tmux(keys).exit_status, 0);
  }
};

TEST_F(TmuxRun, AWalkWithTheKeysOfPerfReport) {
  std::string command = "exec";
  for (const std::string& word : fathom_command({"tui", file_})) command += " '" + word + "'";
  ASSERT_EQ(
      tmux({"new-session", "-d", "-s", "s", "-x", "90", "-y", "20", command + "; sleep 60"}).exit_status, 0);
  const std::string flat = screen_with("write_all");
  EXPECT_THAT(flat, HasSubstr("total %"));
  EXPECT_THAT(flat, HasSubstr("50.0"));
  EXPECT_THAT(flat, HasSubstr("1/")) << "the cursor is on the first row";
  keys({"Down"});
  EXPECT_THAT(screen_with("2/"), HasSubstr("2/"));
  keys({"7"});
  (void)screen_with("call tree");
  keys({"E"});
  EXPECT_THAT(screen_with("serve"), HasSubstr("- [.] main"));
  keys({"/", "p", "a", "r", "s", "e", "Enter"});
  keys({"<"});
  EXPECT_THAT(screen_with("who called"), HasSubstr("who called parse"));
  ASSERT_EQ(tmux({"resize-window", "-t", "s", "-x", "30", "-y", "5"}).exit_status, 0);
  EXPECT_THAT(screen_with("total who"), HasSubstr("total who called parse")) << "one share and the name";
  ASSERT_EQ(tmux({"resize-window", "-t", "s", "-x", "100", "-y", "30"}).exit_status, 0);
  EXPECT_THAT(screen_with("9 annotate"), HasSubstr("9 annotate"));
  keys({"h"});
  EXPECT_THAT(screen_with("open all calls"), HasSubstr("open all calls"));
}

}  // namespace
}  // namespace fathom::support
