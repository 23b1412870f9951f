#include "tools/flight/death.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "analysis/heap/hand_made_heap.h"
#include "tools/flight/death_text.h"

namespace fathom::flight {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kMebibyte = 1 << 20;

const char* const kRecord =
    "node invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n"
    "memory: usage 409600kB, limit 409600kB, failcnt 36\n"
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/box,task_memcg=/"
    "box,"
    "task=node,pid=10,uid=0\n"
    "Memory cgroup out of memory: Killed process 10 (node) total-vm:900000kB, anon-rss:400000kB, "
    "file-rss:1000kB, "
    "shmem-rss:0kB, UID:0 pgtables:800kB oom_score_adj:0\n";

// Ten seconds of a node that leaks 30 MiB a second, in blocks of 64 KiB, under a limit of 400 MiB.
class Node : public analysis::HandMadeHeap {
 public:
  explicit Node(bool leaks = true) {
    const auto app = module("node");
    const auto pid = process(10, "node");
    thread(pid, 10, "node");
    const auto main = frame(app, {"main"});
    const auto insert = site(stack({main, frame(app, {"insert_into_index"})}));
    const auto cache = site(stack({main, frame(app, {"block_cache"})}));
    for (int second = 0; second < 10; ++second) {
      slice();
      if (second == 0) row(cache, {80, 80 * kMebibyte});
      if (leaks) row(insert, {480, 30 * kMebibyte});
    }
    for (int tick = 0; tick <= 100; ++tick) {
      const double s = tick / 10.0;
      point("memory.rss_anon", s, (90 + (leaks ? 30 * s : 0)) * kMebibyte);
      point("memory.rss_file", s, 4 * kMebibyte);
      point("memory.page_tables", s, 0.5 * kMebibyte);
    }
    profile.meta.facts["signal"] = std::to_string(SIGKILL);
    profile.meta.facts["kernel_log"] = "read";
  }
  void point(std::string_view name, double at_s, double value) {
    const auto id = profile.strings.intern(name);
    auto found = std::ranges::find_if(profile.series, [&](const auto& series) { return series.name == id; });
    if (found == profile.series.end()) {
      profile.series.push_back({id, profile.strings.intern("bytes"), 10, {}});
      found = std::prev(profile.series.end());
    }
    found->points.push_back({profile.meta.start_ns + static_cast<std::uint64_t>(at_s * 1e9), value});
  }
  void killed_by_kernel() {
    profile.meta.facts["oom_cgroup"] = "/box";
    profile.meta.facts["oom_limit_bytes"] = std::to_string(409'600U << 10);
    profile.meta.facts["kernel_record"] = kRecord;
  }
};

TEST(Death, AtALimitSaysWhoseHowMuchAndWhoHeldIt) {
  Node node;
  node.killed_by_kernel();
  const auto death = death_of(node.profile);
  ASSERT_TRUE(death);
  EXPECT_EQ(death->verdict, Verdict::kGroupLimit);
  EXPECT_EQ(death->pid, 10);
  EXPECT_EQ(death->group, "/box");
  EXPECT_EQ(death->limit_bytes, 409'600U << 10);
  ASSERT_EQ(death->holders.size(), 2U);
  EXPECT_EQ(death->holders[0].name, "insert_into_index");
  EXPECT_EQ(death->holders[0].bytes.value, 300 * kMebibyte);
  EXPECT_EQ(death->holders[0].blocks.value, 4800);
  EXPECT_EQ(death->holders[1].name, "block_cache");
  EXPECT_EQ(death->live->bytes.value, 380 * kMebibyte);
  EXPECT_FALSE(death->sampled);
  EXPECT_EQ(death->growth.kind, GrowthKind::kLeak);
  EXPECT_EQ(death->growth.sureness, Sureness::kHigh);
  ASSERT_TRUE(death->slope);
  EXPECT_NEAR(death->slope->per_second, 30 * kMebibyte, kMebibyte);
  EXPECT_EQ(death->headroom.kind, HeadroomKind::kNoneHelps);
  EXPECT_NEAR(death->headroom.seconds_at_twice, 400 / 30.0, 0.5);
}

TEST(Death, TextAnswersInItsFirstLine) {
  Node node;
  node.killed_by_kernel();
  const std::string text = death_text(*death_of(node.profile), 0);
  EXPECT_THAT(text,
              testing::StartsWith("Death: the kernel killed node (pid 10) at the limit of 400.0 MiB of"));
  EXPECT_THAT(text,
              HasSubstr("insert_into_index 300.0 MiB in 4,800 blocks; block_cache 80.0 MiB in 80 blocks"));
  EXPECT_THAT(text, HasSubstr("every call up to the kill"));
  EXPECT_THAT(text, HasSubstr("like a leak"));
  EXPECT_THAT(text, HasSubstr("none of those of insert_into_index were freed"));
  EXPECT_THAT(text, HasSubstr("with 800.0 MiB it dies 13"));
  EXPECT_THAT(text, HasSubstr("anonymous 390.6 MiB"));
}

TEST(Death, ParagraphStandsAfterTheHeadline) {
  Node node;
  node.killed_by_kernel();
  const std::string text = with_death("node · killed\n  12 s\n\nBody\n", *death_of(node.profile), 0);
  EXPECT_THAT(text, testing::StartsWith("node · killed\n  12 s\n\nDeath: "));
  EXPECT_THAT(text, testing::EndsWith("\n\nBody\n"));
}

TEST(Death, ByAnotherProcessIsNotTheKernels) {
  const auto death = death_of(Node().profile);
  ASSERT_TRUE(death);
  EXPECT_EQ(death->verdict, Verdict::kSomebodysKill);
  EXPECT_THAT(death_text(*death, 0), Not(HasSubstr("headroom")));
  EXPECT_THAT(death_text(*death, 0), HasSubstr("insert_into_index")) << "what it held is told in any case";
}

TEST(Death, OfAProgramThatEndedByItselfIsNone) {
  Node node;
  node.profile.meta.facts.erase("signal");
  node.profile.meta.facts["exit"] = "0";
  EXPECT_FALSE(death_of(node.profile));
  EXPECT_FALSE(death_of(model::Profile{}));
}

TEST(Death, CrashIsACrash) {
  Node node;
  node.killed_by_kernel();
  node.profile.meta.facts["signal"] = std::to_string(SIGSEGV);
  EXPECT_EQ(death_of(node.profile)->verdict, Verdict::kCrash);
}

// A program in Go that grew up to its limit: "no block that was recorded was live" read as if it held nothing.
TEST(Death, OfAnAllocatorThatWasNotTracedSaysNothingOfBlocks) {
  Node node(false);
  node.killed_by_kernel();
  node.profile.heap.hooks.clear();
  node.hook(node.allocator("Go's heap", node.module("node")), "every function", model::HookKind::kNone,
            "calls no malloc");
  const auto death = death_of(node.profile);
  ASSERT_TRUE(death);
  EXPECT_FALSE(death->live);
  EXPECT_FALSE(death->facts.live);
  EXPECT_TRUE(death->holders.empty());
}

TEST(Death, OfAnotherProcessOfTheGroupDoesNotExplainOurs) {
  Node node;
  node.killed_by_kernel();
  std::string record = kRecord;
  for (const char* name : {"pid=10", "process 10"})
    record.replace(record.find(name), std::string(name).size(),
                   name[0] == 'p' && name[1] == 'i' ? "pid=77" : "process 77");
  node.profile.meta.facts["kernel_record"] = record;
  EXPECT_EQ(death_of(node.profile)->verdict, Verdict::kSomebodysKill);
}

// Two programs in one group: the kernel chose a helper, and another process ended the node.
TEST(Death, KillOfAHelperInTheSameGroupIsNotTheNodes) {
  Node node;
  auto& facts = node.profile.meta.facts;
  facts["ended_pid"] = "10";
  facts["oom_cgroup"] = "/box";
  facts["oom_limit_bytes"] = std::to_string(409'600U << 10);
  facts["end.10"] = "signal 9";
  facts["end.11"] = "exit 0";
  facts["oom.12"] = "419430400 /box";  // of a child without separate data
  EXPECT_EQ(death_of(node.profile)->verdict, Verdict::kSomebodysKill);
  facts["oom.10"] = "419430400 /box";
  EXPECT_EQ(death_of(node.profile)->verdict, Verdict::kWantOfMemory);
}

TEST(Death, WithoutARecordTheCountersNameTheGroupWhoseLimitWasMet) {
  Node node;
  auto& facts = node.profile.meta.facts;
  facts["kernel_log"] = "other-numbers";
  facts["ended_pid"] = "10";
  facts["end.10"] = "signal 9";
  facts["oom.10"] = "419430400 /pod/box";
  facts["oom_cause.10"] = "limit /pod";
  auto death = death_of(node.profile);
  EXPECT_EQ(death->verdict, Verdict::kGroupLimit);
  EXPECT_EQ(death->group, "/pod");
  EXPECT_EQ(death->limit_bytes, 400U << 20);
  facts["oom_cause.10"] = "machine";
  death = death_of(node.profile);
  EXPECT_EQ(death->verdict, Verdict::kMachine);
  EXPECT_FALSE(death->limit_bytes);
  facts["oom_cause.10"] = "the weather";
  EXPECT_EQ(death_of(node.profile)->verdict, Verdict::kWantOfMemory);
}

TEST(Death, KillOfAnUnknownVictimIsAKill) {
  Node node;
  auto& facts = node.profile.meta.facts;
  facts["kernel_log"] = "unreadable";
  facts["ended_pid"] = "10";
  facts["oom_cgroup"] = "/box";
  facts["end.10"] = "signal 9";
  EXPECT_EQ(death_of(node.profile)->verdict, Verdict::kKill);
}

// The recording went on for three seconds, as other targets did.
TEST(Death, TimesCountFromTheEndOfTheProcessAndNotOfTheRecording) {
  Node node;
  node.killed_by_kernel();
  node.profile.processes.back().end_ns = node.profile.meta.start_ns + 10'100'000'000;
  node.profile.meta.end_ns = node.profile.meta.start_ns + 13'000'000'000;
  const auto death = death_of(node.profile);
  EXPECT_NEAR(death->last_rss_before_s, 0.1, 1e-6);
  EXPECT_THAT(death_text(*death, 0), HasSubstr("394.0 MiB resident, 100 ms before it was gone"));
}

TEST(Death, NumberThatWasUsedBeforeIsThatOfItsLastProcess) {
  Node node;
  node.killed_by_kernel();
  node.profile.meta.facts["ended_pid"] = "10";
  model::Process& first = node.profile.processes.back();
  model::Process second = first;
  first.end_ns = node.profile.meta.start_ns + 1'000'000'000;
  first.name = node.profile.strings.intern("shell");
  second.start_ns = node.profile.meta.start_ns + 5'000'000'000;
  node.profile.processes.push_back(second);
  const auto death = death_of(node.profile);
  EXPECT_EQ(death->name, "node");
  EXPECT_LE(death->window_s, 5) << "what was measured before is another program's";
  EXPECT_FALSE(death->live) << "and so is the heap";
}

// The kernel needs a tenth of a second to take the memory, and a reading of that time is none of its life.
TEST(Death, ReadingsWhileItFallsApartAreNotItsEnd) {
  Node node;
  node.killed_by_kernel();
  node.profile.meta.end_ns = node.profile.meta.start_ns + 10'200'000'000;
  node.point("memory.rss_anon", 10.1, 100 * kMebibyte);
  node.point("memory.rss_anon", 10.2, 0);
  const auto death = death_of(node.profile);
  EXPECT_EQ(*death->last_rss, (90 + 300 + 4) * kMebibyte);
  EXPECT_NEAR(death->last_rss_before_s, 0.2, 1e-6);
  EXPECT_NEAR(death->slope->per_second, 30 * kMebibyte, kMebibyte);
}

TEST(Death, LevelProgramHasItsLimitTooLow) {
  Node node(false);
  node.killed_by_kernel();
  const auto death = death_of(node.profile);
  EXPECT_EQ(death->growth.kind, GrowthKind::kNone);
  EXPECT_EQ(death->headroom.kind, HeadroomKind::kNeedsAtOnce);
  EXPECT_THAT(death_text(*death, 0), HasSubstr("--bisect"));
}

// Another process of the recording was counted, so the counters were read; this one's was not.
TEST(Death, KillInARemovedGroupIsNotAttributed) {
  Node node;
  node.profile.meta.facts["signal"] = "9";
  node.profile.meta.facts["end.10"] = "signal 9";
  node.profile.meta.facts["oom_unknown.10"] = "/slice/node";
  node.profile.meta.facts["oom.99"] = "none";
  node.profile.meta.facts["kernel_log"] = "unreadable";
  const auto death = death_of(node.profile);
  ASSERT_TRUE(death);
  EXPECT_EQ(death->verdict, Verdict::kKill);
  EXPECT_THAT(
      verdict_sentence(*death),
      HasSubstr("was removed before its kills were counted, so it is unknown whether memory was the reason"));
}

TEST(Death, StackAtTheWallIsPrintedLeafFirst) {
  Node node;
  node.killed_by_kernel();
  node.profile.meta.facts["wall_stack"] = "node (10)\nmemset\ninsert_into_index\nmain\n";
  EXPECT_THAT(death_text(*death_of(node.profile), 0),
              HasSubstr("memset <- insert_into_index <- main, thread node (10)"));
}

TEST(Death, OfACrashSaysWhereAndWhy) {
  Node node;
  node.profile.meta.facts["signal"] = "11";
  node.profile.meta.facts["end_stack.10"] =
      "11 1 8 140720308490240 0 10 node\n__memcpy_avx\tlibc.so.6\t\t0\nparse\tnode\tsrc/request.cpp\t40\nmain\tnode\tsrc/main.cpp\t9\n";
  const auto death = death_of(node.profile);
  ASSERT_TRUE(death);
  EXPECT_EQ(death->verdict, Verdict::kCrash);
  const std::string text = death_text(*death, 0);
  EXPECT_THAT(text, testing::StartsWith("Death: node (pid 10) crashed: SIGSEGV in "));
  EXPECT_THAT(text, HasSubstr("a null pointer (address 0x8)"));
  EXPECT_THAT(text, HasSubstr("__memcpy_avx <- parse <- main, thread node (10)"));
  nlohmann::ordered_json json;
  add_death(json, *death);
  EXPECT_EQ(json["death"]["stack"][1]["function"], "parse");
  EXPECT_EQ(json["death"]["stack"][1]["line"], 40);
  EXPECT_EQ(json["death"]["reason"], "a null pointer (address 0x8)");
}

TEST(Death, MissingStackAtTheWallIsReportedWithTheReason) {
  Node node;
  node.killed_by_kernel();
  node.profile.meta.facts["wall_unseen"] = "the tracepoint cannot be read here";
  const auto death = death_of(node.profile);
  EXPECT_THAT(death_text(*death, 0), HasSubstr("at wall   not known: the tracepoint cannot be read here"));
  nlohmann::ordered_json json;
  add_death(json, *death);
  EXPECT_EQ(json["death"]["wall_unseen"], "the tracepoint cannot be read here");
}

TEST(Death, FactsThatMakeNoSenseAreLeftOut) {
  Node node;
  node.profile.meta.facts["kernel_record"] = std::string("\0\n\xff oom-kill:constraint=", 24);
  node.profile.meta.facts["wall_stack"] = "alone";
  node.profile.meta.facts["signal"] = "9";
  for (model::Series& series : node.profile.series)
    for (model::Point& point : series.points) point.value = std::numeric_limits<double>::quiet_NaN();
  const auto death = death_of(node.profile);
  ASSERT_TRUE(death);
  EXPECT_FALSE(death->wall);
  EXPECT_FALSE(death->slope);
  nlohmann::ordered_json json;
  add_death(json, *death);
  EXPECT_EQ(json["death"]["pid"], 10);
}

TEST(Death, JsonHasTheSameFacts) {
  Node node;
  node.killed_by_kernel();
  nlohmann::ordered_json json;
  add_death(json, *death_of(node.profile));
  EXPECT_EQ(json["death"]["verdict"], "group-limit");
  EXPECT_EQ(json["death"]["held_by"][0]["name"], "insert_into_index");
  EXPECT_EQ(json["death"]["held_by"][0]["bytes"], 300 * kMebibyte);
  EXPECT_EQ(json["death"]["growth"]["kind"], "leak");
}

}  // namespace
}  // namespace fathom::flight
