#include "cli/progress.h"

#include <gtest/gtest.h>

namespace fathom::cli {
namespace {

TEST(Progress, TheLineHasTheLimitWhereThereIsOne) {
  ProgressFigures figures;
  figures.seconds = 7.2;
  figures.of_seconds = 15;
  figures.samples = 4386;
  figures.target_bytes = 512 << 20;
  figures.own_cpu = 0.012;
  figures.own_bytes = 38 << 20;
  figures.file_bytes = 14 << 10;
  EXPECT_EQ(progress_line(figures),
            "7 of 15 s · 4,386 samples, 0 lost · target 512.0 MiB · fathom 1.2 % of a CPU, 38.0 MiB · 14.0 "
            "KiB written");
  figures.of_seconds.reset();
  figures.lost = 1200;
  figures.target_bytes = 0;  // unknown: prints nothing
  EXPECT_EQ(progress_line(figures),
            "7 s · 4,386 samples, 1,200 lost · fathom 1.2 % of a CPU, 38.0 MiB · 14.0 KiB written");
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
