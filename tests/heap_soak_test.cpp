// A process lives through its heap being traced: real servers under load, a program that does everything at
// once, and ends at the worst moments. A short form runs with the other tests; FATHOM_SOAK_CYCLES=1000 (make
// soak) makes it long.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <random>
#include <thread>

#include "support/anvil.h"
#include "support/environment.h"
#include "support/fathom_program.h"
#include "support/heap_answer.h"
#include "support/process_code.h"

namespace fathom::support {
namespace {

using std::chrono::milliseconds;

int cycles(int short_form) {
  const char* asked = std::getenv("FATHOM_SOAK_CYCLES");
  return asked == nullptr ? short_form : std::atoi(asked);
}

class HeapSoak : public testing::Test {
 protected:
  std::vector<std::string> record(pid_t pid, const char* mode, const char* seconds) {
    return {"record", mode, "-q", "-d", seconds, "-o", recording_, "-p", std::to_string(pid)};
  }
  // In and out, in both modes, with the code compared after each.
  void attach_and_detach(pid_t pid, int times) {
    const std::string before = code_of(pid);
    ASSERT_FALSE(before.empty());
    for (int i = 0; i < times; ++i) {
      const Outcome outcome = fathom(record(pid, i % 2 == 0 ? "--heap=sampled" : "--heap=exact", "0.2"));
      ASSERT_TRUE(outcome.ok()) << "cycle " << i << ": " << outcome.describe();
      ASSERT_TRUE(code_of(pid) == before) << "cycle " << i;
      ASSERT_EQ(tracer_mappings_of(pid), 0) << "cycle " << i;
    }
  }

  TempDir folder_;
  std::string recording_ = folder_ / "x.fathom";
};

TEST_F(HeapSoak, RedisUnderLoadFailsNoRequest) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const auto server_path = find_redis_server(folder_.path());
  if (!server_path) GTEST_SKIP() << "needs redis-tools, which is not installed";
  FATHOM_NEEDS_PROGRAM("redis-benchmark");
  const std::string socket = folder_ / "redis.sock";
  const Running server(
      {*server_path, "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no"},
      {.folder = folder_.path()});
  ASSERT_TRUE(wait_until([&] { return access(socket.c_str(), F_OK) == 0; }, milliseconds(5000)));
  const Running load(
      {"redis-benchmark", "-s", socket, "-t", "set,get,lpush,lpop", "-n", "1000000000", "-c", "20", "-q"});
  pause_ms(300);
  attach_and_detach(server.pid(), cycles(4));
  EXPECT_FALSE(server.finished());
  EXPECT_FALSE(load.finished()) << load.errors_so_far();  // it ends at its first failed request
}

TEST_F(HeapSoak, ARustNodeUnderLoadFailsNoRequest) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const auto program = find_anvil();
  if (!program) GTEST_SKIP() << "needs anvil, in PATH or named by ANVIL";
  const Anvil node(*program, 18547);
  std::atomic<bool> stop{false};
  std::atomic<int> answered{0}, failed{0};
  std::thread load([&] {
    while (!stop) {
      try {
        answered += node.load(0.5) > 0 ? 1 : 0;
      } catch (const std::exception&) {
        ++failed;
      }
    }
  });
  pause_ms(500);
  attach_and_detach(node.pid(), cycles(4));
  stop = true;
  load.join();
  EXPECT_GT(answered, 0);
  EXPECT_EQ(failed, 0);
}

TEST_F(HeapSoak, ForksThreadsSignalsAndLibrariesGoOn) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const int times = cycles(4);
  Running target({TORTURE, std::to_string(times * 2 + 4), TORTURE_PLUGIN});
  pause_ms(500);
  const std::string before = code_of(target.pid());
  for (int i = 0; i < times && !target.finished(); ++i) {
    const Outcome outcome =
        fathom(record(target.pid(), i % 2 == 0 ? "--heap=exact" : "--heap=sampled", "0.5"));
    EXPECT_TRUE(outcome.ok()) << "cycle " << i << ": " << outcome.describe();
  }
  const Outcome ended = target.wait(milliseconds(times * 3000 + 30'000));
  EXPECT_TRUE(ended.ok()) << ended.describe();
  EXPECT_NE(ended.output.find("\"failures\": 0"), std::string::npos) << ended.describe();
}

TEST_F(HeapSoak, AProfilerKilledAtAnyMomentLeavesAProcessThatCanBeRestored) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const Running target({KNOWN_HEAP, "1000000000", "3"});
  pause_ms(300);
  const std::string before = code_of(target.pid());
  std::mt19937 random(7);
  for (int i = 0; i < cycles(8); ++i) {
    Running recorder(fathom_command(record(target.pid(), "--heap=exact", "5")));
    pause_ms(static_cast<int>(random() % 900));
    recorder.kill_and_wait();
    pause_ms(20);
    ASSERT_FALSE(target.finished()) << "cycle " << i;
    const Outcome detached = fathom({"detach", "-p", std::to_string(target.pid())});
    // 3: it was killed before anything was in.
    ASSERT_TRUE(detached.ok() || detached.exit_status == 3) << "cycle " << i << ": " << detached.describe();
    ASSERT_TRUE(code_of(target.pid()) == before) << "cycle " << i;
    const double cpu = cpu_seconds_of(target.pid());
    ASSERT_TRUE(wait_until([&] { return cpu_seconds_of(target.pid()) > cpu + 0.01; }, milliseconds(3000)))
        << "cycle " << i << ": the target does not run";
  }
}

TEST_F(HeapSoak, ATargetKilledAtAnyMomentLeavesAFile) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  std::mt19937 random(8);
  for (int i = 0; i < cycles(6); ++i) {
    Running target({KNOWN_HEAP, "1000000000", "3"});
    pause_ms(50);
    Running recorder(fathom_command(
        {"record", "--heap=exact", "-q", "-o", recording_, "-p", std::to_string(target.pid())}));
    pause_ms(static_cast<int>(random() % 900));
    target.kill_and_wait();
    const Outcome recorded = recorder.wait(milliseconds(10'000));
    EXPECT_FALSE(recorded.timed_out);
    EXPECT_EQ(recorded.signal, 0) << recorded.describe();
    // It may have gone before there was anything to record.
    if (!recorded.ok()) {
      EXPECT_NE(recorded.errors.find("fathom: "), std::string::npos) << recorded.describe();
    }
  }
}

}  // namespace
}  // namespace fathom::support
