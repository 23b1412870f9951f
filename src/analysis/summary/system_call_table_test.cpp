#include "analysis/summary/system_call_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "analysis/summary/call_table.h"
#include "model/system_call_rows.h"

namespace fathom::analysis {
namespace {

using testing::ElementsAre;

model::Calls row_of(std::uint64_t calls, std::uint64_t bytes = 0) {
  model::Calls row;
  row.calls = calls;
  row.bytes = bytes;
  return row;
}

// Rows as a recording has them.
struct Counted {
  model::Profile profile;
  model::Builder builder{profile};
  SystemCallSums all;
  Counted() {
    profile.processes.emplace_back().pid = 7;
    profile.threads.emplace_back().tid = 7;
    profile.meta.facts[model::kSystemCallsFact] = "counted";
  }
  model::ModuleId module(const char* name, std::string_view path) {
    model::Module module;
    module.kind = model::ModuleKind::kNames;
    module.name = builder.string(name);
    module.path = builder.string(path);
    return builder.module(module);
  }
  model::StackId stack(const std::string& leaf) {
    const model::ModuleId app = module("app", "");
    const model::StackId main = builder.stack({}, builder.named_frame("main", app));
    return builder.stack(main, builder.named_frame(leaf, app));
  }
  void add(const std::string& call, const std::string& thread, model::Calls row) {
    row.function = builder.function(call, module(model::kSystemCallModule, thread));
    row.returned = row.calls;
    profile.calls.push_back(row);
    all.calls += row.calls;
    all.errors += row.calls - row.sized;
    all.total_ns += row.total_ns;
    all.bytes += row.bytes;
  }
  void add_file(const std::string& path, const std::string& call, model::Calls row) {
    row.function = builder.function(path, module(model::kFileCallModule, call));
    row.returned = row.sized = row.calls;
    profile.calls.push_back(row);
  }
};

template <class Rows>
SystemCallSums summed(const Rows& rows) {
  SystemCallSums sums;
  for (const auto& row : rows) {
    sums.calls += row.sums.calls;
    sums.errors += row.sums.errors;
    sums.total_ns += row.sums.total_ns;
    sums.bytes += row.sums.bytes;
  }
  return sums;
}

TEST(SystemCallTable, ByCallAndByThreadAddUpToAllCalls) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    Counted counted;
    const char* calls[] = {"read", "write", "futex", "close"};
    const char* threads[] = {"7 app", "8 worker", "9 worker", ""};
    for (int i = 0; i < 60; ++i) {
      model::Calls row;
      row.calls = 1 + random() % 100;
      row.sized = random() % (row.calls + 1);
      row.total_ns = random() % 1'000'000;
      row.bytes = random() % 4096;
      if (random() % 3 == 0) row.stack = counted.stack("f" + std::to_string(random() % 4));
      counted.add(calls[random() % 4], threads[random() % 4], row);
    }
    counted.add_file("/data/x", "write", row_of(5, 100));
    const auto table = make_system_call_table(counted.profile, {});
    ASSERT_TRUE(table);
    EXPECT_EQ(summed(table->calls), counted.all) << seed;
    EXPECT_EQ(summed(table->threads), counted.all) << seed;
    for (const ThreadSystemCalls& thread : table->threads) {
      SystemCallSums sums = summed(thread.calls);
      sums.longest_ns = thread.sums.longest_ns;
      EXPECT_EQ(sums, thread.sums);
    }
    for (const SystemCallOfAll& call : table->calls) {
      EXPECT_EQ(summed(call.paths).calls, call.walked);
      EXPECT_LE(call.walked, call.sums.calls);
    }
  }
}

TEST(SystemCallTable, FilesHaveWhatWasReadAndWrittenOfThem) {
  Counted counted;
  counted.add_file("/data/x", "pwrite64", row_of(5, 100));
  counted.add_file("/data/x", "writev", row_of(1, 10));
  counted.add_file("/data/x", "pread64", row_of(2, 7));
  counted.add_file("socket", "sendto", row_of(2, 4000));
  counted.add_file("socket", "recvfrom", row_of(2, 1));
  const auto table = make_system_call_table(counted.profile, {});
  ASSERT_EQ(table->files.size(), 2u);
  EXPECT_EQ(table->files[0].path, "socket") << "most bytes first";
  EXPECT_EQ(table->files[0].written.bytes, 4000u);
  EXPECT_EQ(table->files[0].read.bytes, 1u);
  EXPECT_EQ(table->files[1].written.bytes, 110u);
  EXPECT_EQ(table->files[1].written.calls, 6u);
  EXPECT_EQ(table->files[1].read.bytes, 7u);
}

TEST(SystemCallTable, AThreadIsChosenByNumberOrName) {
  Counted counted;
  counted.add("read", "7 app", row_of(1));
  counted.add("read", "8 worker 1", row_of(2));
  counted.add("read", "9 worker 1", row_of(4));
  counted.add("read", "", row_of(8));
  const auto calls_of = [&](const char* thread) {
    return summed(make_system_call_table(counted.profile, {.thread = thread})->calls).calls;
  };
  EXPECT_EQ(calls_of("7"), 1u);
  EXPECT_EQ(calls_of("worker 1"), 6u);
  EXPECT_EQ(calls_of("9"), 4u);
  EXPECT_EQ(calls_of("worker"), 0u);
}

TEST(SystemCallTable, ProbedFunctionsAndSystemCallsStayApart) {
  Counted counted;
  counted.add("read", "7 app", row_of(3));
  EXPECT_FALSE(make_call_table(counted.profile, {})) << "no function was probed";
  model::Calls probed = row_of(5);
  probed.function = counted.builder.function("f", counted.module("app", ""));
  counted.profile.calls.push_back(probed);
  ASSERT_TRUE(make_call_table(counted.profile, {}));
  EXPECT_EQ(make_call_table(counted.profile, {})->functions.size(), 1u);
  EXPECT_EQ(summed(make_system_call_table(counted.profile, {})->calls).calls, 3u);
  EXPECT_FALSE(make_system_call_table(model::Profile(), {}));
}

}  // namespace
}  // namespace fathom::analysis
