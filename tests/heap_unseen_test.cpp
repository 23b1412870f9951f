// Programs with an allocator whose freeing functions are not all known: fathom reports that at the start,
// records the rest, and makes no claims about its blocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class HeapUnseen : public testing::Test {
 protected:
  Outcome record(const std::vector<std::string>& options, const std::vector<std::string>& command) {
    std::vector<std::string> arguments{"record", "--cpu", "-o", recording_};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.push_back("--");
    arguments.insert(arguments.end(), command.begin(), command.end());
    return fathom(arguments);
  }
  TempDir folder_;
  std::string recording_ = folder_ / "x.fathom";
};

TEST_F(HeapUnseen, AStrippedProgramThatFreesByAHiddenFunctionIsNotSaidToLeak) {
  FATHOM_NEEDS_HEAP_TRACING();
  for (const char* mode : {"--heap=exact", "--heap"}) {
    const Outcome outcome = record({mode}, {UNSEEN_HEAP, "0.3"});
    ASSERT_TRUE(outcome.ok()) << outcome.describe();
    EXPECT_THAT(outcome.errors, HasSubstr("malloc of unseen_heap is not traced: the file is stripped"));
    EXPECT_THAT(outcome.errors, HasSubstr("--symbols DIR"));
    const Outcome report = fathom({"report", recording_, "--all"});
    EXPECT_THAT(report.output, HasSubstr("an allocator that fathom cannot see"));
    for (const char* verdict : {"Leak candidate", "Not freed", "Freed only when", "Every call of the",
                                "Nothing was allocated in this time", "heap does not grow"})
      EXPECT_THAT(report.output, Not(HasSubstr(verdict))) << mode;
    const Outcome leaks = fathom({"leaks", recording_, "--json"});
    EXPECT_EQ(leaks.exit_status, 1) << leaks.describe();
    const json found = json::parse(leaks.output);
    EXPECT_EQ(found.at("answer"), "not known");
    EXPECT_EQ(found.at("total").at("bytes"), 0);
    EXPECT_EQ(found.at("unseen_allocators").at(0).at("label"), "malloc of unseen_heap");
  }
}

TEST_F(HeapUnseen, MemoryOfAnUnseenAllocatorIsReportedInBytes) {
  FATHOM_NEEDS_HEAP_TRACING();
  const std::string ready = folder_ / "ready";
  Running program({UNSEEN_HEAP, "60", ready});
  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(ready); }, std::chrono::milliseconds(20'000)));
  const Outcome outcome = fathom({"record", "--heap=exact", "--cpu", "-d", "0.3", "-o", recording_, "-p",
                                  std::to_string(program.pid())});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  program.send(SIGKILL);
  (void)program.wait(std::chrono::milliseconds(20'000));
  const json heap = json::parse(fathom({"report", recording_, "--json"}).output).at("heap");
  const double bytes = heap.at("unseen_bytes_at_most");
  EXPECT_GE(bytes, 8 << 20);
  EXPECT_LE(bytes, 12 << 20) << "the rest of it is of libraries' data and stacks, and is known";
}

TEST_F(HeapUnseen, AStaticStrippedProgramIsRecordedWithoutItsHeap) {
  FATHOM_NEEDS_HEAP_TRACING();
  const Outcome alone = run({UNSEEN_STATIC, "10", "1"});
  const Outcome outcome = record({"--heap=exact"}, {UNSEEN_STATIC, "10", "1"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  EXPECT_FALSE(alone.output.empty());
  EXPECT_THAT(outcome.errors, HasSubstr("the program is static and stripped"));
  const Outcome report = fathom({"report", recording_});
  ASSERT_TRUE(report.ok()) << report.describe();
  EXPECT_THAT(report.output, HasSubstr("an allocator that fathom cannot see"));
  EXPECT_EQ(fathom({"leaks", recording_}).exit_status, 1);
}

}  // namespace
}  // namespace fathom::support
