// The recording ends in every way it can: the profiler is asked to stop, is killed, its time is over; the
// target ends or crashes. Always there is a file to read, a target that runs on unless it ended by itself,
// and nothing left in the kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/environment.h"
#include "support/fathom_program.h"
#include "support/kernel_objects.h"

namespace fathom::support {
namespace {

using std::chrono::milliseconds;

std::string content(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Samples that a second of CPU time should give, less what may be under way when the end comes.
constexpr double kSamplesPerCpuSecond = 0.9 * 999;

// The executable mappings and who traces it: what an intruder would change.
std::string outside_of(pid_t pid) {
  std::istringstream maps(content("/proc/" + std::to_string(pid) + "/maps"));
  std::string seen;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("r-xp") != std::string::npos) seen += line + "\n";
  }
  const std::string status = content("/proc/" + std::to_string(pid) + "/status");
  return seen + status.substr(status.find("TracerPid:"), 12);
}

// Of the program with this path; 0: there is none.
pid_t pid_of(const std::string& path) {
  return static_cast<pid_t>(std::atoi(run({"pgrep", "-f", "^" + path + "( |$)"}).output.c_str()));
}

// One letter, as in proc(5); 0: there is no such process.
char state_of(pid_t pid) {
  const std::string stat = content("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = stat.rfind(')');
  return name_end == std::string::npos ? '\0' : stat.at(name_end + 2);
}

bool has_ended(pid_t pid) {
  const char state = state_of(pid);
  return state == '\0' || state == 'Z' || state == 'X';
}

// Those that live. By what is read without a lock of their memory, which pgrep waits for.
std::vector<pid_t> processes_named(const std::string& name) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto pid = static_cast<pid_t>(std::atoi(entry.path().filename().c_str()));
    if (pid > 0 && content(entry.path() / "comm") == name + "\n" && !has_ended(pid)) found.push_back(pid);
  }
  return found;
}

class Kill : public testing::Test {
 protected:
  // A target that has been running for a moment, and a recording of it.
  Running start_target(const char* seconds = "30") {
    Running target({CPU_SHARES, seconds});
    pause_ms(300);
    return target;
  }
  Running attach(const Running& target, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"-p", std::to_string(target.pid())});
    return start_recording(recording_, more);
  }
  void expect_clean_kernel(const KernelObjects& held) {
    KernelObjects left;
    EXPECT_TRUE(wait_until([&] { return (left = still_there(held)).empty(); }, milliseconds(30'000)))
        << left.programs.size() << " programs, " << left.links.size() << " links, " << left.maps.size()
        << " maps are still in the kernel";
  }

  TempDir folder_;
  std::string recording_ = folder_ / "x.fathom";
};

TEST_F(Kill, KilledAtAnyMomentItLeavesAReadableFileAndNothingElse) {
  FATHOM_NEEDS_BPF();
  const Running target = start_target();
  const std::string before = outside_of(target.pid());
  Running recorder = attach(target);
  pause_ms(500);
  const double cpu_at_start = cpu_seconds_of(target.pid());
  pause_ms(3000);
  const double cpu_before_last_second = cpu_seconds_of(target.pid());
  pause_ms(1500);
  const KernelObjects held = objects_of(recorder.pid());
  EXPECT_FALSE(held.programs.empty());
  recorder.kill_and_wait();

  EXPECT_FALSE(target.finished());
  EXPECT_EQ(outside_of(target.pid()), before);
  expect_clean_kernel(held);
  const Report report(recording_);
  EXPECT_GT(report.samples(), kSamplesPerCpuSecond * (cpu_before_last_second - cpu_at_start));
  EXPECT_GT(report.duration_s(), 3);
  EXPECT_TRUE(report.has_function("work_gamma")) << "names are written while recording";
}

TEST_F(Kill, KilledWhileStartingItLeavesNothingBehind) {
  FATHOM_NEEDS_BPF();
  const Running target = start_target();
  for (const int delay_ms : {5, 20, 40, 80, 160}) {
    Running recorder(fathom_command({"record", "-o", folder_ / (std::to_string(delay_ms) + ".fathom"), "-p",
                                     std::to_string(target.pid())}));
    pause_ms(delay_ms);
    const KernelObjects held = objects_of(recorder.pid());
    recorder.kill_and_wait();
    expect_clean_kernel(held);
    EXPECT_FALSE(target.finished());
  }
}

class KillBySignal : public Kill, public testing::WithParamInterface<int> {};

TEST_P(KillBySignal, AskedToStopItFinishesTheFile) {
  FATHOM_NEEDS_PERF_EVENT();
  const Running target = start_target();
  const std::string before = outside_of(target.pid());
  Running recorder = attach(target);
  pause_ms(300);
  const double cpu_at_start = cpu_seconds_of(target.pid());
  pause_ms(1500);
  const KernelObjects held = objects_of(recorder.pid());
  const double cpu_recorded = cpu_seconds_of(target.pid()) - cpu_at_start;
  recorder.send(GetParam());
  const Outcome outcome = recorder.wait(milliseconds(30'000));
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
  EXPECT_FALSE(target.finished());
  EXPECT_EQ(outside_of(target.pid()), before);
  expect_clean_kernel(held);
  EXPECT_GT(Report(recording_).samples(), kSamplesPerCpuSecond * cpu_recorded);
}
// Not only termination requests: every signal that a program does not expect would end it in the middle of
// its work.
INSTANTIATE_TEST_SUITE_P(Signals, KillBySignal,
                         testing::Values(SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM,
                                         SIGXCPU),
                         [](const auto& parameter) { return std::string(sigabbrev_np(parameter.param)); });

TEST_F(Kill, StopsWhenTheTimeIsOver) {
  FATHOM_NEEDS_PERF_EVENT();
  const Running target = start_target();
  Running recorder = attach(target, {"-d", "2"});
  const Outcome outcome = recorder.wait(milliseconds(10'000));
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
  EXPECT_FALSE(target.finished());
  EXPECT_GT(Report(recording_).duration_s(), 1.9);
  EXPECT_LT(Report(recording_).duration_s(), 6) << "the target runs on";
}

TEST_F(Kill, EndsWithItsTarget) {
  FATHOM_NEEDS_PERF_EVENT();
  // Long enough that the recording has begun before it ends, also where other programs take the CPUs.
  Running target = start_target("10");
  Running recorder = attach(target);
  pause_ms(300);
  const double cpu_at_start = cpu_seconds_of(target.pid());
  const Outcome target_outcome = target.wait(milliseconds(40'000));
  EXPECT_EQ(target_outcome.exit_status, 0);
  const Outcome outcome = recorder.wait(milliseconds(30'000));
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
  EXPECT_GT(Report(recording_).samples(), kSamplesPerCpuSecond * (target_outcome.cpu_seconds - cpu_at_start));
}

TEST_F(Kill, EndsWithATargetThatCrashes) {
  FATHOM_NEEDS_PERF_EVENT();
  Running target = start_target();
  Running recorder = attach(target);
  pause_ms(300);
  const double cpu_at_start = cpu_seconds_of(target.pid());
  pause_ms(1500);
  const double cpu_recorded = cpu_seconds_of(target.pid()) - cpu_at_start;
  target.send(SIGSEGV);
  // Old kernels report how it ended until its parent, which is this test, has waited for it.
  const Outcome outcome = recorder.wait(milliseconds(30'000));
  EXPECT_EQ(target.wait(milliseconds(10'000)).signal, SIGSEGV);
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
  const Report report(recording_);
  EXPECT_GT(report.samples(), kSamplesPerCpuSecond * cpu_recorded);
  EXPECT_TRUE(report.has_function("work_beta"));
  const Outcome screen = fathom({"report", recording_});
  EXPECT_THAT(screen.output.substr(0, screen.output.find('\n')), testing::HasSubstr("crashed: SIGSEGV"));
}

// Killing the profiler must not take the launched program with it.
TEST_F(Kill, ALaunchedTargetSurvivesTheProfiler) {
  FATHOM_NEEDS_PERF_EVENT();
  std::filesystem::copy_file(CPU_SHARES, folder_ / "survivor");
  Running recorder = start_recording(recording_, {"--", folder_ / "survivor", "120"});
  pid_t survivor = 0;
  ASSERT_TRUE(
      wait_until([&] { return (survivor = pid_of(folder_ / "survivor")) != 0; }, milliseconds(30'000)));
  // It can be read while it grows.
  EXPECT_TRUE(wait_until([&] { return Report(recording_).samples() > 0; }, milliseconds(60'000)));
  recorder.send(SIGKILL);
  EXPECT_TRUE(wait_until([&] { return recorder.finished(); }, milliseconds(30'000)));
  const double cpu_then = cpu_seconds_of(survivor);
  EXPECT_GT(cpu_then, 0);
  EXPECT_TRUE(wait_until([&] { return cpu_seconds_of(survivor) > cpu_then; }, milliseconds(30'000)));
  EXPECT_GT(Report(recording_).samples(), 0) << "how many is what other programs left of the CPUs";
  EXPECT_EQ(::kill(survivor, SIGKILL), 0) << "it runs until it is ended";
}

// To trace the heap from the first instruction on, the program is held there for a moment.
TEST_F(Kill, KilledAtAnyMomentOfALaunchItLeavesNoProcessStopped) {
  FATHOM_NEEDS_HEAP_TRACING();
  const std::string program = folder_ / "launchling";
  std::filesystem::copy_file(CPU_SHARES, program);
  int ran_on = 0;
  // As long as it takes to launch here: a slow machine needs more than the first few.
  for (int delay_ms = 20; delay_ms <= 380 || (ran_on == 0 && delay_ms <= 10'000);
       delay_ms += std::max(60, delay_ms / 4)) {
    Running recorder(
        fathom_command({"record", "-q", "--memory", "--heap=exact", "-o", recording_, "--", program, "60"}));
    pause_ms(delay_ms);
    recorder.send(SIGKILL);  // kill_and_wait() would take its children along
    // Often a second and more: the kernel frees BPF programs first.
    EXPECT_TRUE(wait_until([&] { return recorder.finished(); }, milliseconds(20'000)));
    const auto launched = processes_named("launchling");
    if (launched.empty()) continue;
    const pid_t pid = launched.front();
    const double cpu_then = cpu_seconds_of(pid);
    EXPECT_TRUE(
        wait_until([&] { return has_ended(pid) || cpu_seconds_of(pid) > cpu_then; }, milliseconds(20'000)))
        << "killed after " << delay_ms << " ms: the program is in state " << state_of(pid);
    ran_on += has_ended(pid) ? 0 : 1;
    ::kill(pid, SIGKILL);
    EXPECT_TRUE(wait_until([&] { return has_ended(pid); }, milliseconds(20'000)))
        << "in state " << state_of(pid);
  }
  EXPECT_GT(ran_on, 0) << "no kill came after the launch";
}

}  // namespace
}  // namespace fathom::support
