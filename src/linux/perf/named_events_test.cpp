#include "linux/perf/named_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <filesystem>
#include <fstream>
#include <random>

namespace fathom::sources {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kIssueFormat =
    "name: block_rq_issue\nID: 2104\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
    "\n"
    "\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n"
    "\tfield:unsigned int bytes;\toffset:28;\tsize:4;\tsigned:0;\n"
    "\tfield:int error;\toffset:32;\tsize:4;\tsigned:1;\n"
    "\tfield:const char * buf;\toffset:24;\tsize:8;\tsigned:0;\n"
    "\tfield:char comm[16];\toffset:44;\tsize:16;\tsigned:0;\n"
    "\tfield:__data_loc char[] cmd;\toffset:60;\tsize:4;\tsigned:0;\n"
    "\nprint fmt: \"field:unsigned int fake;\toffset:28;\tsize:4;\"\n";

// A folder with the files of tracefs.
class Events : public testing::Test {
 protected:
  Events() {
    add("block", "block_rq_issue", kIssueFormat);
    add("block", "block_rq_complete", "name: block_rq_complete\nID: 7\nformat:\n");
    add("sched", "sched_switch", "name: sched_switch\nID: 8\nformat:\n");
  }
  ~Events() override { std::filesystem::remove_all(folder()); }
  static std::string folder() { return testing::TempDir() + "tracefs_" + std::to_string(::getpid()); }
  static void add(const std::string& system, const std::string& event, const std::string& format) {
    const std::string path = folder() + "/events/" + system + "/" + event;
    std::filesystem::create_directories(path);
    std::ofstream(path + "/format") << format;
  }
  static Result<Tracepoints> open() { return Tracepoints::open_folder(folder()); }
  static Result<std::vector<NamedEvent>> find(const std::vector<std::string>& lists) {
    const auto wishes = parse_events(lists);
    if (!wishes) return tl::unexpected<Error>(wishes.error());
    return find_events(*wishes, 99, &Events::open);
  }
};

TEST(TracepointFormat, HasItsNumberAndFieldsThatAreNumbers) {
  const auto parsed = parse_tracepoint(kIssueFormat);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->id, 2104u);
  std::vector<std::string> numbers;
  for (const TracepointField& field : parsed->fields)
    if (field.is_number()) numbers.push_back(field.name);
  EXPECT_THAT(numbers, ElementsAre("sector", "bytes", "error", "buf"));
  EXPECT_EQ(parsed->fields[1].offset, 28u);
  EXPECT_FALSE(parsed->fields[1].is_signed);
  EXPECT_TRUE(parsed->fields[2].is_signed);
}

TEST(TracepointFormat, SurvivesAnyPrefixAndAnyChangedByte) {
  const std::string whole = kIssueFormat;
  std::mt19937 random(7);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    (void)parse_tracepoint(whole.substr(0, size));
    std::string changed = whole;
    changed[size % whole.size()] = static_cast<char>(random());
    (void)parse_tracepoint(changed);
  }
  EXPECT_FALSE(parse_tracepoint(""));
  EXPECT_FALSE(parse_tracepoint("ID: x\n"));
}

TEST(EventList, AllSpellingsOfATermAreTheSame) {
  const auto parsed = [](const std::vector<std::string>& lists) { return parse_events(lists).value(); };
  const EventWish faults{.name = "page-faults", .period = 100};
  for (const char* text : {"page-faults/100", "page-faults/100/", "page-faults/period=100/",
                           "page-faults,100", "page-faults,period=100"})
    EXPECT_THAT(parsed({text}), ElementsAre(faults)) << text;
  const EventWish issue{.name = "block:block_rq_issue", .weight = "bytes"};
  for (const char* text : {"block:block_rq_issue/weight=bytes/", "block:block_rq_issue/weight=bytes",
                           "block:block_rq_issue,weight=bytes"}) {
    EXPECT_THAT(parsed({text}), ElementsAre(issue)) << text;
    EXPECT_THAT(parsed({std::string(text) + ",page-faults/100"}), ElementsAre(issue, faults)) << text;
    EXPECT_THAT(parsed({text, "page-faults/100"}), ElementsAre(issue, faults)) << text;
  }
  EXPECT_THAT(parsed({"cs/freq=99hz/"}), ElementsAre(EventWish{.name = "cs", .frequency_hz = 99}));
}

TEST(EventList, RefusesWhatMakesNoSense) {
  for (const char* text : {"page-faults/0", "page-faults/period=x/", "100", "page-faults/freq=/",
                           "page-faults/weight=/", "page-faults/colour=red/", "page-faults/100,freq=9/"}) {
    const auto parsed = parse_events({text});
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::kUsage) << text;
    EXPECT_FALSE(parsed.error().remedy.empty()) << text;
  }
}

TEST_F(Events, APatternTakesAllThatFitAndEachOnce) {
  const auto found = find({"block:*,block:block_rq_issue,page-faults,faults"});
  ASSERT_TRUE(found) << found.error().message;
  std::vector<std::string> names;
  for (const NamedEvent& event : *found) names.push_back(event.name);
  EXPECT_THAT(names, ElementsAre("block:block_rq_complete", "block:block_rq_issue", "page-faults"));
  EXPECT_EQ((*found)[1].type, std::uint32_t{PERF_TYPE_TRACEPOINT});
  EXPECT_EQ((*found)[1].config, 2104u);
}

// As perf has them. They are no tracepoints, which have a colon, too.
TEST_F(Events, AModifierIsRefusedByItsName) {
  for (const auto& [text, event] : {std::pair("page-faults:u", "-e page-faults"), std::pair("cs:k", "-e cs"),
                                    std::pair("cycles:ppp", "-e cycles")}) {
    const auto found = find({text});
    ASSERT_FALSE(found) << text;
    EXPECT_EQ(found.error().kind, ErrorKind::kUsage) << text;
    EXPECT_EQ(found.error().remedy, event);
  }
}

TEST_F(Events, AWeightIsAFieldThatIsANumber) {
  const auto found = find({"block:block_rq_issue/weight=bytes/"});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ((*found)[0].field.offset, 28u);
  for (const char* text : {"block:block_rq_issue/weight=comm/", "block:block_rq_issue/weight=nothing/",
                           "block:block_rq_issue/weight=fake/"}) {
    const auto refused = find({text});
    ASSERT_FALSE(refused) << text;
    EXPECT_THAT(refused.error().remedy, HasSubstr("bytes")) << text;
  }
  EXPECT_FALSE(find({"page-faults/weight=bytes/"}));
}

TEST_F(Events, AWrongNameHasOneThatIsSimilar) {
  EXPECT_THAT(find({"block:block_rq_isue"}).error().remedy, HasSubstr("block:block_rq_issue"));
  EXPECT_THAT(find({"page-fault"}).error().remedy, HasSubstr("page-faults"));
  EXPECT_EQ(find({"nothing:*"}).error().kind, ErrorKind::kNotFound);
  EXPECT_FALSE(find({"../../etc:passwd"}));
  EXPECT_FALSE(find({"block:../block/block_rq_issue"}));
}

TEST_F(Events, OnlyHardwareEventsGetTheRateOfTheRecording) {
  const auto found = find({"page-faults,instructions,cache-misses/1000"});
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)[0].frequency_hz, 0u);
  EXPECT_EQ((*found)[1].frequency_hz, 99u);
  EXPECT_EQ((*found)[2].frequency_hz, 0u);
  EXPECT_EQ((*found)[2].period, 1000u);
  EXPECT_FALSE(find({"block:block_rq_issue/freq=9/"})) << "a tracepoint has no rate";
}

}  // namespace
}  // namespace fathom::sources
