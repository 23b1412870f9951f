#include "tools/doctor/malloc_conf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "attach/allocators/testing_libraries.h"
#include "tools/doctor/jemalloc_settings.h"

namespace fathom::doctor {
namespace {

using testing::HasSubstr;

ConfRow row_of(std::string_view text, const MallocConfTarget& target = {}, std::size_t at = 0) {
  const ConfCheck check = check_malloc_conf(text, target);
  return at < check.rows.size() ? check.rows[at] : ConfRow{};
}

TEST(MallocConf, PairsThatAreWhatTheySayAreFine) {
  const ConfCheck check =
      check_malloc_conf("prof:true,lg_prof_sample:19,prof_prefix:/tmp/a,lg_prof_interval:33", {});
  ASSERT_EQ(check.rows.size(), 4u);
  for (const ConfRow& row : check.rows) EXPECT_EQ(row.verdict, ConfVerdict::kFine) << row.pair << row.text;
  EXPECT_FALSE(check.wrong());
  EXPECT_THAT(check.rows[1].text, HasSubstr("512 KiB"));
  EXPECT_THAT(check.rows[3].text, HasSubstr("8 GiB"));
}

TEST(MallocConf, MisspeltOnesAreWrongAndTheOneMeantIsNamed) {
  EXPECT_THAT(row_of("prof_activ:true").text, HasSubstr("meant is prof_active?"));
  EXPECT_THAT(row_of("lg_prof_samples:19").text, HasSubstr("meant is lg_prof_sample?"));
  EXPECT_THAT(row_of("prof_thread_name:true").text, HasSubstr("prof_sys_thread_name"));
  EXPECT_THAT(row_of("zebra_crossing_of_arenas:1").text, testing::Not(HasSubstr("meant")));
  EXPECT_EQ(row_of("prof_activ:true").verdict, ConfVerdict::kWrong);
}

TEST(MallocConf, ValuesOfAnotherKindAreWrong) {
  EXPECT_THAT(row_of("prof:1").text, HasSubstr("true or false"));
  EXPECT_THAT(row_of("lg_prof_sample:512k").text, HasSubstr("whole number"));
  EXPECT_THAT(row_of("prof").text, HasSubstr("name:value"));
  EXPECT_THAT(row_of("prof:true, prof_final:true", {}, 1).text, HasSubstr("blank"));
}

// What jemalloc 5.3.0 says of each, as the next test asks it.
constexpr std::string_view kGood[] = {"thp:default",
                                      "thp:always",
                                      "metadata_thp:auto",
                                      "metadata_thp:disabled",
                                      "dss:primary",
                                      "junk:alloc",
                                      "junk:true",
                                      "zero_realloc:abort",
                                      "percpu_arena:percpu",
                                      "narenas:default",
                                      "narenas:2",
                                      "dirty_decay_ms:-1",
                                      "dirty_decay_ms:0",
                                      "tcache_max:4096",
                                      "max_background_threads:2",
                                      "mutex_max_spin:-1",
                                      "bin_shards:1-160:5",
                                      "bin_shards:1-160:5|161-320:2",
                                      "slab_sizes:1-128:2",
                                      "stats_interval:-1",
                                      "hpa_hugification_threshold_ratio:0.95",
                                      "hpa_dirty_mult:-1",
                                      "hpa_dirty_mult:0.25",
                                      "lg_tcache_nslots_mul:-3",
                                      "lg_extent_max_active_fit:6",
                                      "retain:true",
                                      "prof_time_resolution:high"};
constexpr std::string_view kBad[] = {"thp:sometimes",
                                     "thp:auto",
                                     "metadata_thp:never",
                                     "dss:x",
                                     "junk:maybe",
                                     "zero_realloc:strict",
                                     "percpu_arena:x",
                                     "narenas:0",
                                     "narenas:x",
                                     "dirty_decay_ms:-2",
                                     "muzzy_decay_ms:-5",
                                     "oversize_threshold:x",
                                     "oversize_threshold:-1",
                                     "mutex_max_spin:-7",
                                     "bin_shards:x",
                                     "slab_sizes:x",
                                     "stats_interval:-5",
                                     "hpa_hugification_threshold_ratio:x",
                                     "hpa_dirty_mult:x",
                                     "lg_extent_max_active_fit:100",
                                     "lg_tcache_nslots_mul:40",
                                     "trust_madvise:x",
                                     "abort:yes",
                                     "background_thread:True",
                                     "narenas:"};

TEST(MallocConf, ValuesThatJemallocRefusesAreWrong) {
  for (const std::string_view pair : kGood)
    EXPECT_NE(row_of(pair).verdict, ConfVerdict::kWrong) << pair << ": " << row_of(pair).text;
  for (const std::string_view pair : kBad)
    EXPECT_EQ(row_of(pair).verdict, ConfVerdict::kWrong) << pair << ": " << row_of(pair).text;
  EXPECT_EQ(row_of("thp:sometimes").text, "takes one of default, always, never");
  EXPECT_EQ(row_of("narenas:-2").verdict, ConfVerdict::kWrong)
      << "it is read as the largest number of arenas";
}

TEST(MallocConf, TheLibraryRefusesTheSameValues) {
  const auto library = allocators::testing::libjemalloc();
  FATHOM_NEEDS(library, "libjemalloc2");
  const auto complains = [&](std::string_view pair) {
    const std::string command = "MALLOC_CONF='" + std::string(pair) + "' LD_PRELOAD=" + *library +
                                " /bin/true 2>&1 | grep -c 'conf value\\|conf pair\\|Invalid settings'";
    std::FILE* pipe = ::popen(command.c_str(), "r");
    char answer = '?';
    EXPECT_EQ(std::fread(&answer, 1, 1, pipe), 1u);
    ::pclose(pipe);
    return answer != '0';
  };
  for (const std::string_view pair : kGood) EXPECT_FALSE(complains(pair)) << pair;
  for (const std::string_view pair : kBad) EXPECT_TRUE(complains(pair)) << pair;
}

TEST(MallocConf, APrefixInAFolderThatIsMissingWritesNothing) {
  MallocConfTarget target;
  target.folder_exists = [](const std::string& folder) { return folder == "/var/dumps" || folder == "/"; };
  const auto verdict = [&](std::string_view prefix) {
    return row_of("prof:true,prof_prefix:" + std::string(prefix), target, 1).verdict;
  };
  EXPECT_EQ(verdict("/var/dumps/node"), ConfVerdict::kFine);
  EXPECT_EQ(verdict("/var/dump/node"), ConfVerdict::kWithout);
  EXPECT_EQ(verdict("/node"), ConfVerdict::kFine);
  EXPECT_EQ(verdict("dumps/node"), ConfVerdict::kFine) << "it is not known from where the program starts";
}

TEST(MallocConf, AnotherVariableThanTheAllocatorsHasNoEffect) {
  MallocConfTarget rust;
  rust.prefix = "_rjem_";
  const ConfCheck check = check_malloc_conf("MALLOC_CONF=prof:true,prof_final:true", rust);
  EXPECT_EQ(check.variable, "_RJEM_MALLOC_CONF");
  EXPECT_EQ(check.rows[0].verdict, ConfVerdict::kWithout);
  EXPECT_THAT(check.rows[0].text, HasSubstr("_RJEM_MALLOC_CONF"));
  MallocConfTarget plain;
  plain.prefix = "";
  EXPECT_EQ(row_of("_RJEM_MALLOC_CONF=prof:true", plain).verdict, ConfVerdict::kWithout);
  EXPECT_EQ(row_of("MALLOC_CONF=prof:true", plain).verdict, ConfVerdict::kFine);
  EXPECT_EQ(row_of("MALLOC_OPTIONS=prof:true").verdict, ConfVerdict::kWrong);
}

TEST(MallocConf, WithoutProfilingInTheBuildNothingOfItHasAnEffect) {
  MallocConfTarget target;
  target.profiling = false;
  const ConfCheck check = check_malloc_conf("prof:true,background_thread:true", target);
  EXPECT_EQ(check.rows[0].verdict, ConfVerdict::kWithout);
  EXPECT_EQ(check.rows[1].verdict, ConfVerdict::kFine);
  EXPECT_EQ(malloc_conf_for("leak", target).error().kind, ErrorKind::kUnsupported);
}

TEST(MallocConf, NothingIsReadBehindAPairThatEndsTheReading) {
  for (const char* text : {"prof:true,percpu_arena,narenas:1", "prof:true, lg_prof_sample:19,narenas:1"}) {
    const ConfCheck check = check_malloc_conf(text, {});
    ASSERT_EQ(check.rows.size(), 3u) << text;
    EXPECT_EQ(check.rows[0].verdict, ConfVerdict::kFine) << text;
    EXPECT_EQ(check.rows[1].verdict, ConfVerdict::kWrong) << text;
    EXPECT_EQ(check.rows[2].verdict, ConfVerdict::kWithout) << text;
  }
}

TEST(MallocConf, WithoutProfTrueTheOthersDoNothing) {
  const ConfCheck check = check_malloc_conf("lg_prof_interval:33,dirty_decay_ms:0", {});
  EXPECT_EQ(check.rows[0].verdict, ConfVerdict::kWithout);
  EXPECT_EQ(check.rows[1].verdict, ConfVerdict::kFine);
  EXPECT_THAT(check.sentences, testing::Contains(HasSubstr("prof:true is missing")));
}

TEST(MallocConf, FilesAreForetoldFromTheRateOfAllocation) {
  MallocConfTarget target;
  target.bytes_per_s = 1e9;
  // 2^30 bytes at 1 GB/s: 3,353 dumps an hour.
  EXPECT_THAT(row_of("prof:true,lg_prof_interval:30", target, 1).text,
              HasSubstr("3353 dumps and about 3353 MB an hour"));
  EXPECT_THAT(row_of("prof:true,prof_gdump:true", {}, 1).text, HasSubstr("thousands of files"));
  EXPECT_EQ(row_of("prof:true,lg_prof_interval:20", {}, 1).verdict, ConfVerdict::kDoubtful);
}

TEST(MallocConf, SamplingCostsByTheRateOfAllocation) {
  MallocConfTarget target;
  target.bytes_per_s = 1e9;
  const ConfCheck measured = check_malloc_conf("prof:true,lg_prof_sample:19", target);
  // 1,907 samples a second of 4 to 13 us.
  EXPECT_THAT(measured.rows[1].text, HasSubstr("costs 0.76 to 2.5 % of a CPU at 1000 MB/s"));
  EXPECT_FALSE(measured.assumed_rate);
  const ConfCheck assumed = check_malloc_conf("prof:true,lg_prof_sample:19", {});
  EXPECT_THAT(assumed.rows[1].text, HasSubstr("costs 0.076 to 0.25 % of a CPU at 100 MB/s"));
  EXPECT_TRUE(assumed.assumed_rate);
}

TEST(MallocConf, ARateIsAssumedOnlyForFiguresThatNeedOne) {
  MallocConfTarget target;
  for (const char* text : {"thp:always", "prof:true", "lg_prof_sample:19", "prof:true,lg_prof_sample:99",
                           "prof:true,lg_prof_interval:-1"})
    EXPECT_FALSE(check_malloc_conf(text, target).assumed_rate) << text;
  target.profiling = false;
  EXPECT_FALSE(check_malloc_conf("prof:true,lg_prof_interval:30,lg_prof_sample:19", target).assumed_rate);
}

TEST(MallocConf, AnEmptyPrefixIsReadAndWritesNoDump) {
  const ConfCheck check = check_malloc_conf("prof:true,prof_prefix:,prof_final:true", {});
  EXPECT_EQ(check.rows[1].verdict, ConfVerdict::kDoubtful);
  EXPECT_THAT(check.rows[1].text, HasSubstr("no dump automatically"));
  EXPECT_FALSE(check.wrong());
}

TEST(MallocConf, WhatMakesMemoryGrowIsDoubtful) {
  EXPECT_EQ(row_of("prof:true,lg_prof_sample:0", {}, 1).verdict, ConfVerdict::kDoubtful);
  EXPECT_EQ(row_of("prof:true,lg_prof_sample:63", {}, 1).verdict, ConfVerdict::kDoubtful);
}

TEST(MallocConf, ReportsASettingThatWritesNothing) {
  EXPECT_THAT(
      check_malloc_conf("prof:true", {}).sentences,
      testing::Contains(HasSubstr(
          "No dump is written automatically: the program must request one (prof.dump), or add lg_prof_interval:N.")));
  MallocConfTarget running;
  running.running = true;
  EXPECT_THAT(check_malloc_conf("prof:true", running).sentences,
              testing::Contains(HasSubstr("runs already")));
}

TEST(MallocConf, WhatItWritesForAPurposeIsFineByItsOwnCheck) {
  for (const char* purpose : {"leak", "production", "peak"})
    for (const double rate : {0.0, 1e5, 1e8, 1e10}) {
      MallocConfTarget target;
      target.prefix = "_rjem_";
      target.profiling = true;
      target.bytes_per_s = rate;
      const auto text = malloc_conf_for(purpose, target);
      ASSERT_TRUE(text);
      const ConfCheck check = check_malloc_conf(*text, target);
      EXPECT_FALSE(check.wrong()) << *text;
      EXPECT_TRUE(check.sentences.empty()) << *text << check.sentences.front();
    }
  EXPECT_EQ(malloc_conf_for("fun", {}).error().kind, ErrorKind::kUsage);
}

TEST(MallocConf, AnyTextIsCheckedWithoutHarm) {
  for (const char* text : {"", ",", ":", "::", "=", "a=b=c:d", "'", "prof:true|prof_final:true",
                           "lg_prof_sample:-9223372036854775808", "lg_prof_interval:-9223372036854775808"})
    check_malloc_conf(text, {});
}

TEST(MallocConf, ABarStandsInsideOfAValueAndPartsNoPairs) {
  EXPECT_FALSE(check_malloc_conf("bin_shards:1-160:16|161-512:8,slab_sizes:1-4096:17|100-200:1", {}).wrong());
  EXPECT_TRUE(check_malloc_conf("prof:true|prof_final:true", {}).wrong());
}

TEST(JemallocSettings, OfATargetReachATerminalAsTextAlone) {
  JemallocFact fact;
  fact.label = "jemalloc";
  fact.module = "/tmp/\x1b[2J";
  fact.link = "\x1b]0;x\a";
  fact.environment = {{"MALLOC_CONF", "\x1b[31m"}};
  EXPECT_EQ(to_text(fact).find('\x1b'), std::string::npos);
}

TEST(JemallocSettings, OfAnEnvironmentAreThoseVariablesAlone) {
  using namespace std::string_view_literals;
  EXPECT_THAT(
      malloc_conf_variables("SECRET=x\0MALLOC_CONF=prof:true\0_RJEM_MALLOC_CONF=\0MALLOC_CONFX=1\0broken"sv),
      testing::ElementsAre(testing::Pair("MALLOC_CONF", "prof:true"),
                           testing::Pair("_RJEM_MALLOC_CONF", "")));
}

TEST(JemallocSettings, ThePrefixIsThatOfItsFunctions) {
  EXPECT_EQ(prefix_of({"_rjem_calloc", "_rjem_malloc", "_rjem_sdallocx"}), "_rjem_");
  EXPECT_EQ(prefix_of({"free", "malloc", "mallocx"}), "");
  EXPECT_EQ(variable_of(prefix_of({"je_mallocx"})), "JE_MALLOC_CONF");
}

TEST(JemallocSettings, SayWhichVariableIsReadAndWhichIsNot) {
  JemallocFact fact{
      "jemalloc 5.3.0 (_rjem_)", "/usr/bin/node", "_rjem_", true, {{"MALLOC_CONF", "prof:true"}}, ""};
  const std::string text = to_text(fact);
  EXPECT_THAT(text, HasSubstr("built with profiling"));
  EXPECT_THAT(
      text,
      HasSubstr("MALLOC_CONF=prof:true   not read by this allocator, which looks at _RJEM_MALLOC_CONF"));
  EXPECT_THAT(text, HasSubstr("_RJEM_MALLOC_CONF was not set"));
  fact.profiling = std::nullopt;
  EXPECT_THAT(to_text(fact),
              HasSubstr("its file cannot be read, so it is unknown whether it can write heap dumps"));
  EXPECT_EQ(conf_target_of(fact).profiling, std::nullopt);
  fact.environment = {{"_RJEM_MALLOC_CONF", "prof:true,prof_finl:true"}};
  EXPECT_THAT(to_text(fact), HasSubstr("meant is prof_final?"));
}

}  // namespace
}  // namespace fathom::doctor
