// record -e against a program that knows how many events it makes, and what else can be done with such a recording.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json report_of(const std::string& recording, const std::string& event) {
  const Outcome said = fathom({"report", recording, "--metric", event, "--json"});
  EXPECT_TRUE(said.ok()) << said.describe();
  return said.ok() ? json::parse(said.output) : json();
}

// What is charged to a function, with all that it calls.
double total_of(const json& report, const std::string& name) {
  for (const json& row : report.at("functions"))
    if (row.at("name") == name) return row.at("total").get<double>();
  return 0;
}

class EventTruth : public testing::Test {
 protected:
  // Empty: this machine cannot.
  json record(const std::string& events, const std::string& rounds) {
    const Outcome program = fathom({"record", "-e", events, "-o", file_, "--", KNOWN_EVENTS, rounds});
    EXPECT_TRUE(program.ok()) << program.describe();
    return program.ok() ? json::parse(program.output) : json();
  }
  const TempDir folder_;
  const std::string file_ = folder_ / "x.fathom";
};

TEST_F(EventTruth, EventsOfKnownNumberAreCountedExactlyWhereTheyHappen) {
  FATHOM_NEEDS_BPF();
  const json truth = record(
      "page-faults/1,syscalls:sys_enter_getppid,period=1,syscalls:sys_enter_write/weight=count/,1", "3000");
  ASSERT_FALSE(truth.is_null());
  const json calls = report_of(file_, "syscalls:sys_enter_getppid");
  EXPECT_EQ(calls.at("total"), truth.at("rounds"));
  EXPECT_EQ(total_of(calls, "asks_for_its_parent"), truth.at("rounds"));
  const json bytes = report_of(file_, "syscalls:sys_enter_write");
  EXPECT_EQ(total_of(bytes, "writes_pieces"), truth.at("bytes"));
  // The program's own start touches pages, too, but this function only its own.
  const json faults = report_of(file_, "page-faults");
  EXPECT_EQ(total_of(faults, "touches_pages"), truth.at("pages"));
  EXPECT_EQ(total_of(faults, "asks_for_its_parent"), 0);
}

TEST_F(EventTruth, MoreEventsThanAreWalkedStandForAll) {
  FATHOM_NEEDS_BPF();
  const json truth = record("syscalls:sys_enter_getppid", "150000");
  ASSERT_FALSE(truth.is_null());
  const json calls = report_of(file_, "syscalls:sys_enter_getppid");
  const double rounds = truth.at("rounds");
  EXPECT_NEAR(total_of(calls, "asks_for_its_parent"), rounds, 0.25 * rounds);
  const Outcome said = fathom({"report", file_, "--all"});
  EXPECT_THAT(said.output, HasSubstr("150,000 syscalls:sys_enter_getppid")) << "the count itself is exact";
}

TEST_F(EventTruth, EveryViewTakesTheEventAndCpuTimeStaysApart) {
  FATHOM_NEEDS_BPF();
  ASSERT_FALSE(record("page-faults/1", "2000").is_null());
  const std::string event = "page-faults";
  const Outcome graph = fathom({"flamegraph", file_, "--metric", event, "-o", folder_ / "x.svg"});
  EXPECT_TRUE(graph.ok()) << graph.describe();
  const Outcome folded = fathom({"export", file_, "--metric", event, "-o", folder_ / "x.folded"});
  EXPECT_TRUE(folded.ok()) << folded.describe();
  const Outcome pprof = fathom({"export", file_, "--metric", event, "-o", folder_ / "x.pb.gz"});
  EXPECT_TRUE(pprof.ok()) << pprof.describe();
  const Outcome page = fathom({"view", file_, "--metric", event, "--html", folder_ / "x.html"});
  EXPECT_TRUE(page.ok()) << page.describe();
  const Outcome diff = fathom({"diff", file_, file_, "--metric", event});
  EXPECT_TRUE(diff.ok()) << diff.describe();
  EXPECT_THAT(diff.output + diff.errors, HasSubstr(event));
  const Outcome cpu = fathom({"report", file_, "--metric", "cpu", "--json"});
  ASSERT_TRUE(cpu.ok()) << cpu.describe();
  EXPECT_LT(json::parse(cpu.output).at("total").get<double>(), 1900) << "faults are no CPU samples";
  const Outcome none = fathom({"report", file_, "--metric", "major-faults"});
  EXPECT_FALSE(none.ok());
  EXPECT_THAT(none.errors, HasSubstr(event)) << "the error lists what there is";
}

TEST_F(EventTruth, AnEventThatDoesNotExistEndsBeforeTheProgramStarts) {
  for (const char* event : {"page-fault", "syscalls:sys_enter_getpppid", "nothing:*", "page-faults/0"}) {
    const Outcome refused = fathom({"record", "-e", event, "-o", file_, "--", KNOWN_EVENTS, "1"});
    EXPECT_FALSE(refused.ok()) << event;
    EXPECT_THAT(refused.errors, HasSubstr("try: ")) << event;
    EXPECT_EQ(refused.output, "") << event;
    EXPECT_FALSE(std::filesystem::exists(file_));
  }
}

TEST_F(EventTruth, SystemCallsAreCountedWithErrorsBytesCallersAndFiles) {
  FATHOM_NEEDS_BPF();
  const Outcome program = fathom({"record", "--syscalls", "-o", file_, "--", KNOWN_EVENTS, "20000", "1500"});
  ASSERT_TRUE(program.ok()) << program.describe();
  const json truth = json::parse(program.output);
  const Outcome said = fathom({"report", file_, "--syscalls", "--json"});
  ASSERT_TRUE(said.ok()) << said.describe();
  const json table = json::parse(said.output);
  const auto row_of = [](const json& rows, const char* key, const std::string& name) {
    for (const json& row : rows)
      if (row.at(key) == name) return row;
    ADD_FAILURE() << "no " << name << " in " << rows.dump(1);
    return json();
  };
  const json asked = row_of(table.at("calls"), "name", "getppid");
  EXPECT_EQ(asked.at("calls"), truth.at("rounds"));
  EXPECT_EQ(asked.at("errors"), 0);
  ASSERT_GT(asked.at("walked"), 0);
  for (const json& path : asked.at("paths"))
    EXPECT_THAT(path.at("path").dump(), HasSubstr("asks_for_its_parent"));
  const json closed = row_of(table.at("calls"), "name", "close");
  EXPECT_EQ(closed.at("errors"), truth.at("failed"));
  const json written = row_of(table.at("files"), "path", "/dev/null").at("written");
  EXPECT_EQ(written.at("bytes"), truth.at("bytes"));
  EXPECT_EQ(written.at("calls"), truth.at("rounds"));
  EXPECT_EQ(table.at("threads").size(), 1);
  const Outcome text = fathom({"report", file_, "--syscalls"});
  EXPECT_THAT(text.output, HasSubstr("/dev/null"));
  const Outcome none = fathom({"report", file_, "--calls"});
  EXPECT_FALSE(none.ok()) << "system calls are no probed functions";
}

TEST_F(EventTruth, TheLoadIsPartOfTheRecordingWithItsErrors) {
  FATHOM_NEEDS_BPF();
  const Outcome recorded = fathom({"record", "-n", "no-such-name", "--load", "true", "-o", file_});
  EXPECT_FALSE(recorded.ok());
  Running target({"sleep", "30"});
  const Outcome failed =
      fathom({"record", "-p", std::to_string(target.pid()), "--load",
              "echo sent 1; echo 'Error: nonce too low --password=hunter2' >&2; exit 3", "-o", file_});
  EXPECT_EQ(failed.exit_status, 1) << failed.describe();
  EXPECT_THAT(failed.errors, HasSubstr("error: the load failed with status 3"));
  EXPECT_THAT(failed.errors, HasSubstr("try: the command of --load alone"));
  EXPECT_EQ(failed.output, "sent 1\n") << "what the load prints is passed on";
  const Outcome said = fathom({"report", file_, "--all"});
  EXPECT_THAT(said.output, HasSubstr("the load failed with status 3"));
  EXPECT_THAT(said.output, HasSubstr("nonce too low"));
  const Outcome everything = fathom({"export", file_, "-o", folder_ / "x.json"});
  ASSERT_TRUE(everything.ok()) << everything.describe();
  std::ifstream file(folder_ / "x.json");
  const std::string json_text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(json_text, HasSubstr("load_status"));
  EXPECT_THAT(json_text, testing::Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace fathom::support
