#include "record/session/memory/memory_series.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

namespace fathom::session {
namespace {

class Children {
 public:
  explicit Children(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const pid_t pid = ::fork();
      if (pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) ::pause();
      }
      if (pid > 0) pids_.push_back(pid);
    }
    std::ranges::sort(pids_);
  }
  ~Children() {
    for (const std::int32_t pid : pids_) ::kill(pid, SIGKILL);
    for (const std::int32_t pid : pids_) ::waitpid(pid, nullptr, 0);
  }
  const std::vector<std::int32_t>& pids() const { return pids_; }

 private:
  std::vector<std::int32_t> pids_;
};

std::size_t open_files() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::set<std::int32_t> told(const model::Profile& profile, std::string_view name) {
  std::set<std::int32_t> pids;
  for (const model::Series& series : profile.series)
    if (profile.strings[series.name] == name && !series.points.empty()) pids.insert(series.pid);
  return pids;
}

// A build server's recording has hundreds of them, and this process may open 1,024 files.
TEST(MemorySeries, FilesOfManyProcessesAreNotAllKeptOpen) {
  const Children children(3 * MemorySeries::kMostKept);
  ASSERT_EQ(children.pids().size(), 3 * MemorySeries::kMostKept);
  model::Profile profile;
  MemorySeries series(profile);
  const std::size_t before = open_files();
  series.sample(1'000, children.pids(), children.pids());
  series.sample(2'000, children.pids(), children.pids());
  EXPECT_LE(open_files() - before, 7 * MemorySeries::kMostKept);
  EXPECT_EQ(told(profile, "memory.rss_anon").size(), children.pids().size()) << "each is told in any case";
  EXPECT_EQ(told(profile, "memory.minor_faults").size(), MemorySeries::kMostKept);
  EXPECT_GT(series.resident_bytes(), static_cast<double>(children.pids().size()) * 64 * 1024);
  series.sample(3'000, {}, {});
  EXPECT_EQ(open_files(), before) << "those that are gone are let go";
}

}  // namespace
}  // namespace fathom::session
