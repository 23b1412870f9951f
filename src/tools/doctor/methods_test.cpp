#include "tools/doctor/methods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fathom::doctor {
namespace {

using testing::HasSubstr;

const Method& method(const std::vector<Method>& methods, const std::string& part) {
  const auto found = std::ranges::find_if(
      methods, [&](const Method& each) { return each.command.find(part) != std::string::npos; });
  EXPECT_NE(found, methods.end()) << part;
  return *found;
}

TargetFacts target() {
  TargetFacts facts;
  facts.process.pid = 12;
  facts.maps = facts.heap = {true, {}};
  facts.allocators = {{.label = "glibc 2.36", .module = "/lib/libc.so.6", .functions = {"malloc", "free"}}};
  return facts;
}

TEST(Methods, EachHasACommandACostAndWhatItShows) {
  const TargetFacts facts = target();
  for (const TargetFacts* of : {static_cast<const TargetFacts*>(nullptr), &facts})
    for (const char* engine : {"bpf", "perf", "proc", ""})
      for (const Method& each : methods_of({}, of, engine)) {
        EXPECT_EQ(each.works, each.problem.empty()) << each.command;
        EXPECT_FALSE(each.cost.empty() || each.shows.empty()) << each.command;
        EXPECT_TRUE(each.command.ends_with(of != nullptr ? "-p 12" : "-p PID") ||
                    each.command.ends_with("FOLDER"));
      }
}

// What each engine can: a table.
TEST(Methods, WorkAsTheEngineAllows) {
  MachineFacts machine;
  const auto works = [&](const char* engine, const char* part) {
    return method(methods_of(machine, nullptr, engine), part).works;
  };
  for (const char* engine : {"bpf", "perf"}) EXPECT_TRUE(works(engine, "--sources cpu"));
  for (const char* engine : {"proc", ""}) EXPECT_FALSE(works(engine, "--sources cpu"));
  for (const char* engine : {"bpf", "perf", "proc"}) EXPECT_TRUE(works(engine, "--sources wait"));
  EXPECT_FALSE(works("", "--sources wait"));
  EXPECT_TRUE(works("bpf", "--probe"));
  EXPECT_FALSE(works("perf", "--probe"));
  machine.bpf_probes = {false, "needs Linux 5.15"};
  EXPECT_EQ(method(methods_of(machine, nullptr, "bpf"), "--probe").problem, "needs Linux 5.15");
}

TEST(Methods, TheHeapNeedsAnAllocatorThatCanBeTraced) {
  TargetFacts facts = target();
  EXPECT_TRUE(method(methods_of({}, &facts, "bpf"), "--heap=exact").works);
  EXPECT_FALSE(method(methods_of({}, &facts, "bpf"), "report FOLDER").works) << "no jemalloc";
  facts.allocators.push_back({.label = "jemalloc 5.3.0", .module = "/x", .functions = {"je_malloc"}});
  EXPECT_TRUE(method(methods_of({}, &facts, "bpf"), "report FOLDER").works);
  facts.allocators.back().profiling = false;
  EXPECT_THAT(method(methods_of({}, &facts, "bpf"), "report FOLDER").problem, HasSubstr("without profiling"));
  facts.heap = {false, "a debugger traces it"};
  EXPECT_EQ(method(methods_of({}, &facts, "bpf"), "--heap ").problem, "a debugger traces it");
  facts.heap = {true, {}};
  facts.allocators.clear();
  EXPECT_THAT(method(methods_of({}, &facts, "bpf"), "--heap ").problem, HasSubstr("no allocator"));
}

TEST(Methods, TheTableHoldsNoControlCharacters) {
  TargetFacts facts = target();
  facts.heap = {false, "of \x1b[31m"};
  for (const unsigned char c : methods_table(methods_of({}, &facts, "bpf")))
    EXPECT_TRUE(c == '\n' || c >= 0x20);
}

}  // namespace
}  // namespace fathom::doctor
