#include "cli/top_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace fathom::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TopTable table() {
  return {.target = "app (pid 7)",
          .at_s = 3,
          .interval_s = 1,
          .cpus = 1.5,
          .waiting = 2,
          .threads = 4,
          .cpu = {{"main", "app", 0, 1.5}, {"hash", "app", 0.5, 0.5}, {"spin", "libx.so", 1, 1}},
          .waits = {{"futex", "libc.so.6", 2, 2}}};
}

std::string shown(const TopScreen& screen) {
  std::string text;
  for (const std::string& line : screen.lines(100, 12)) text += line + "\n";
  return text;
}

// The functions in the order of the screen.
std::vector<std::string> order(const TopScreen& screen) {
  std::vector<std::string> names;
  for (const std::string& line : screen.lines(100, 20))
    for (const char* name : {"main", "hash", "spin", "futex"})
      if (line.find(std::string("  ") + name) != std::string::npos) names.emplace_back(name);
  return names;
}

TEST(TopScreen, SortsBySelfAndWithTheKeyByTotal) {
  TopScreen screen;
  screen.take(table());
  EXPECT_THAT(order(screen), ElementsAre("spin", "hash"));
  EXPECT_TRUE(screen.key('o'));
  EXPECT_THAT(order(screen), ElementsAre("main", "spin", "hash"));
  EXPECT_TRUE(screen.key('m'));
  EXPECT_THAT(order(screen), ElementsAre("futex"));
}

TEST(TopScreen, ShowsAllocationsIfTheHeapIsTraced) {
  TopScreen screen;
  screen.take(table());
  screen.key('m');
  screen.key('m');
  EXPECT_THAT(shown(screen), HasSubstr("% of one CPU")) << "there are two metrics without the heap";
  TopTable with_heap = table();
  with_heap.allocated_per_s = 3 << 20;
  with_heap.allocations = {{"hash", "app", 2 << 20, 3 << 20}};
  screen.take(with_heap);
  screen.key('m');
  screen.key('m');
  EXPECT_THAT(shown(screen), HasSubstr("3.0 MiB/s allocated"));
  EXPECT_THAT(shown(screen), HasSubstr("MiB allocated per second"));
  EXPECT_THAT(shown(screen), HasSubstr("   2.00    3.00  hash"));
  screen.key('m');
  EXPECT_THAT(shown(screen), HasSubstr("% of one CPU"));
}

TEST(TopScreen, LooksLikeTheTerminalView) {
  TopScreen screen;
  screen.take(table());
  std::vector<tui::Style> styles;
  for (const tui::ScreenLine& line : screen.styled(80, 6)) styles.push_back(line.style);
  using tui::Style;
  EXPECT_THAT(styles, ElementsAre(Style::kTitle, Style::kHead, Style::kHot, Style::kHot, Style::kPlain,
                                  Style::kStatus));
}

TEST(TopScreen, AFilterIsTypedAndChoosesByFunctionOrModule) {
  TopScreen screen;
  screen.take(table());
  for (const char byte : std::string("fliq")) screen.key(byte);
  EXPECT_FALSE(screen.wants_end()) << "q belongs to the filter";
  for (const char byte : std::string("\x7f"
                                     "b\r"))
    screen.key(byte);
  EXPECT_THAT(order(screen), ElementsAre("spin")) << "lib";
  screen.key('x');
  EXPECT_THAT(order(screen), ElementsAre("spin", "hash"));
  for (const char byte : std::string("/hash\x1b")) screen.key(byte);
  EXPECT_THAT(order(screen), ElementsAre("spin", "hash")) << "Escape leaves no filter";
}

TEST(TopScreen, FrozenItKeepsWhatItShows) {
  TopScreen screen;
  screen.take(table());
  screen.key(' ');
  TopTable next = table();
  next.cpu = {{"other", "app", 1, 1}};
  screen.take(next);
  EXPECT_THAT(shown(screen), Not(HasSubstr("other")));
  EXPECT_THAT(shown(screen), HasSubstr("frozen"));
  screen.key(' ');
  screen.take(next);
  EXPECT_THAT(shown(screen), HasSubstr("other"));
}

TEST(TopScreen, SavesAndEndsByTheirKeys) {
  TopScreen screen;
  EXPECT_TRUE(screen.key('s'));
  EXPECT_TRUE(screen.wants_save());
  EXPECT_FALSE(screen.wants_end());
  EXPECT_TRUE(screen.key('q'));
  EXPECT_TRUE(screen.wants_end());
  EXPECT_FALSE(screen.key('Z'));
}

TEST(TopScreen, FitsEveryTerminalAndHasNoControlCharacters) {
  TopTable hostile = table();
  hostile.target = "\x1b[2J\xff";
  hostile.cpu.push_back({std::string(3000, 'n') + "\x1b[31m\n", "\xe4\xb8\xad\xe6\x96\x87", 2, 2});
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    TopScreen screen;
    screen.take(hostile);
    for (int keys = 0; keys < 20; ++keys) screen.key(static_cast<char>(random() % 256));
    const std::size_t width = random() % 200, height = random() % 60;
    const auto lines = screen.lines(width, height);
    EXPECT_LE(lines.size(), height);
    for (const std::string& line : lines) {
      EXPECT_EQ(line.find('\x1b'), std::string::npos);
      EXPECT_EQ(line.find('\n'), std::string::npos);
      EXPECT_LE(line.size(), 4 * width);
    }
  }
}

TEST(TopScreen, PlainTextHasBothTables) {
  TopScreen screen;
  screen.take(table());
  const std::string text = screen.plain(1);
  EXPECT_THAT(text, HasSubstr("spin"));
  EXPECT_THAT(text, Not(HasSubstr("hash"))) << "one row each";
  EXPECT_THAT(text, HasSubstr("futex"));
  EXPECT_THAT(text, HasSubstr("1.50 CPUs"));
}

}  // namespace
}  // namespace fathom::cli
