// record --repeat as its users see it: the runs take turns, each has a file, the printed command compares
// them, and recorded data stays when a run fails or the user stops early.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/shell_word.h"
#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

using Names = std::vector<std::string>;

TEST(Repeat, TwoCommandsTakeTurnsAndThePrintedCommandComparesThem) {
  FATHOM_NEEDS_PERF_EVENT();
  const TempDir folder;
  const Outcome outcome = fathom({"record", "--repeat", "2", "--cpu", "-o", folder / "x.fathom", "--against",
                                  shell_word(CPU_SHARES) + " 1", "--", CPU_SHARES, "1"});
  ASSERT_EQ(outcome.exit_status, 0) << outcome.describe();
  EXPECT_EQ(files_in(folder.path()),
            (Names{"x-base-1.fathom", "x-base-2.fathom", "x-new-1.fathom", "x-new-2.fathom"}));
  const std::size_t at = outcome.errors.find("next: fathom diff --base ");
  ASSERT_NE(at, std::string::npos) << outcome.describe();
  std::istringstream line(outcome.errors.substr(at + std::string("next: fathom ").size()));
  std::vector<std::string> words;
  for (std::string word; line >> word;) words.push_back(word);
  const Outcome diff = fathom(words);
  EXPECT_EQ(diff.exit_status, 0) << diff.describe();
  EXPECT_THAT(diff.output, HasSubstr("base  2 runs ("));
}

TEST(Repeat, ARunThatFailsIsTheLastAndWhatWasRecordedStays) {
  FATHOM_NEEDS_PERF_EVENT();
  const TempDir folder;
  // Succeeds once.
  const std::string once = "test ! -e " + (folder / "done") + " && touch " + (folder / "done");
  const Outcome outcome =
      fathom({"record", "--repeat", "3", "-o", folder / "x.fathom", "--", "sh", "-c", once});
  EXPECT_EQ(outcome.exit_status, 1) << outcome.describe();
  EXPECT_EQ(files_in(folder.path()), (Names{"done", "x-1.fathom", "x-2.fathom"}));
  EXPECT_THAT(outcome.errors,
              AllOf(HasSubstr("run 2 of 3 ended with status 1; no other is begun"),
                    HasSubstr("fathom diff --base " + (folder / "x-1.fathom") + " --new ITS RECORDINGS")))
      << outcome.describe();
}

TEST(Repeat, AProgramThatIsNotThereIsOneError) {
  FATHOM_NEEDS_PERF_EVENT();
  const TempDir folder;
  const Outcome outcome =
      fathom({"record", "--repeat", "3", "-o", folder / "x.fathom", "--", folder / "nothing"});
  EXPECT_EQ(outcome.exit_status, 3) << outcome.describe();
  EXPECT_TRUE(files_in(folder.path()).empty());
}

TEST(Repeat, AnInterruptEndsTheRunAtHandAndNoOtherIsBegun) {
  FATHOM_NEEDS_PERF_EVENT();
  const TempDir folder;
  // Every run says that it has begun, and ends at a signal.
  const std::string script = "echo x >> " + (folder / "begun") + "; exec sleep 300";
  Running repeat(fathom_command(
      {"record", "--repeat", "3", "--cpu", "-o", folder / "x.fathom", "--", "sh", "-c", script}));
  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(folder / "begun"); },
                         std::chrono::milliseconds(20'000)));
  repeat.send(SIGTERM);
  const Outcome outcome = repeat.wait(std::chrono::seconds(30));
  EXPECT_FALSE(outcome.timed_out) << outcome.describe();
  EXPECT_NE(outcome.exit_status, 0) << outcome.describe();
  EXPECT_THAT(outcome.errors,
              AllOf(HasSubstr("run 1 of 3 was interrupted; no other is begun"), Not(HasSubstr("run 2 of 3"))))
      << outcome.describe();
  EXPECT_EQ(files_in(folder.path()), (Names{"begun", "x-1.fathom"})) << outcome.describe();
}

}  // namespace
}  // namespace fathom::support
