#include "present/tui/browser.h"

#include "present/keys/key_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"
#include "analysis/core/stack_choice.h"
#include "present/text/text_table.h"

namespace fathom::tui {
namespace {

using testing::Contains;
using testing::HasSubstr;

class BrowserTest : public testing::Test {
 protected:
  BrowserTest() : profile_(analysis::small_server()) { open({}); }
  void open(const Words& words) {
    Sources sources;
    sources.command_file = {"server.fathom"};
    sources.select = [this](const Words& said) -> Result<analysis::Selection> {
      analysis::Selection selection;
      if (!said.metric.empty()) selection.metric = *model::metric_from(said.metric);
      selection.thread = said.thread;
      if (said.from_s) selection.from_ns = static_cast<std::uint64_t>(*said.from_s * 1e9);
      if (said.until_s) selection.to_ns = static_cast<std::uint64_t>(*said.until_s * 1e9);
      auto stacks = analysis::choose_stacks(profile_, said.focus, said.ignore, said.cuts);
      if (!stacks) return tl::unexpected(stacks.error());
      selection.stacks = *stacks;
      return selection;
    };
    sources.annotate = [](const analysis::Selection&,
                          const std::string& function) -> Result<annotate::Annotation> {
      annotate::Annotation annotation;
      annotation.functions = {function};
      annotation.unit = "samples";
      annotation.all = 10;
      annotation.cost = {4, 4};
      annotate::CodeBlock block;
      block.function = function;
      block.module = "server";
      block.instructions.push_back({{0x10}, 1, "ret", {4, 4}, {}});
      annotation.blocks.push_back(std::move(block));
      return annotation;
    };
    auto opened = Browser::open(profile_, words, std::move(sources));
    ASSERT_TRUE(opened) << opened.error().message;
    browser_ = std::move(*opened);
  }
  void press(KeyKind kind) { browser_->press({kind}); }
  void type(std::string_view letters) {
    for (const char c : letters) browser_->press({KeyKind::kText, std::string(1, c)});
  }
  std::vector<std::string> screen(std::size_t width = 100, std::size_t height = 20) {
    std::vector<std::string> texts;
    for (const ScreenLine& line : browser_->draw(width, height)) texts.push_back(line.text);
    return texts;
  }
  // Without the title, which has what was typed.
  std::vector<std::string> rows() {
    std::vector<std::string> texts = screen();
    texts.erase(texts.begin());
    return texts;
  }
  std::string cursor(std::size_t width = 100, std::size_t height = 20) {
    for (const ScreenLine& line : browser_->draw(width, height))
      if (line.style == Style::kCursor) return line.text;
    return "";
  }
  // The cursor on the row that has this.
  void find(const std::string& name) {
    type("/" + name);
    press(KeyKind::kEnter);
  }
  model::Profile profile_;
  std::unique_ptr<Browser> browser_;
};

TEST_F(BrowserTest, TheFlatTableHasTotalSelfModuleAndKind) {
  const auto lines = screen();
  ASSERT_EQ(lines.size(), 20U);
  EXPECT_THAT(lines[0], HasSubstr("samples"));
  EXPECT_THAT(lines[2], HasSubstr("total %"));
  EXPECT_THAT(lines, Contains(HasSubstr("[k]")));
  EXPECT_THAT(lines, Contains(testing::AllOf(HasSubstr("server"), HasSubstr("[.] "))));
}

TEST_F(BrowserTest, RowsAddUpToTheWhole) {
  std::int64_t self = 0;
  analysis::TreeOptions options;
  const auto tree = analysis::build_call_tree(profile_, options);
  for (const FlatBy by : {FlatBy::kFunction, FlatBy::kThreadAndFunction, FlatBy::kModule, FlatBy::kThread}) {
    self = 0;
    for (const FlatRow& row : flat_rows(tree, by, FlatSort::kSelf)) self += row.self;
    EXPECT_EQ(self, tree.total) << static_cast<int>(by);
  }
  for (const FlatRow& row : flat_rows(tree, FlatBy::kFunction, FlatSort::kTotal))
    EXPECT_LE(row.total, tree.total) << "recursion counts once";
}

TEST_F(BrowserTest, SOrdersAndGGroups) {
  type("o");
  EXPECT_THAT(screen()[2], HasSubstr("by total"));
  type("o");
  EXPECT_THAT(screen()[2], HasSubstr("by name"));
  type("og");
  EXPECT_THAT(screen()[2], HasSubstr("thread"));
  EXPECT_THAT(screen(), Contains(HasSubstr("worker-1")));
  EXPECT_THAT(browser_->command(), HasSubstr("--sort self"));
  type("gg");
  EXPECT_THAT(browser_->command(), HasSubstr("--by thread"));
}

TEST_F(BrowserTest, EnterShowsCallersAndEscapeGoesBack) {
  find("ksys_write");
  EXPECT_THAT(cursor(), HasSubstr("ksys_write"));
  press(KeyKind::kEnter);
  EXPECT_EQ(browser_->kind(), ViewKind::kCallers);
  EXPECT_THAT(cursor(), HasSubstr("write"));
  EXPECT_EQ(browser_->command(), "fathom report server.fathom --callers ksys_write");
  press(KeyKind::kEscape);
  EXPECT_EQ(browser_->kind(), ViewKind::kFlat);
  EXPECT_THAT(cursor(), HasSubstr("ksys_write")) << "the cursor is where it was";
}

TEST_F(BrowserTest, ATreeOpensAndCloses) {
  type("7");
  EXPECT_THAT(cursor(), HasSubstr("+"));
  press(KeyKind::kEnter);
  EXPECT_THAT(cursor(), HasSubstr("-"));
  EXPECT_THAT(screen(), Contains(HasSubstr("main")));
  type("C");
  EXPECT_THAT(screen(), testing::Not(Contains(HasSubstr("] main"))));
  type("E");
  EXPECT_THAT(screen(100, 60), Contains(HasSubstr("ksys_write")));
}

TEST_F(BrowserTest, SearchFindsWhatIsNotOpened) {
  type("7");
  EXPECT_THAT(screen(), testing::Not(Contains(HasSubstr("ksys_write"))));
  find("ksys_write");
  EXPECT_THAT(cursor(), HasSubstr("ksys_write"));
  type("C/main");
  press(KeyKind::kEnter);
  EXPECT_THAT(cursor(), HasSubstr("main"));
  type("/no_such_call");
  press(KeyKind::kEnter);
  EXPECT_THAT(screen().back(), HasSubstr("'no_such_call' is not found here"));
  EXPECT_THAT(cursor(), HasSubstr("main")) << "the cursor stays";
}

TEST_F(BrowserTest, OrderAndGroupsAreTheFlatViewsAlone) {
  type("7og");
  EXPECT_THAT(screen().back(), HasSubstr("flat view"));
  type("2");
  EXPECT_THAT(screen()[2], HasSubstr("by self"));
}

TEST_F(BrowserTest, ANarrowScreenHasNames) {
  find("ksys_write");
  EXPECT_THAT(cursor(24, 5), HasSubstr("ksys_write"));
  EXPECT_THAT(cursor(60, 5), HasSubstr("ksys_write"));
  EXPECT_THAT(screen(60, 8)[1], testing::AllOf(HasSubstr("[2 flat]"), HasSubstr(" 9 ")));
  type("7E");
  find("ksys_write");
  EXPECT_THAT(cursor(40, 8), HasSubstr("ksys_write"));
}

TEST_F(BrowserTest, AThreadIsTakenAndGivenBack) {
  type("4");
  EXPECT_EQ(browser_->kind(), ViewKind::kThreads);
  find("worker-1");
  type("t");
  EXPECT_THAT(screen()[0], HasSubstr("thread 11"));
  EXPECT_THAT(browser_->command(), HasSubstr("--thread 11"));
  type("t");
  EXPECT_THAT(screen()[0], testing::Not(HasSubstr("thread 11")));
}

TEST_F(BrowserTest, ATimeIsTypedAndMoved) {
  type("T0:2");
  press(KeyKind::kEnter);
  EXPECT_THAT(screen()[0], HasSubstr("0 s to 2 s"));
  type("]");
  EXPECT_THAT(browser_->command(), HasSubstr("--from 2 --until 4"));
  type("Tsoon");
  press(KeyKind::kEnter);
  EXPECT_THAT(screen().back(), HasSubstr("10:20"));
  type("T");
  press(KeyKind::kEnter);
  EXPECT_THAT(browser_->command(), testing::Not(HasSubstr("--from")));
}

TEST_F(BrowserTest, WhatIsOpenStaysOpenWhenTheTimeIsAnother) {
  type("7E");
  find("ksys_write");
  type("T5:8");
  press(KeyKind::kEnter);
  EXPECT_THAT(cursor(), HasSubstr("ksys_write")) << "by its name, wherever it stands now";
  // A time that does not have it, and back.
  type("[");
  EXPECT_THAT(screen(), testing::Not(Contains(HasSubstr("ksys_write"))));
  EXPECT_THAT(screen(), Contains(HasSubstr("walk")));
  EXPECT_THAT(cursor(), HasSubstr("main")) << "the nearest of its callers that is there";
  type("]");
  EXPECT_THAT(screen(), Contains(HasSubstr("ksys_write")));
  // What was closed stays closed.
  type("CT");
  press(KeyKind::kEnter);
  EXPECT_THAT(screen(), testing::Not(Contains(HasSubstr("ksys_write"))));
}

TEST_F(BrowserTest, FiltersAreThoseOfTheCommandLine) {
  type("fwrite");
  press(KeyKind::kEnter);
  EXPECT_THAT(screen()[0], HasSubstr("only with write"));
  EXPECT_THAT(browser_->command(), HasSubstr("--focus write"));
  type("dnothing_is_called_so");
  press(KeyKind::kEnter);
  EXPECT_THAT(screen().back(), HasSubstr("nothing_is_called_so"))
      << "the error is shown, and what was is kept";
  EXPECT_THAT(browser_->command(), testing::Not(HasSubstr("--ignore")));
  type("x");
  EXPECT_THAT(browser_->command(), testing::Not(HasSubstr("--focus")));
}

TEST_F(BrowserTest, CallsAreHiddenAndStacksBeginAtOne) {
  type("7E");
  EXPECT_THAT(screen(), Contains(HasSubstr("main")));
  type("Hmain");
  press(KeyKind::kEnter);
  EXPECT_THAT(screen()[0], HasSubstr("hiding main"));
  EXPECT_THAT(browser_->command(), HasSubstr("--hide main"));
  EXPECT_THAT(rows(), testing::Not(Contains(HasSubstr("main"))));
  EXPECT_THAT(rows(), Contains(HasSubstr("server::request::parse"))) << "below its thread now";
  type("H");
  press(KeyKind::kEnter);
  type("Fwrite");
  press(KeyKind::kEnter);
  EXPECT_THAT(screen()[0], HasSubstr("from write"));
  EXPECT_THAT(browser_->command(), HasSubstr("--show-from write"));
  EXPECT_THAT(rows(), testing::Not(Contains(HasSubstr("main"))));
  EXPECT_THAT(rows(), Contains(HasSubstr("[.] write")));
  EXPECT_THAT(rows(), testing::Not(Contains(HasSubstr("server::request::parse"))));
  type("x");
  EXPECT_THAT(browser_->command(), testing::Not(HasSubstr("--show-from")));
  EXPECT_THAT(rows(), Contains(HasSubstr("main")));
}

TEST_F(BrowserTest, AnnotateShowsCode) {
  find("ksys_write");
  type("a");
  EXPECT_EQ(browser_->kind(), ViewKind::kAnnotate);
  EXPECT_THAT(screen(), Contains(HasSubstr("ret")));
  EXPECT_THAT(browser_->command(), HasSubstr("--annotate ksys_write"));
  type("q");
  EXPECT_FALSE(browser_->done());
  type("q");
  EXPECT_TRUE(browser_->done());
}

TEST_F(BrowserTest, UnrecordedDataIsReported) {
  type("6");
  EXPECT_THAT(screen().back(), HasSubstr("the heap was not recorded"));
  EXPECT_EQ(browser_->kind(), ViewKind::kFlat);
}

// The help lists the keys of the table, so each of them must do something.
TEST_F(BrowserTest, EveryKeyOfTheTableIsKnown) {
  for (const present::KeyRow& row : present::keys_of(present::Surface::kTui)) {
    if (row.name == "-" || row.name == "back") continue;  // those have no letter
    for (const std::string_view key : row.keys) {
      open({});
      type(key);
      EXPECT_THAT(screen().back(), testing::Not(HasSubstr("shows the keys"))) << key;
    }
  }
  type("~");
  EXPECT_EQ(screen().back(), "? shows the keys");
}

TEST_F(BrowserTest, TheHelpHasEveryKeyOfTheTable) {
  type("?");
  const std::vector<ScreenLine> lines = browser_->draw(100, 60);
  std::string help;
  for (const ScreenLine& line : lines) help += line.text + "\n";
  for (const present::KeyRow& row : present::keys_of(present::Surface::kTui))
    EXPECT_THAT(help, HasSubstr(std::string(row.words.substr(0, 40)))) << row.name;
}

TEST_F(BrowserTest, CCopiesTheCommandOnce) {
  type("c");
  EXPECT_EQ(browser_->take_copied(), "fathom report server.fathom --sort self --top 0");
  EXPECT_FALSE(browser_->take_copied());
}

TEST_F(BrowserTest, EveryScreenHasItsSize) {
  for (const std::string_view keys : {"", "7E", "4", "1", "h", "/x", "5"}) {
    open({});
    type(keys);
    for (std::size_t width = 0; width <= 140; width += 7)
      for (std::size_t height = 0; height <= 30; ++height) {
        const auto lines = browser_->draw(width, height);
        ASSERT_EQ(lines.size(), height) << keys << " " << width << "x" << height;
        for (const ScreenLine& line : lines) ASSERT_LE(present::display_width(line.text), width) << line.text;
      }
  }
}

TEST_F(BrowserTest, NamesNeverReachTheTerminalAsTheyAre) {
  analysis::HandMade hand;
  const auto module = hand.module("evil\x1b[2J\n");
  const auto thread = hand.thread(hand.process(1, "p\x1b]0;x\x07"), 1, "t\x1b[31m\r");
  hand.profile.meta.target = "target\x1b[5m\xe2\x80\xae";
  hand.sample(thread,
              hand.stack({hand.frame(module, {"f\x1b[2J\x9b"
                                              "31m\xff\n\t"})}),
              10);
  profile_ = hand.profile;
  for (const std::string_view keys : {"", "g", "ggg", "7E", "4", "1", "<", ">", "a", "t"}) {
    open({});
    type(keys);
    for (const ScreenLine& line : browser_->draw(90, 24))
      for (const char c : line.text)
        ASSERT_FALSE(static_cast<unsigned char>(c) < 0x20 || c == 0x7f) << keys << ": " << line.text;
  }
}

// For any keys in any order, the screen stays whole.
TEST_F(BrowserTest, AnyKeysInAnyOrder) {
  constexpr std::string_view kLetters = "1234567890a<>ecECogtTmfdx/nNph[] +?";
  std::uint32_t state = 1;
  for (int i = 0; i < 3000; ++i) {
    state = state * 1664525 + 1013904223;
    const std::uint32_t random = state >> 8;
    if (random % 3 == 0)
      browser_->press({static_cast<KeyKind>(random / 3 % 13)});
    else
      type(kLetters.substr(random / 3 % kLetters.size(), 1));
    ASSERT_EQ(browser_->draw(80, 24).size(), 24U);
    if (browser_->done()) open({});
  }
}

TEST_F(BrowserTest, TheMousePutsTheCursorOnARowAndOpensIt) {
  const std::vector<std::string> lines = screen();
  std::size_t row = 4;  // the second row: title, views and head stand above the rows
  browser_->press({KeyKind::kClick, "", row, 10});
  EXPECT_EQ(cursor(), lines[row]);
  browser_->press({KeyKind::kClick, "", row, 10});
  EXPECT_EQ(browser_->kind(), ViewKind::kCallers);
  // A view by its name.
  const std::size_t column = screen()[1].find("tree");
  ASSERT_NE(column, std::string::npos);
  browser_->press({KeyKind::kClick, "", 1, column});
  EXPECT_EQ(browser_->kind(), ViewKind::kTree);
  type("2");
  press(KeyKind::kHome);
  const std::string first = cursor();
  press(KeyKind::kWheelDown);
  EXPECT_NE(cursor(), first);
  press(KeyKind::kWheelUp);
  EXPECT_EQ(cursor(), first);
  for (const std::size_t outside : {std::size_t{0}, std::size_t{2}, std::size_t{19}, std::size_t{5000}})
    browser_->press({KeyKind::kClick, "", outside, 0});
  EXPECT_EQ(cursor(), first);
}

TEST_F(BrowserTest, ASearchInAListFollowsEachLetterAndEscapeGoesBack) {
  const std::string first = cursor();
  type("/ksys_w");
  EXPECT_THAT(cursor(), HasSubstr("ksys_write"));
  press(KeyKind::kEscape);
  EXPECT_EQ(cursor(), first);
  type("/ksys_w");
  press(KeyKind::kEnter);
  EXPECT_THAT(cursor(), HasSubstr("ksys_write"));
}

TEST_F(BrowserTest, FocusIsOnTheFunctionAtTheCursorUnlessOneIsTyped) {
  type("/ksys_write");
  press(KeyKind::kEnter);
  type("f");
  EXPECT_THAT(screen().back(), HasSubstr("(Enter: ksys_write)"));
  press(KeyKind::kEnter);
  EXPECT_THAT(browser_->command(), HasSubstr("--focus ksys_write"));
  type("f");
  press(KeyKind::kEnter);
  EXPECT_THAT(browser_->command(), testing::Not(HasSubstr("--focus")));
  type("d");
  press(KeyKind::kEnter);
  EXPECT_THAT(browser_->command(), HasSubstr("--ignore"));
}

}  // namespace
}  // namespace fathom::tui
