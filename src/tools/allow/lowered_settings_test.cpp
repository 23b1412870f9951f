#include "tools/allow/lowered_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "base/files.h"

namespace fathom::allow {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

// A folder that stands for /proc/sys, with the defaults of Debian.
class LoweredSettingsTest : public testing::Test {
 protected:
  LoweredSettingsTest() {
    if (::mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("mkdtemp");
    fs::create_directory(folder_ + "/kernel");
    set("perf_event_paranoid", "3");
    set("kptr_restrict", "1");
  }
  ~LoweredSettingsTest() override { fs::remove_all(folder_); }

  void set(const std::string& name, const std::string& value) const {
    std::ofstream(folder_ + "/kernel/" + name) << value << "\n";
  }
  std::string get(const std::string& name) const {
    std::string value;
    std::ifstream(folder_ + "/kernel/" + name) >> value;
    return value;
  }
  std::string journal() const { return folder_ + "/journal"; }
  Result<LoweredSettings> lower(bool kernel = false) const {
    return LoweredSettings::lower(folder_, kernel, journal());
  }
  // In a child that is killed while the settings are low. Returns once it is gone.
  void lower_and_be_killed(bool guardian_too) const {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::setpgid(0, 0);
      const auto lowered = lower();
      const char done = lowered ? 'y' : 'n';
      [[maybe_unused]] const ssize_t written = ::write(ready[1], &done, 1);
      for (;;) ::pause();
    }
    char done = 0;
    ASSERT_EQ(::read(ready[0], &done, 1), 1);
    ASSERT_EQ(done, 'y');
    ASSERT_EQ(get("perf_event_paranoid"), "2");
    if (guardian_too) {
      const Result<std::string> children =
          read_file("/proc/" + std::to_string(child) + "/task/" + std::to_string(child) + "/children");
      ASSERT_TRUE(children);
      ASSERT_EQ(::kill(std::stoi(*children), SIGKILL), 0);
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(ready[0]);
    ::close(ready[1]);
  }

  std::string folder_ = "/tmp/lowered_settings.XXXXXX";
};

TEST_F(LoweredSettingsTest, AreLowerUntilTheyAreGivenBack) {
  auto lowered = lower();
  ASSERT_TRUE(lowered) << lowered.error().message;
  EXPECT_EQ(get("perf_event_paranoid"), "2");
  EXPECT_EQ(get("kptr_restrict"), "1") << "not asked for";
  ASSERT_EQ(lowered->changes().size(), 1U);
  EXPECT_EQ(setting_name(lowered->changes()[0]), "kernel.perf_event_paranoid");
  const auto of_others = lowered->give_back();
  ASSERT_TRUE(of_others);
  EXPECT_THAT(*of_others, IsEmpty());
  EXPECT_EQ(get("perf_event_paranoid"), "3");
  EXPECT_FALSE(fs::exists(journal()));
}

TEST_F(LoweredSettingsTest, TheKernelSideNeedsTwoSettings) {
  const auto lowered = lower(true);
  ASSERT_TRUE(lowered);
  EXPECT_EQ(get("perf_event_paranoid"), "1");
  EXPECT_EQ(get("kptr_restrict"), "0");
}

TEST_F(LoweredSettingsTest, ComeBackWithTheObject) {
  { ASSERT_TRUE(lower(true)); }
  EXPECT_EQ(get("perf_event_paranoid"), "3");
  EXPECT_EQ(get("kptr_restrict"), "1");
}

TEST_F(LoweredSettingsTest, AreLeftAloneWhereTheyAreLowEnough) {
  set("perf_event_paranoid", "-1");
  auto lowered = lower();
  ASSERT_TRUE(lowered);
  EXPECT_THAT(lowered->changes(), IsEmpty());
  EXPECT_EQ(get("perf_event_paranoid"), "-1");
}

TEST_F(LoweredSettingsTest, WhatSomebodyElseSetMeanwhileStays) {
  auto lowered = lower();
  ASSERT_TRUE(lowered);
  set("perf_event_paranoid", "4");
  const auto of_others = lowered->give_back();
  ASSERT_TRUE(of_others);
  EXPECT_EQ(of_others->size(), 1U);
  EXPECT_EQ(get("perf_event_paranoid"), "4");
}

TEST_F(LoweredSettingsTest, TheGuardianPutsThemBackWhenTheOwnerIsKilled) {
  lower_and_be_killed(false);
  for (int i = 0; i < 6000 && get("perf_event_paranoid") != "3"; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(get("perf_event_paranoid"), "3");
}

TEST_F(LoweredSettingsTest, TheNextStartPutsThemBackWhereTheGuardianWasKilledToo) {
  lower_and_be_killed(true);
  ASSERT_EQ(get("perf_event_paranoid"), "2");
  auto lowered = lower();
  ASSERT_TRUE(lowered) << lowered.error().message;
  ASSERT_EQ(lowered->changes().size(), 1U);
  EXPECT_EQ(lowered->changes()[0].before, 3) << "the value before the killed owner's";
}

TEST_F(LoweredSettingsTest, LeftoversAreThoseOfAnOwnerThatIsGone) {
  EXPECT_EQ(put_back_leftovers(journal()).value_or(-1), 0) << "there is no journal";
  {
    const auto lowered = lower();
    ASSERT_TRUE(lowered);
    EXPECT_EQ(put_back_leftovers(journal()).value_or(-1), 0) << "the owner lives";
    EXPECT_EQ(get("perf_event_paranoid"), "2");
  }
  lower_and_be_killed(true);
  EXPECT_EQ(put_back_leftovers(journal()).value_or(-1), 1);
  EXPECT_EQ(get("perf_event_paranoid"), "3");
  EXPECT_FALSE(fs::exists(journal()));
}

TEST_F(LoweredSettingsTest, ASecondOwnerIsRefused) {
  const auto first = lower();
  ASSERT_TRUE(first);
  const auto second = lower();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message, "another fathom allow is running");
  EXPECT_EQ(get("perf_event_paranoid"), "2");
}

TEST_F(LoweredSettingsTest, InAContainerTheHostIsNamedAsThePlace) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to mount";
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  const pid_t child = ::fork();
  if (child == 0) {  // which has mounts of its own
    const std::string kernel = folder_ + "/kernel";
    std::string said = "no mount";
    if (::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
        ::mount(kernel.c_str(), kernel.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
        ::mount(nullptr, kernel.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) == 0) {
      const auto lowered = lower();
      said = lowered ? "lowered" : lowered.error().remedy;
    }
    [[maybe_unused]] const ssize_t written = ::write(told[1], said.data(), said.size());
    ::_exit(0);
  }
  ::close(told[1]);
  char said[256] = {};
  ASSERT_GT(::read(told[0], said, sizeof(said) - 1), 0);
  ::close(told[0]);
  ::waitpid(child, nullptr, 0);
  if (std::string(said) == "no mount") GTEST_SKIP() << "needs root, to mount";
  EXPECT_THAT(said, testing::StartsWith("run it on the host"));
  EXPECT_EQ(get("perf_event_paranoid"), "3");
}

TEST_F(LoweredSettingsTest, AJournalThatOthersMayWriteIsNotBelieved) {
  std::ofstream(journal()) << folder_ << "/kernel/kptr_restrict 7 1\n";
  ::chmod(journal().c_str(), 0666);
  EXPECT_FALSE(lower());
  EXPECT_FALSE(put_back_leftovers(journal()));
  EXPECT_EQ(get("kptr_restrict"), "1");
}

}  // namespace
}  // namespace fathom::allow
