#include "cli/progress.h"

#include <gtest/gtest.h>

#include "present/text/text_table.h"

namespace fathom::cli {
namespace {

ProgressFigures some_figures() {
  ProgressFigures figures;
  figures.seconds = 7.2;
  figures.of_seconds = 15;
  figures.samples = 4386;
  figures.target_bytes = 512 << 20;
  figures.target_cpus = 1.824;
  figures.hot = "logs::LogParser::parse_line(std::string const&)";
  figures.hot_share = "41 %";
  figures.own_cpu = 0.012;
  figures.own_bytes = 38 << 20;
  figures.file_bytes = 14 << 10;
  return figures;
}

TEST(Progress, TheLineHasTheLimitWhereThereIsOne) {
  ProgressFigures figures = some_figures();
  EXPECT_EQ(progress_line(figures),
            "7 of 15 s · 4,386 samples · target 1.82 CPUs · hot: "
            "logs::LogParser::parse_line(std::string const&) 41 % · 512.0 MiB resident · fathom 1.2 % of a "
            "CPU, 38.0 MiB · 14.0 KiB written");
  figures.of_seconds.reset();
  figures.lost = 1200;
  figures.target_bytes = 0;  // unknown: prints nothing
  figures.target_cpus.reset();
  figures.hot.clear();
  EXPECT_EQ(progress_line(figures),
            "7 s · 4,386 samples · 1,200 lost · fathom 1.2 % of a CPU, 38.0 MiB · 14.0 KiB written");
}

TEST(Progress, AFewSamplesNameNoHotFunction) {
  ProgressFigures figures = some_figures();
  figures.samples = 1;
  EXPECT_EQ(
      progress_line(figures),
      "7 of 15 s · 1 sample · target 1.82 CPUs · 512.0 MiB resident · fathom 1.2 % of a CPU, 38.0 MiB · "
      "14.0 KiB written");
}

// A line that is wider than the terminal leaves a row behind each second.
TEST(Progress, NoLineIsWiderThanTheTerminal) {
  const ProgressFigures figures = some_figures();
  const std::string sentence = "98 % of CPU time is below LogParser::parse_line — über alles.";
  for (std::size_t columns = 20; columns < 200; ++columns) {
    EXPECT_LE(present::display_width(progress_line(figures, columns)), columns);
    EXPECT_LE(present::display_width(sentence_line(figures, sentence, columns)), columns);
  }
  EXPECT_EQ(progress_line(figures, 80),
            "7 of 15 s · 4,386 samples · target 1.82 CPUs · hot: LogParser::parse_line 41 %");
  EXPECT_EQ(sentence_line(figures, sentence, 40), "7 of 15 s · 98 % of CPU time is below L…");
}

TEST(Progress, TheOpeningNamesWhatIsRecorded) {
  session::RecordOptions options;
  options.target = "redis-server (pid 12)";
  EXPECT_EQ(opening_line(options, std::nullopt),
            "recording redis-server (pid 12): CPU at 999 Hz, waits, memory");
  options.command = {"./server", "--key", "secret"};
  options.cpu = options.off_cpu = false;
  options.heap = session::Heap::kExact;
  EXPECT_EQ(opening_line(options, 812), "recording ./server (pid 812): memory, each call of the heap");
}

// A process starved of CPU, like a compiler among twenty others, is not idle.
TEST(Progress, LessThanATwentiethOfACpuIsShownAndNotCalledIdle) {
  EXPECT_EQ(idleness(0.04, 2), "the target used 2.0 % of one CPU only");
  EXPECT_EQ(idleness(0.2, 2), std::nullopt);
  EXPECT_EQ(idleness(0, 0.5), std::nullopt) << "too short to say anything";
  EXPECT_EQ(idleness(std::nullopt, 2), std::nullopt) << "unknown is not idle";
}

}  // namespace
}  // namespace fathom::cli
