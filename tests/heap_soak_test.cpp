// A process lives through its heap being traced: real servers under load, a program that does everything at
// once, threads born and dying by the ten thousand, and ends at the worst moments. A short form runs with the
// other tests; FATHOM_SOAK_CYCLES=1000 (make soak) makes it long, FATHOM_SOAK_KILLS=200 says how often a
// profiler and a target are killed. Moments are random: FATHOM_SOAK_SEED makes those of a run that is looked
// into again.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <thread>

#include "linux/process/status.h"
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

int kills(int short_form) {
  const char* asked = std::getenv("FATHOM_SOAK_KILLS");
  return asked == nullptr ? cycles(short_form) : std::atoi(asked);
}
// Always the same moments in the short form, others in each long one; either way the log has the seed.
std::mt19937 random_moments(unsigned short_form) {
  unsigned seed = short_form;
  if (const char* asked = std::getenv("FATHOM_SOAK_SEED"); asked != nullptr)
    seed = static_cast<unsigned>(std::strtoul(asked, nullptr, 10));
  else if (std::getenv("FATHOM_SOAK_KILLS") != nullptr || std::getenv("FATHOM_SOAK_CYCLES") != nullptr)
    seed = std::random_device()();
  std::cout << "FATHOM_SOAK_SEED=" << seed << std::endl;  // at once: the run may not come to its end
  return std::mt19937(seed);
}

bool is_running(pid_t pid) {
  const auto stat = process::read_stat(pid);
  return stat && stat->state != 'Z' && stat->state != 'X';
}

// A program that allocates, and what makes it.
struct Victim {
  std::unique_ptr<Running> program, load;
  pid_t pid() const { return program->pid(); }
};

class HeapSoak : public testing::Test {
 protected:
  std::vector<std::string> record(pid_t pid, const char* mode, const char* seconds) {
    return {"record", mode, "-q", "-d", seconds, "-o", recording_, "-p", std::to_string(pid)};
  }
  // In and out, in both modes, with the code compared after each.
  void attach_and_detach(pid_t pid, int times, int first = 0) {
    const std::string before = code_of(pid);
    ASSERT_FALSE(before.empty());
    for (int i = first; i < first + times; ++i) {
      const Outcome outcome = fathom(record(pid, i % 2 == 0 ? "--heap=sampled" : "--heap=exact", "0.2"));
      ASSERT_TRUE(outcome.ok()) << "cycle " << i << ": " << outcome.describe();
      ASSERT_TRUE(code_of(pid) == before) << "cycle " << i;
      ASSERT_EQ(tracer_mappings_of(pid), 0) << "cycle " << i;
    }
  }

  // `number` chooses the kind: threads that live on, threads that die at once, a server under load.
  Victim victim(int number) {
    Victim made;
    const auto start = [](std::vector<std::string> command, CommandOptions options = {}) {
      return std::make_unique<Running>(std::move(command), std::move(options));
    };
    if (number % 3 == 1) {
      made.program = start({THREAD_STORM, "0", "2", "3600"});
    } else if (const auto redis = redis_server();
               number % 3 == 2 && redis && find_program("redis-benchmark")) {
      const std::string socket = folder_ / fmt::format("redis{}.sock", number);
      made.program =
          start({*redis, "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no"},
                {.folder = folder_.path()});
      EXPECT_TRUE(wait_until([&] { return access(socket.c_str(), F_OK) == 0; }, milliseconds(30'000)));
      made.load = start({"redis-benchmark", "-s", socket, "-t", "set,get,lpush,lpop", "-n", "1000000000",
                         "-c", "20", "-q"});
    } else {
      made.program = start({KNOWN_HEAP, "1000000000", "3"});
    }
    pause_ms(100);
    return made;
  }
  std::optional<std::string> redis_server() {
    if (!looked_for_redis_) redis_ = find_redis_server(folder_.path());
    looked_for_redis_ = true;
    return redis_;
  }
  // Data written until the end can be read, or the file is rejected as no recording: a killed recorder may
  // not have written its first block.
  void expect_readable(const std::string& recording) {
    if (!std::filesystem::exists(recording)) return;
    const Outcome read = fathom({"report", recording, "--top", "3"});
    EXPECT_FALSE(read.timed_out);
    EXPECT_EQ(read.signal, 0) << read.describe();
    if (!read.ok()) {
      EXPECT_NE(read.errors.find("fathom: "), std::string::npos) << read.describe();
    }
    std::filesystem::remove(recording);
  }

  std::optional<std::string> redis_;
  bool looked_for_redis_ = false;
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
  ASSERT_TRUE(wait_until([&] { return access(socket.c_str(), F_OK) == 0; }, milliseconds(30'000)));
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
  int done = 0;
  for (int i = 0; i < times && !target.finished(); ++i) {
    const Outcome outcome =
        fathom(record(target.pid(), i % 2 == 0 ? "--heap=exact" : "--heap=sampled", "0.5"));
    if (target.finished()) break;  // it lives for so many seconds, and this machine is slow
    EXPECT_TRUE(outcome.ok()) << "cycle " << i << ": " << outcome.describe();
    ++done;
  }
  EXPECT_GT(done, 0) << "a slow machine does few in its life";
  const Outcome ended = target.wait(milliseconds(times * 3000 + 30'000));
  EXPECT_TRUE(ended.ok()) << ended.describe();
  EXPECT_EQ(answer_of(ended).at("failures"), 0) << ended.describe();
  // A child that is made between the look for parents and the stop can cost another thread a wait (src/attach/inject/WHY.md).
  EXPECT_LE(answer_of(ended).at("interrupted"), 2) << ended.describe();
}

// Threads live for some microseconds here, and tens of them begin and end while the code is changed under
// them.
TEST_F(HeapSoak, ThreadsBornAndDyingByTheTenThousandGoOn) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const int times = cycles(4);
  const Outcome alone = run({THREAD_STORM, "0", "2", "1"});
  ASSERT_TRUE(alone.ok()) << alone.describe();
  Running target({THREAD_STORM, "0", "2", std::to_string(times * 30 + 30)});
  pause_ms(300);
  int done = 0;
  for (; done < times; ++done) {
    attach_and_detach(target.pid(), 1, done);
    if (HasFatalFailure()) return;
    const HeapAnswer answer(recording_);
    // All losses are known: an address handed out twice would be an unseen free.
    EXPECT_LE(answer.heap().unseen_frees, answer.heap().lost_ring_full + answer.heap().lost_no_ring)
        << "cycle " << done << ": " << answer.losses();
    EXPECT_EQ(answer.heap().lost_damaged, 0) << "cycle " << done;
  }
  target.send(SIGTERM);
  const Outcome ended = target.wait(milliseconds(30'000));
  EXPECT_TRUE(ended.ok()) << ended.describe();
  EXPECT_EQ(answer_of(ended).at("failures"), 0);
  const double rate = answer_of(ended).at("per_second"), undisturbed = answer_of(alone).at("per_second");
  std::cout << fmt::format("{:.0f} threads a second over {} cycles, {:.0f} undisturbed\n", rate, done,
                           undisturbed);
  EXPECT_GT(rate, undisturbed / 10);
}

// Its guardian takes the tracer out; where that is killed as well, `fathom detach` does, in one call.
TEST_F(HeapSoak, AProfilerKilledAtAnyMomentLeavesNothingInTheTarget) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  constexpr int kPerVictim = 8;
  constexpr int kSignals[] = {SIGKILL, SIGQUIT, SIGKILL, SIGXCPU, SIGKILL, SIGUSR1, SIGALRM, SIGPIPE};
  std::mt19937 random = random_moments(7);
  Victim target;
  std::string before;
  int hooked = 0, guarded = 0;
  const int times = kills(8);
  for (int i = 0; i < times; ++i) {
    if (i % kPerVictim == 0) {
      target = victim(i / kPerVictim);
      pause_ms(200);
      before = code_of(target.pid());
    }
    const bool exact = random() % 2 == 0, with_guardian = i % 4 < 2;
    const int signal = with_guardian ? kSignals[random() % std::size(kSignals)] : SIGKILL;
    SCOPED_TRACE(
        fmt::format("cycle {}, signal {}, {} guardian", i, signal, with_guardian ? "with" : "without"));
    Running recorder(fathom_command(record(target.pid(), exact ? "--heap=exact" : "--heap=sampled", "5")));
    pause_ms(static_cast<int>(random() % 900));
    const std::optional<pid_t> guardian = guardian_of(recorder.pid());
    if (guardian && !with_guardian) ::kill(*guardian, SIGKILL);
    recorder.send(signal);
    if (signal == SIGKILL) recorder.kill_and_wait();
    // A signal that is only a request lets the recording end in order: on a full machine that takes its time.
    ASSERT_TRUE(wait_until([&] { return recorder.finished(); }, milliseconds(40'000)));
    ASSERT_FALSE(target.program->finished());
    if (with_guardian) {
      ASSERT_TRUE(wait_until([&] { return !guardian || !is_running(*guardian); }, milliseconds(60'000)));
      guarded += guardian ? 1 : 0;
    } else {
      pause_ms(20);
      const Outcome detached = fathom({"detach", "-p", std::to_string(target.pid())});
      // 3: it was killed before anything was in.
      ASSERT_TRUE(detached.ok() || detached.exit_status == 3) << detached.describe();
      hooked += detached.ok() ? 1 : 0;
    }
    ASSERT_TRUE(code_of(target.pid()) == before);
    ASSERT_EQ(tracer_mappings_of(target.pid()), 0);
    const double cpu = cpu_seconds_of(target.pid());
    ASSERT_TRUE(wait_until([&] { return cpu_seconds_of(target.pid()) > cpu + 0.01; }, milliseconds(30'000)))
        << "the target does not run";
    if (target.load) {
      ASSERT_FALSE(target.load->finished()) << "a request failed";
    }
    expect_readable(recording_);
  }
  std::cout << fmt::format("{} profilers killed, {} cleaned up by their guardian, {} by fathom detach\n",
                           times, guarded, hooked);
  // On a full machine most of them are killed before anything is in the target.
  EXPECT_GT(guarded + hooked, times / 16);
}

TEST_F(HeapSoak, ATargetKilledAtAnyMomentLeavesAFile) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  std::mt19937 random = random_moments(8);
  int recordings = 0;
  const int times = kills(6);
  for (int i = 0; i < times; ++i) {
    Victim target = victim(i);
    const bool exact = random() % 2 == 0;
    Running recorder(fathom_command({"record", exact ? "--heap=exact" : "--heap=sampled", "-q", "-o",
                                     recording_, "-p", std::to_string(target.pid())}));
    pause_ms(static_cast<int>(random() % 1500));
    target.program->kill_and_wait();
    const Outcome recorded = recorder.wait(milliseconds(10'000));
    EXPECT_FALSE(recorded.timed_out) << "cycle " << i;
    EXPECT_EQ(recorded.signal, 0) << "cycle " << i << ": " << recorded.describe();
    recordings += recorded.ok() ? 1 : 0;
    // It may have gone before there was anything to record.
    if (recorded.ok()) {
      EXPECT_TRUE(std::filesystem::exists(recording_)) << "cycle " << i;
    } else {
      EXPECT_NE(recorded.errors.find("fathom: "), std::string::npos) << "cycle " << i << recorded.describe();
    }
    expect_readable(recording_);
  }
  std::cout << fmt::format("{} targets killed, {} recordings\n", times, recordings);
  EXPECT_GT(recordings, times / 8);
}

}  // namespace
}  // namespace fathom::support
