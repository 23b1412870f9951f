// The memory composition, compared with a program that holds known amounts of every kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr double kKiB = 1024, kMiB = 1024 * kKiB;

class Memory {
 public:
  explicit Memory(const std::string& recording) {
    const Outcome outcome = fathom({"report", recording, "--json"});
    if (!outcome.ok()) throw std::runtime_error(outcome.describe());
    all_ = json::parse(outcome.output);
    memory_ = all_.at("memory");
  }
  double number(const char* key) const { return memory_.at(key).get<double>(); }
  double part(std::string_view key) const {
    for (const json& part : memory_.at("parts"))
      if (part.at("part") == key) return part.at("bytes").get<double>();
    return 0;
  }
  double part_error(std::string_view key) const {
    for (const json& part : memory_.at("parts"))
      if (part.at("part") == key) return part.at("error").get<double>();
    return 0;
  }
  double sum(const char* list, const char* field) const {
    double sum = 0;
    for (const json& row : memory_.at(list)) sum += row.at(field).get<double>();
    return sum;
  }
  // Of all ranges of one kind.
  double ranges(std::string_view kind, std::string_view name_part, const char* field) const {
    double sum = 0;
    for (const json& row : memory_.at("ranges"))
      if (row.at("kind") == kind && row.at("name").get<std::string>().find(name_part) != std::string::npos)
        sum += row.at(field).get<double>();
    return sum;
  }
  std::string text() const { return memory_.dump(1); }

 private:
  json all_, memory_;
};

class MemoryTruth : public testing::Test {
 protected:
  // Within a tolerance: libraries, the tracer and the allocators' own tables are in it, too.
  void expect_near(const char* what, double said, double truth, double most) {
    std::printf("  %-24s truth %9.0f KiB    reported %9.0f KiB\n", what, truth / kKiB, said / kKiB);
    EXPECT_NEAR(said, truth, most) << what;
  }
  void expect_parts_of_rss(const Memory& memory) {
    const double rss = memory.number("rss_bytes");
    EXPECT_NEAR(memory.sum("parts", "bytes"), rss, 0.01 * rss) << memory.text();
    EXPECT_NEAR(memory.sum("ranges", "rss_bytes"), rss, 0.01 * rss) << memory.text();
  }
  // What the program says that does not depend on the allocator.
  void expect_kinds(const Memory& memory, const std::map<std::string, double>& truth) {
    expect_near("thread stacks", memory.part("thread-stacks"), truth.at("thread_stacks"), 128 * kKiB);
    expect_near("data (.bss)", memory.ranges("file-data", "known_memory", "anonymous_bytes"),
                truth.at("bss") + truth.at("file_changed"), 256 * kKiB);
    expect_near("changed pages of a file", memory.ranges("file-data", "known_memory_", "anonymous_bytes"),
                truth.at("file_changed"), 64 * kKiB);
    expect_near("file", memory.ranges("file", "known_memory_", "rss_bytes"), truth.at("file"), 2.2 * kMiB);
    expect_near("shared", memory.part("shared"), truth.at("shared"), 64 * kKiB);
    expect_near("RSS", memory.number("rss_bytes"), truth.at("rss"), 0.01 * truth.at("rss"));
    expect_near("anonymous", memory.number("anonymous_bytes"), truth.at("anonymous"),
                0.01 * truth.at("anonymous"));
  }
  TempDir folder_;
  std::string recording_ = folder_ / "x.fathom";
};

TEST_F(MemoryTruth, OfAProgramFromItsStartEveryPartIsRight) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const Outcome outcome =
      fathom({"record", "--heap=exact", "--lossless", "-o", recording_, "--", KNOWN_MEMORY, "3"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const auto truth = answer_of(outcome);
  const Memory memory(recording_);
  expect_parts_of_rss(memory);
  expect_kinds(memory, truth);
  expect_near("live and resident", memory.part("live"), truth.at("live_resident"), 256 * kKiB);
  expect_near("live", memory.number("live_bytes"), truth.at("live"), 256 * kKiB);
  expect_near("mapped", memory.part("mapped"), truth.at("mapped"), 64 * kKiB);
  // Freed and kept, and what the allocator adds to 40,000 blocks of 500 bytes, 12 to 16 each.
  expect_near("beyond live blocks", memory.part("slack"), truth.at("freed_and_kept"), 1.5 * kMiB);
  EXPECT_LT(memory.part("unknown"), 256 * kKiB) << memory.text();
  const double explained = (truth.at("live_resident") + truth.at("mapped")) / truth.at("anonymous") * 100;
  EXPECT_NEAR(memory.number("coverage_percent"), explained, 1);
  EXPECT_TRUE(memory.text().find("use no memory") != std::string::npos) << memory.text();
}

TEST_F(MemoryTruth, ARunningProgramThatIsSampledIsRightWithinItsInterval) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  Running target({KNOWN_MEMORY, "60", folder_ / "go"});
  pause_ms(200);
  Running recorder = start_recording(
      recording_, {"-p", std::to_string(target.pid()), "--heap", "--heap-interval", "65536", "-d", "6"});
  wait_until([&] { return recorder.errors_so_far().find("heap") != std::string::npos; }, milliseconds(1500));
  std::ofstream(folder_ / "go") << "go";
  const Outcome recorded = recorder.wait(milliseconds(30'000));
  ASSERT_TRUE(recorded.ok()) << recorded.describe();
  ::kill(target.pid(), SIGKILL);
  const auto truth = answer_of(target.wait(milliseconds(10'000)));
  const Memory memory(recording_);
  expect_parts_of_rss(memory);
  expect_kinds(memory, truth);
  // 95 % is 1.96 deviations; 3.29 are one wrong alarm in a thousand.
  expect_near("live and resident", memory.part("live"), truth.at("live_resident"),
              3.29 / 1.96 * memory.part_error("live") + 256 * kKiB);
  EXPECT_GT(memory.part_error("live"), 0);
  EXPECT_LT(memory.part_error("live"), 0.2 * truth.at("live_resident"));
  // Mapped memory without a reported owner is unowned, and not the allocator's.
  expect_near("unknown, with the mapped", memory.part("unknown"), truth.at("mapped"), 1 * kMiB);
}

TEST_F(MemoryTruth, WithoutTheHeapTheMapAloneShowsStacksDataAndFiles) {
  FATHOM_NEEDS_BPF();
  const Outcome outcome = fathom({"record", "-o", recording_, "--", KNOWN_MEMORY, "2"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const Memory memory(recording_);
  expect_parts_of_rss(memory);
  expect_kinds(memory, answer_of(outcome));
  const Outcome text = fathom({"report", recording_, "--memory"});
  EXPECT_TRUE(text.ok()) << text.describe();
  EXPECT_THAT(text.output, testing::HasSubstr("allocators (the heap was not traced)"));
}

TEST_F(MemoryTruth, LeftOutWhereItIsNotWanted) {
  FATHOM_NEEDS_BPF();
  ASSERT_TRUE(fathom({"record", "--no-memory", "-o", recording_, "--", KNOWN_MEMORY, "0.1"}).ok());
  const Outcome text = fathom({"report", recording_, "--memory"});
  EXPECT_NE(text.exit_status, 0);
  EXPECT_THAT(text.errors, testing::HasSubstr("were not recorded"));
}

}  // namespace
}  // namespace fathom::support
