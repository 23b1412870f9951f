// Two profilers on the same run: shares of functions against perf's, on a build with frame pointers, where
// perf's stacks are right.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

using std::chrono::milliseconds;

struct PerfShares {
  int samples = 0;
  std::map<std::string, int> total;  // samples with the function anywhere in the stack
};

// Paragraphs of `perf script -F comm,tid,ip,sym`: a line for the sample, then one for each frame.
PerfShares read_perf_script(const std::string& text) {
  PerfShares shares;
  std::istringstream lines(text);
  std::set<std::string> in_stack;
  bool in_sample = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) {
      for (const std::string& name : in_stack) ++shares.total[name];
      in_stack.clear();
      in_sample = false;
    } else if (!in_sample) {
      in_sample = true;
      ++shares.samples;
    } else {
      std::istringstream words(line);
      std::string address, name;
      words >> address >> name;
      in_stack.insert(name);
    }
  }
  for (const std::string& name : in_stack) ++shares.total[name];
  return shares;
}

TEST(Differential, SharesAgreeWithPerfOnABuildWithFramePointers) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_PROGRAM("perf");
  const TempDir folder;
  const Running target({CPU_SHARES_FP, "20"});
  pause_ms(200);
  const std::string pid = std::to_string(target.pid());
  Running perf({"perf", "record", "-q", "-e", "cpu-clock", "-F", "999", "-g", "-o", folder / "perf.data",
                "-p", pid, "--", "sleep", "8"});
  const Outcome recorded = fathom({"record", "-F", "999", "-d", "8", "-o", folder / "x.fathom", "-p", pid});
  ASSERT_TRUE(recorded.ok()) << recorded.describe();
  const Outcome perf_outcome = perf.wait(milliseconds(20'000));
  ASSERT_TRUE(perf_outcome.ok()) << perf_outcome.describe();
  const Outcome script =
      run({"perf", "script", "--no-inline", "-i", folder / "perf.data", "-F", "comm,tid,ip,sym"});
  ASSERT_TRUE(script.ok()) << script.describe();

  const PerfShares perf_shares = read_perf_script(script.output);
  const Report report(folder / "x.fathom");
  ASSERT_GT(perf_shares.samples, 500);
  for (const char* name : {"work_alpha", "work_beta", "work_gamma", "work_delta", "descend"}) {
    const double theirs = 100.0 * perf_shares.total.at(name) / perf_shares.samples;
    // Two samplings: 2 points on a machine of our own, four standard errors of the difference where samples
    // are fewer.
    const double standard_error =
        std::sqrt(theirs * (100 - theirs) * (1 / report.samples() + 1.0 / perf_shares.samples));
    EXPECT_NEAR(report.total_percent(name), theirs, std::max(2.0, 4 * standard_error)) << name;
    std::printf("  %-11s perf %5.2f %%  fathom %5.2f %%\n", name, theirs, report.total_percent(name));
  }
}

}  // namespace
}  // namespace fathom::support
