#include "record/session/memory/resource_series.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "base/fd.h"
#include "model/newest_descriptors.h"

namespace fathom::session {
namespace {

constexpr std::uint64_t kMinute = 60'000'000'000;  // longer than any pause

const model::Series* series_named(const model::Profile& profile, std::string_view name) {
  for (const model::Series& series : profile.series)
    if (profile.strings[series.name] == name) return &series;
  return nullptr;
}

TEST(ResourceSeries, FollowsDescriptorsAndNamesTheNewest) {
  model::Profile profile;
  ResourceSeries resources(profile);
  const std::vector<std::int32_t> pids{::getpid()};
  std::vector<Fd> opened;
  for (std::uint64_t i = 1; i <= 4; ++i) {
    resources.look(i * kMinute, pids);
    for (int each = 0; each < 10; ++each) opened.emplace_back(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  }
  resources.finish(5 * kMinute, pids, profile.meta.facts);
  const model::Series* descriptors = series_named(profile, "process.descriptors");
  ASSERT_NE(descriptors, nullptr);
  ASSERT_EQ(descriptors->points.size(), 5U);
  for (std::size_t i = 1; i < 5; ++i)
    EXPECT_EQ(descriptors->points[i].value, descriptors->points[i - 1].value + 10);
  EXPECT_EQ(descriptors->pid, ::getpid());
  ASSERT_NE(series_named(profile, "process.threads"), nullptr);
  const auto newest = model::newest_descriptors_of(::getpid(), profile.meta.facts);
  ASSERT_TRUE(newest);
  EXPECT_EQ(newest->kind, "/dev/zero");
  EXPECT_GT(newest->alike * 2, newest->asked);
}

TEST(ResourceSeries, HasNoRowOfChildrenForAProcessWithoutAny) {
  model::Profile profile;
  ResourceSeries resources(profile);
  const pid_t child = ::fork();
  if (child == 0)
    for (;;) ::pause();
  resources.look(kMinute, std::vector<std::int32_t>{child});
  EXPECT_EQ(series_named(profile, "process.children"), nullptr);
  ::kill(child, SIGKILL);
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  resources.look(2 * kMinute, std::vector<std::int32_t>{::getpid()});
  // Where the kernel lists children.
  if (const model::Series* zombies = series_named(profile, "process.zombies")) {
    EXPECT_GE(zombies->points.back().value, 1);
  }
  ::waitpid(child, nullptr, 0);
}

TEST(ResourceSeries, ReadsNoMoreOftenThanIsDue) {
  model::Profile profile;
  ResourceSeries resources(profile);
  const std::vector<std::int32_t> pids{::getpid()};
  for (std::uint64_t i = 0; i < 10; ++i) resources.look(kMinute + i, pids);
  ASSERT_NE(series_named(profile, "process.descriptors"), nullptr);
  EXPECT_EQ(series_named(profile, "process.descriptors")->points.size(), 1U);
}

TEST(NewestDescriptors, AreReadAsTheyWereWritten) {
  std::map<std::string, std::string> facts;
  model::put_newest_descriptors(7, {32, 30, "/tmp/a file"}, facts);
  EXPECT_EQ(model::newest_descriptors_of(7, facts), (model::NewestDescriptors{32, 30, "/tmp/a file"}));
  EXPECT_FALSE(model::newest_descriptors_of(8, facts));
  for (const char* text : {"", "3", "3 9 socket", "3 2", "x 2 socket"}) {
    facts["descriptors.9"] = text;
    EXPECT_FALSE(model::newest_descriptors_of(9, facts)) << text;
  }
}

}  // namespace
}  // namespace fathom::session
