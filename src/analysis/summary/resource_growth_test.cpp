#include "analysis/summary/resource_growth.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/core/hand_made_profile.h"
#include "analysis/summary/report.h"
#include "analysis/summary/resource_makers.h"
#include "model/counted_limit.h"
#include "model/newest_descriptors.h"
#include "model/system_call_rows.h"
#include "present/sentences/resource_sentences.h"

namespace fathom::analysis {
namespace {

using Course = std::function<double(double)>;  // a count by seconds

// A process whose counts were read four times a second, for 10 s.
struct CountedProcess {
  HandMade hand;
  model::ProcessId process = hand.process(10, "server");
  model::ThreadId main = hand.thread(process, 10, "server", 50'000'000);

  void add(std::string_view series, const Course& count) {
    model::Series& row = hand.profile.series.emplace_back();
    row.name = hand.profile.strings.intern(series);
    row.unit = hand.profile.strings.intern("count");
    row.pid = 10;
    for (std::uint64_t i = 0; i <= 40; ++i)
      row.points.push_back(
          {hand.profile.meta.start_ns + i * 250'000'000, std::floor(count(static_cast<double>(i) * 0.25))});
  }
  std::vector<ResourceGrowth> growth() const { return find_resource_growth(hand.profile, {}); }
};

TEST(ResourceGrowth, IsWhatRisesToTheEndAndNothingElse) {
  const auto noise = [](double at_s) { return std::fmod(at_s * 7919, 13.0); };
  struct Case {
    const char* what;
    Course count;
    bool grows;
  };
  for (const Case& each : std::vector<Case>{
           {"one every 20 ms", [](double at_s) { return 10 + 50 * at_s; }, true},
           {"one a second", [](double at_s) { return 200 + at_s; }, true},
           {"a leak below the coming and going of others",
            [&](double at_s) { return 100 + 20 * at_s + noise(at_s); }, true},
           {"a start, and then a leak", [](double at_s) { return at_s < 1 ? 3 : 60 + 5 * at_s; }, true},
           {"level", [](double) { return 64; }, false},
           {"coming and going", [&](double at_s) { return 100 + noise(at_s); }, false},
           {"a step", [](double at_s) { return at_s < 6 ? 10 : 500; }, false},
           {"a start", [](double at_s) { return at_s < 1 ? 3 : 500; }, false},
           {"a pool that is filled", [](double at_s) { return 10 + 200 * (1 - std::exp(-at_s)); }, false},
           {"growth that ended", [](double at_s) { return 10 + 20 * std::min(at_s, 5.0); }, false},
           {"a table that is doubled", [](double at_s) { return std::exp2(std::floor(at_s / 3) + 4); },
            false},
           {"less and less", [](double at_s) { return 500 - 40 * at_s; }, false},
           {"five more, which may be anything", [](double at_s) { return 10 + 0.5 * at_s; }, false}}) {
    CountedProcess counted;
    counted.add("process.descriptors", each.count);
    EXPECT_EQ(!counted.growth().empty(), each.grows) << each.what;
  }
}

TEST(ResourceGrowth, KnowsItsRateAndWhenTheLimitIsReached) {
  CountedProcess counted;
  counted.add("process.descriptors", [](double at_s) { return 20 + 50 * at_s; });
  model::put_counted_limits({10, {{model::CountedLimit::Kind::kDescriptors, 520, 1020}}},
                            counted.hand.profile.meta.facts);
  model::put_newest_descriptors(10, {32, 31, "socket"}, counted.hand.profile.meta.facts);
  const auto all = counted.growth();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].resource, CountedResource::kDescriptors);
  EXPECT_NEAR(all[0].per_s, 50, 1);
  EXPECT_EQ(all[0].limit, 1020U);
  ASSERT_TRUE(all[0].left_s);
  EXPECT_NEAR(*all[0].left_s, 10, 0.5);
  Report report;
  report.profile = &counted.hand.profile;
  EXPECT_EQ(
      present::sentence_of_resources(report),
      "File descriptors grow by 50/s (20 to 520 in 10.00 s); the limit of 1,020 (ulimit -n) is reached in 10 s; "
      "most of the newest are of the kind socket; record --syscalls counts the calls that open them, and names who makes them.");
}

TEST(ResourceGrowth, NamesZombiesAndNotTheChildrenThatTheyAre) {
  CountedProcess counted;
  counted.add("process.children", [](double at_s) { return 2 + 10 * at_s; });
  counted.add("process.zombies", [](double at_s) { return 10 * at_s; });
  for (std::int32_t pid = 20; pid < 30; ++pid) {
    const auto child = counted.hand.process(pid, "sleep");
    model::Process& row = counted.hand.profile.processes[child.value];
    row.parent_pid = 10;
    row.start_ns = counted.hand.profile.meta.start_ns + 1'000'000'000;
  }
  const auto all = counted.growth();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].resource, CountedResource::kZombies);
  EXPECT_EQ(all[0].kind, "sleep");
}

TEST(ResourceGrowth, NamesTheFunctionThatNewThreadsRun) {
  CountedProcess counted;
  counted.add("process.threads", [](double at_s) { return 1 + 4 * at_s; });
  HandMade& hand = counted.hand;
  const auto app = hand.module("server"), libc = hand.module("libc.so.6");
  const auto stack = hand.stack({hand.frame(libc, {"start_thread"}), hand.frame(app, {"serve_client"}),
                                 hand.frame(app, {"read_line"}), hand.frame(libc, {"read"})});
  for (std::int32_t tid = 20; tid < 60; ++tid) {
    const auto thread = hand.thread(counted.process, tid, "server");
    hand.profile.threads[thread.value].start_ns = hand.profile.meta.start_ns + 1'000'000'000;
    hand.wait(thread, stack, "read", 2, 8000, 0);
  }
  const auto all = counted.growth();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].kind, "serve_client");
}

model::StackId opens_of(HandMade& hand, const char* function) {
  const auto kernel = hand.module("[kernel]", model::ModuleKind::kKernel, model::SymbolSource::kKallsyms);
  return hand.stack(
      {hand.frame(hand.module("server"), {function}), hand.frame(kernel, {"__x64_sys_openat"})});
}

// Counted calls are all of them, so that what a function closes is set against what it opens.
TEST(ResourceGrowth, CountedCallsNameTheFunctionThatOpensThem) {
  CountedProcess counted;
  counted.add("process.descriptors", [](double at_s) { return 20 + 50 * at_s; });
  HandMade& hand = counted.hand;
  const auto calls = hand.module(model::kSystemCallModule, model::ModuleKind::kNames);
  const auto add = [&](const char* call, const char* function, std::uint64_t number) {
    model::Calls row;
    row.function = hand.builder.function(call, calls);
    row.process = counted.process;
    row.stack = opens_of(hand, function);
    row.calls = number;
    hand.profile.calls.push_back(row);
  };
  add("openat", "read_file", 9000);
  add("close", "read_file", 9000);
  add("openat", "load_config", 500);
  add("close", "load_config", 10);
  const auto all = counted.growth();
  ASSERT_TRUE(all.at(0).maker);
  EXPECT_EQ(all[0].maker->site, "load_config");
  EXPECT_TRUE(all[0].maker->counted);
}

// Who makes them is read off system calls that samples and waits caught, and not off the rest of the work.
TEST(ResourceGrowth, NamesTheFunctionThatOpensThem) {
  CountedProcess counted;
  counted.add("process.descriptors", [](double at_s) { return 20 + 50 * at_s; });
  HandMade& hand = counted.hand;
  const auto app = hand.module("server"), libc = hand.module("libc.so.6");
  const auto kernel = hand.module("[kernel]", model::ModuleKind::kKernel, model::SymbolSource::kKallsyms);
  const auto main = hand.frame(app, {"main"});
  const auto opens = [&](const char* function, const char* entry) {
    return hand.stack({main, hand.frame(app, {function}), hand.frame(libc, {"syscall"}),
                       hand.frame(kernel, {"do_syscall_64"}), hand.frame(kernel, {entry}),
                       hand.frame(kernel, {"kmem_cache_alloc"})});
  };
  hand.sample(counted.main, opens("load_config", "__x64_sys_openat"), 4);
  hand.sample(counted.main, opens("check_file", "__x64_sys_newfstatat"), 100);
  // Four may be chance: then all have to be of one function, and the sentence says so.
  EXPECT_EQ(counted.growth().at(0).maker->site, "load_config");
  Report report;
  report.profile = &hand.profile;
  EXPECT_NE(present::sentence_of_resources(report).find(
                "all 4 caught calls that open them are of load_config, which may be chance"),
            std::string::npos);
  CountedProcess two;
  two.add("process.descriptors", [](double at_s) { return 20 + 50 * at_s; });
  two.hand.sample(two.main, opens_of(two.hand, "load_config"), 2);
  two.hand.sample(two.main, opens_of(two.hand, "rotate_log"), 1);
  EXPECT_FALSE(two.growth().at(0).maker) << "three of two functions are too few";
  hand.sample(counted.main, opens("load_config", "__x64_sys_openat"), 4);
  hand.sample(counted.main, opens("rotate_log", "__x64_sys_openat"), 2);
  const auto all = counted.growth();
  ASSERT_TRUE(all.at(0).maker);
  EXPECT_EQ(all[0].maker->site, "load_config");
  EXPECT_NEAR(all[0].maker->share, 0.8, 1e-9);
  // One that opens more often and closes what it opened has no part in it.
  hand.sample(counted.main, opens("read_file", "__x64_sys_openat"), 50);
  EXPECT_EQ(counted.growth().at(0).maker->site, "read_file");
  hand.sample(counted.main, opens("read_file", "__x64_sys_close"), 1);
  EXPECT_EQ(counted.growth().at(0).maker->site, "load_config");
}

TEST(ResourceGrowth, DistinguishesCallsThatMakeSockets) {
  EXPECT_TRUE(creates_resource("accept4", CountedResource::kDescriptors, "socket"));
  EXPECT_FALSE(creates_resource("openat", CountedResource::kDescriptors, "socket"));
  EXPECT_TRUE(creates_resource("openat", CountedResource::kDescriptors, "/tmp/x"));
  EXPECT_FALSE(creates_resource("accept4", CountedResource::kDescriptors, "/tmp/x"));
  EXPECT_TRUE(creates_resource("accept4", CountedResource::kDescriptors, ""));
  EXPECT_FALSE(creates_resource("read", CountedResource::kDescriptors, ""));
  EXPECT_TRUE(creates_resource("clone3", CountedResource::kThreads, "run"));
  EXPECT_TRUE(creates_resource("vfork", CountedResource::kZombies, ""));
  EXPECT_EQ(system_call_of_entry("__x64_sys_openat"), "openat");
  EXPECT_EQ(system_call_of_entry("do_sys_openat2"), "");
}

TEST(ResourceGrowth, HasRatesThatPeopleRead) {
  EXPECT_EQ(present::rate_of_counts(1234.5), "1,235/s");
  EXPECT_EQ(present::rate_of_counts(50.2), "50/s");
  EXPECT_EQ(present::rate_of_counts(1.25), "1.2/s");
  EXPECT_EQ(present::rate_of_counts(0.2), "12 a minute");
  EXPECT_EQ(present::limit_in_words(CountedResource::kThreads, 0, {}), "");
  EXPECT_EQ(present::limit_in_words(CountedResource::kThreads, 4096, 7200.0),
            "the limit of 4,096 (pids.max) is reached in 2.0 h");
}

}  // namespace
}  // namespace fathom::analysis
