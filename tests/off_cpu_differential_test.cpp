// Two recorders at the same time: how long each thread was off its CPU, against what bpftrace sums up of the
// kernel's switch events. It adds in the kernel, as fathom does: perf, which writes each event down, was seen
// to lose most of them on some kernels.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/files.h"
#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

struct OffCpu {
  double seconds = 0;
  double preempted_s = 0;  // of them: it could have run on
  double untold_s = 0;     // not of them: between two switches away, its return was not reported
  long times = 0;
};

// Bit 8 of the state stands for a thread that was preempted; 0 is one that gave its CPU away and could run
// on.
constexpr const char* kSums = R"(
tracepoint:sched:sched_switch {
  $before = @since[args->prev_pid];
  if ($before != 0) { @untold[args->prev_pid] += nsecs - $before; }
  @since[args->prev_pid] = nsecs;
  @could_run[args->prev_pid] = args->prev_state == 0 || (args->prev_state & 0x100) != 0;
  $since = @since[args->next_pid];
  if ($since != 0) {
    @off[args->next_pid] += nsecs - $since;
    @times[args->next_pid]++;
    if (@could_run[args->next_pid] != 0) { @preempted[args->next_pid] += nsecs - $since; }
    delete(@since[args->next_pid]);
  }
}
END { clear(@since); clear(@could_run); })";

// The sums by thread, from bpftrace's JSON: a line for each of its maps.
std::map<int, OffCpu> read_sums(const std::string& text) {
  std::map<int, OffCpu> threads;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const json row = json::parse(line, nullptr, false);
    if (row.is_discarded() || row.value("type", "") != "map") continue;
    for (const auto& [name, values] : row.at("data").items()) {
      if (!values.is_object()) continue;
      for (const auto& [tid, value] : values.items()) {
        OffCpu& thread = threads[std::stoi(tid)];
        if (name == "@off") thread.seconds = value.get<double>() * 1e-9;
        if (name == "@untold") thread.untold_s = value.get<double>() * 1e-9;
        if (name == "@preempted") thread.preempted_s = value.get<double>() * 1e-9;
        if (name == "@times") thread.times = value.get<long>();
      }
    }
  }
  return threads;
}

TEST(OffCpuDifferential, ThreadsAreOffTheirCpuForAsLongAsBpftraceSays) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_PROGRAM("bpftrace");
  const TempDir folder;
  const auto bpftrace = [&](const std::string& command) {
    return run({"bpftrace", "-f", "json", "-o", folder / "sums.json", "-e", kSums, "-c", command},
               {.limit = milliseconds(60'000)});
  };
  if (const Outcome tried = bpftrace("/bin/true"); !tried.ok())
    GTEST_SKIP() << "bpftrace may not look at switches here: " << tried.errors;

  std::string command;
  for (const std::string& word : fathom_command(
           {"record", "-q", "--off-cpu", "-o", folder / "x.fathom", "--", KNOWN_WAITS, "4", folder / "data"}))
    command += (command.empty() ? "" : " ") + word;
  const Outcome outcome = bpftrace(command);
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const std::map<int, OffCpu> theirs = read_sums(read_file(folder / "sums.json").value());
  const Outcome said =
      fathom({"report", folder / "x.fathom", "--metric", "off-cpu", "--show-idle", "--json", "--top", "0"});
  ASSERT_TRUE(said.ok()) << said.describe();
  const json report = json::parse(said.output);
  int compared = 0;
  for (const json& thread : report.at("threads")) {
    if (thread.at("tid") == thread.at("pid"))
      continue;  // seen by the other to wait before it was the program
    const auto known = theirs.find(thread.at("tid").get<int>());
    ASSERT_NE(known, theirs.end()) << thread.dump();
    const double queued_s = thread.at("run_queue_s"), ours_s = thread.at("waited_s").get<double>() + queued_s;
    std::printf(
        "  %-16s bpftrace %8.4f s in %6ld, unknown in %7.4f   fathom %8.4f s, %7.4f s of them in the run "
        "queue\n",
        thread.at("name").get<std::string>().c_str(), known->second.seconds, known->second.times,
        known->second.untold_s, ours_s, queued_s);
    // Each switch is seen by the two in turn: the one that comes second sees the work of the first.
    const double margin_s = 0.002 * known->second.seconds + 0.005;
    EXPECT_GE(ours_s, known->second.seconds - margin_s) << thread.dump();
    EXPECT_LE(ours_s, known->second.seconds + known->second.untold_s + margin_s) << thread.dump();
    // The run queue is where the preempted stand, and those who were woken.
    EXPECT_GE(queued_s, 0.98 * known->second.preempted_s - 0.005) << thread.dump();
    ++compared;
  }
  EXPECT_GE(compared, 9);
}

}  // namespace
}  // namespace fathom::support
