// `fathom stacks` against programs that know what they are stuck in: the first verdict is right for 20 seeds of each kind, and
// healthy programs get no claim.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

using nlohmann::json;
using testing::AnyOf;
using testing::HasSubstr;

constexpr int kSeeds = 5;  // 20 of 20 were right on 2026-11-27; each takes 0.7 s

json look_at(const std::vector<std::string>& target, const std::vector<std::string>& options = {}) {
  std::vector<std::string> arguments{"stacks", "--json"};
  arguments.insert(arguments.end(), target.begin(), target.end());
  arguments.insert(arguments.end(), options.begin(), options.end());
  const Outcome said = fathom(arguments);
  EXPECT_TRUE(said.ok()) << said.describe();
  return said.ok() ? json::parse(said.output) : json();
}

// Waits for its answer.
json answer(const Running& program) {
  std::string text;
  const bool answered = wait_until(
      [&] {
        text = program.output_so_far();
        return text.find('\n') != std::string::npos;
      },
      std::chrono::seconds(20));
  EXPECT_TRUE(answered);
  return json::parse(text);
}

const json* thread_of(const json& look, int tid) {
  for (const json& thread : look.at("threads"))
    if (thread.at("tid") == tid) return &thread;
  return nullptr;
}

class StuckThreads : public testing::TestWithParam<const char*> {};

TEST_P(StuckThreads, TheFirstVerdictIsTheTruth) {
  for (int seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const Running program({STUCK_THREADS, GetParam(), std::to_string(seed)});
    const json truth = answer(program);
    const json said = look_at({"-p", std::to_string(program.pid())});
    const json& look = said.at("looks").at(0);
    const json& verdict = look.at("verdicts").at(0);
    EXPECT_EQ(verdict.at("finding"), truth.at("finding")) << look.at("verdicts").dump(1);
    EXPECT_EQ(verdict.at("behind"), truth.at("behind")) << look.at("verdicts").dump(1);
    EXPECT_EQ(verdict.at("threads").get<std::set<int>>(), truth.at("threads").get<std::set<int>>())
        << verdict.dump(1);
    const std::string function = truth.at("function");
    if (function.empty()) continue;
    const json* first = thread_of(look, verdict.at("threads").at(0));
    ASSERT_NE(first, nullptr);
    // The threads of a circle have lines of their own below the sentence.
    const bool circle = truth.at("finding") == "deadlock" || truth.at("finding") == "likely-deadlock";
    if (verdict.at("threads").size() == 1 || !circle) {
      EXPECT_THAT(verdict.at("text").get<std::string>(), HasSubstr(function));
    }
    bool named = false;
    for (const json& tid : verdict.at("threads"))
      named |= thread_of(look, tid)->at("function").get<std::string>().find(function) != std::string::npos;
    EXPECT_TRUE(named) << look.at("threads").dump(1);
    EXPECT_FALSE(first->at("line").is_null()) << first->dump(1);
    if (testing::Test::HasFailure()) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, StuckThreads,
                         testing::Values("circle", "circle-checked", "circle-timed", "circle-robust",
                                         "circle-rwlock", "circle-rust", "self", "join", "exited",
                                         "holder-sleeps", "holder-sleeps-pi", "holder-reads", "holder-runs",
                                         "pool", "condition", "shared", "file-lock", "busy"),
                         [](const auto& kind) {
                           std::string name = kind.param;
                           std::erase(name, '-');
                           return name;
                         });

// Circles, pools that wait for themselves and holders that are gone: nothing of the kind is there.
void expect_no_claim(const json& said) {
  for (const json& verdict : said.at("looks").at(0).at("verdicts"))
    EXPECT_THAT(verdict.at("finding").get<std::string>(), AnyOf("idle", "waits", "busy", "uninterruptible"))
        << verdict.dump(1);
}

TEST(HealthyThreads, APoolWithoutWorkIsNoClaim) {
  for (int seed = 1; seed <= kSeeds; ++seed) {
    const Running program({STUCK_THREADS, "idle-pool", std::to_string(seed)});
    (void)answer(program);
    expect_no_claim(look_at({"-p", std::to_string(program.pid())}));
  }
}

struct Healthy {
  const char* name;
  std::vector<std::string> command;
};

class HealthyPrograms : public testing::TestWithParam<Healthy> {};

TEST_P(HealthyPrograms, IdleIsNoClaim) {
  FATHOM_NEEDS_PROGRAM(GetParam().command.front());
  const Running program(GetParam().command);
  pause_ms(1500);
  ASSERT_FALSE(program.finished());
  expect_no_claim(look_at({"-p", std::to_string(program.pid())}));
}

INSTANTIATE_TEST_SUITE_P(
    Programs, HealthyPrograms,
    testing::Values(
        Healthy{"redis", {"redis-server", "--bind", "127.0.0.1", "--port", "18546", "--save", ""}},
        Healthy{"anvil", {"anvil", "--port", "18545", "--silent"}},
        Healthy{"node", {"node", "-e", "setInterval(() => 0, 1000)"}},
        Healthy{
            "python",
            {"python3", "-c",
             "import queue, threading, time\nq = queue.Queue()\n"
             "[threading.Thread(target=q.get, daemon=True).start() for _ in range(6)]\ntime.sleep(1000)"}},
        Healthy{"python_executor",
                {"python3", "-c",
                 "import time\nfrom concurrent.futures import ThreadPoolExecutor\np = ThreadPoolExecutor(6)\n"
                 "[p.submit(pow, 1, 1) for _ in range(9)]\ntime.sleep(1000)"}},
        Healthy{"cat", {"sh", "-c", "sleep 1000 | cat"}}, Healthy{"sleep", {"sleep", "1000"}},
        Healthy{"shell", {"sh", "-c", "sleep 1000; true"}}),
    [](const auto& program) { return std::string(program.param.name); });

TEST(Stacks, TextNamesTheCircleFirst) {
  const Running program({STUCK_THREADS, "circle", "1"});
  const json truth = answer(program);
  const Outcome said = fathom({"stacks", "-p", std::to_string(program.pid())});
  ASSERT_TRUE(said.ok()) << said.describe();
  const std::size_t verdict = said.output.find("\n\nDeadlock: ");
  ASSERT_NE(verdict, std::string::npos) << said.output;
  EXPECT_EQ(said.output.find("\n\n"), verdict) << "it is the first paragraph below the heading";
  for (const json& tid : truth.at("threads"))
    EXPECT_THAT(said.output, HasSubstr("(thread " + tid.dump() + ") waits in ")) << said.output;
  EXPECT_THAT(said.output, HasSubstr("take_next_lock (stuck_threads.cpp:"));
}

TEST(Stacks, SeveralLooksSayWhatMoved) {
  const Running program({STUCK_THREADS, "holder-runs", "3"});
  (void)answer(program);
  const json said = look_at({"-p", std::to_string(program.pid())}, {"-c", "3", "--interval", "100ms"});
  EXPECT_EQ(said.at("looks").size(), 3u);
  // The holder works, and main sleeps no longer than a second.
  EXPECT_GE(said.at("changes").at("moved").size(), 1u);
  const std::size_t waiters = said.at("looks").at(2).at("verdicts").at(0).at("threads").size();
  EXPECT_GE(said.at("changes").at("stayed").size(), waiters);
}

TEST(Stacks, AStoppedProcessIsNamedAndRead) {
  const Running program({STUCK_THREADS, "circle", "5"});
  (void)answer(program);
  program.send(SIGSTOP);
  pause_ms(100);
  const json said = look_at({"-p", std::to_string(program.pid())});
  const json& look = said.at("looks").at(0);
  EXPECT_TRUE(look.at("targets").at(0).at("stopped"));
  for (const json& thread : look.at("threads")) EXPECT_EQ(thread.at("state"), "stopped") << thread.dump(1);
  EXPECT_EQ(look.at("verdicts").at(0).at("finding"), "deadlock") << "it would not go on either";
  EXPECT_EQ(look.at("verdicts").at(1).at("finding"), "stopped") << look.at("verdicts").dump(1);
  program.send(SIGCONT);
}

// Functions of each thread, innermost first, without what the kernel did and with inlined calls.
std::map<int, std::vector<std::string>> functions_of(const json& said) {
  std::map<int, std::vector<std::string>> functions;
  for (const json& thread : said.at("looks").at(0).at("threads")) {
    std::vector<std::string>& names = functions[thread.at("tid")];
    for (const json& frame : said.at("stacks").at(thread.at("stack").get<std::size_t>()))
      if (!frame.at("kernel")) names.push_back(frame.at("function"));
  }
  return functions;
}

TEST(Stacks, ACoreHasTheVerdictAndTheStacksOfTheLivingProcess) {
  FATHOM_NEEDS_PROGRAM("gcore");
  const TempDir folder;
  for (const char* kind : {"circle", "circle-rwlock", "exited", "pool"}) {
    SCOPED_TRACE(kind);
    const Running program({STUCK_THREADS, kind, "4"});
    (void)answer(program);
    const std::string pid = std::to_string(program.pid());
    const json live = look_at({"-p", pid});
    const Outcome dumped = run({"gcore", "-o", folder / "core", pid});
    ASSERT_TRUE(dumped.ok()) << dumped.describe();
    const std::string path = folder / ("core." + pid);
    const json core = look_at({path});
    const json &of_live = live.at("looks").at(0).at("verdicts").at(0),
               &of_core = core.at("looks").at(0).at("verdicts").at(0);
    EXPECT_EQ(of_core.at("finding"), of_live.at("finding"));
    EXPECT_EQ(of_core.at("threads"), of_live.at("threads"));
    EXPECT_EQ(functions_of(core), functions_of(live));
    if (find_program("zstd")) {
      ASSERT_TRUE(run({"zstd", "-q", "--rm", path}).ok());
      EXPECT_EQ(look_at({path + ".zst"}).at("stacks"), core.at("stacks"));
    }
  }
}

TEST(Stacks, WithoutATargetItAsksForOne) {
  EXPECT_EQ(fathom({"stacks"}).exit_status, 2);
  EXPECT_EQ(fathom({"stacks", "-p", "4194304"}).exit_status, 3);
}

}  // namespace
}  // namespace fathom::support
