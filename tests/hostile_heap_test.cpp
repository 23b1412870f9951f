// A program that overwrites the memory that it shares with its tracer, at random and without a pause, while
// fathom attaches, records, is killed and detaches. fathom ends as it should every time, and the program's
// code is in the end what its file says. FATHOM_SOAK_CYCLES=1000 makes it long; FATHOM_SOAK_SEED repeats a
// run.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>

#include "support/environment.h"
#include "support/fathom_program.h"
#include "support/process_code.h"

namespace fathom::support {
namespace {

using std::chrono::milliseconds;

int number_of(const char* variable, int otherwise) {
  const char* asked = std::getenv(variable);
  return asked == nullptr ? otherwise : std::atoi(asked);
}

// While `parent` is stopped, so that it does not notice.
void kill_children_of(pid_t parent) {
  ::kill(parent, SIGSTOP);
  for (const auto& thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", parent))) {
    std::ifstream children(thread.path() / "children");
    for (pid_t child; children >> child;) ::kill(child, SIGKILL);
  }
}

class HostileHeap : public testing::Test {
 protected:
  // It went well, or was refused in words: never a signal, never without an end.
  static void expect_ended(const Outcome& outcome, const std::string& what) {
    EXPECT_FALSE(outcome.timed_out) << what << ": " << outcome.describe();
    EXPECT_EQ(outcome.signal, 0) << what << ": " << outcome.describe();
    if (!outcome.ok()) {
      EXPECT_THAT(outcome.errors, testing::HasSubstr("fathom: ")) << what;
    }
  }
  // Leftovers are removed, or reported with the reason: within a few calls, and not in a circle.
  void expect_restored(pid_t pid, const std::string& before, const std::string& what) {
    Outcome detached;
    for (int attempt = 0; attempt < 20; ++attempt) {
      if (tracer_mappings_of(pid) == 0) break;
      detached = fathom({"detach", "-p", std::to_string(pid)}, {.limit = milliseconds(20'000)});
      expect_ended(detached, what + ", detach");
      taken_out_ += detached.ok() ? 1 : 0;
      damaged_ += detached.output.find("is damaged") != std::string::npos ? 1 : 0;
    }
    // While it is being ended by its own doing its memory goes, some of it first.
    const auto restored_or_gone = [&] {
      const std::string now = code_of(pid);
      return now == before || now.empty();
    };
    EXPECT_TRUE(wait_until(restored_or_gone, milliseconds(30'000))) << what << ": " << detached.describe();
    EXPECT_EQ(tracer_mappings_of(pid), 0) << what << ": " << detached.describe();
  }

  TempDir folder_;
  std::string recording_ = folder_ / "x.fathom";
  int taken_out_ = 0, damaged_ = 0;  // by fathom detach; of these with a head that made no sense
};

TEST_F(HostileHeap, CannotCrashTheProfilerNorKeepItsCodeChanged) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const int cycles = number_of("FATHOM_SOAK_CYCLES", 10);
  const auto seed = static_cast<unsigned>(
      number_of("FATHOM_SOAK_SEED", cycles == 10 ? 3 : static_cast<int>(std::random_device()() >> 1)));
  std::cout << "FATHOM_SOAK_SEED=" << seed << std::endl;
  std::mt19937 random(seed);
  int recorded = 0, killed = 0, died = 0;
  std::optional<Running> target;
  std::string before;
  constexpr int kCyclesOfATarget = 5;
  for (int i = 0; i < cycles && !HasFailure(); ++i) {
    if (!target || target->finished() || i % kCyclesOfATarget == 0) {
      died += target && target->finished() ? 1 : 0;
      target.emplace(std::vector<std::string>{HOSTILE_HEAP, std::to_string(random() % 100'000 + 1),
                                              random() % 3 == 0 ? "busy" : "quiet"});
      // Before it reports that, it may still be a copy of us, with our code.
      ASSERT_TRUE(wait_until([&] { return target->output_so_far() == "ready\n"; }, milliseconds(20'000)));
      before = code_of(target->pid());
      ASSERT_FALSE(before.empty());
    }
    const pid_t pid = target->pid();
    const bool exact = random() % 2 == 0, kill = random() % 3 == 0;
    const std::string what =
        fmt::format("seed {}, cycle {}, {}{}", seed, i, exact ? "exact" : "sampled", kill ? ", killed" : "");
    Running recorder(fathom_command({"record", exact ? "--heap=exact" : "--heap=sampled", "-q", "-d",
                                     kill ? "10" : "0.2", "-o", recording_, "-p", std::to_string(pid)}));
    if (kill) {
      pause_ms(300 + static_cast<int>(random() % 900));
      // Its guardian would remove the tracer at once: every other time it is killed first, so that fathom
      // detach is needed.
      if (killed++ % 2 == 0) kill_children_of(recorder.pid());
      recorder.kill_and_wait();
    } else {
      const Outcome outcome = recorder.wait(milliseconds(30'000));
      expect_ended(outcome, what);
      recorded += outcome.ok() ? 1 : 0;
      // Whatever was recorded can be read, however little sense it makes.
      if (outcome.ok() && i % 8 == 0) expect_ended(fathom({"report", recording_, "--top", "3"}), what);
    }
    std::filesystem::remove(recording_);
    expect_restored(pid, before, what);
  }
  std::cout << fmt::format(
      "{} recorded, {} killed, {} taken out afterwards, {} of them damaged, {} targets ended themselves\n",
      recorded, killed, taken_out_, damaged_, died);
  EXPECT_GT(recorded, 0);
  EXPECT_GT(damaged_, 0) << "nothing was tried";
}

}  // namespace
}  // namespace fathom::support
