#include "tools/flight/hold/hold_guardian.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/files.h"

namespace fathom::flight {
namespace {

class HoldGuardianTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "fathom-hold-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
    held = {folder + "/freezer.state", "FROZEN", "THAWED", 60'000};
    std::ofstream(held.path) << "THAWED\n";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  bool is_let_go_within(int ms) const {
    for (int waited = 0; waited < ms; ++waited) {
      if (read_file(held.path)->starts_with("THAWED")) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  std::string folder;
  Hold held;
};

TEST_F(HoldGuardianTest, ReleasesWhenTheHolderIsKilled) {
  const pid_t holder = ::fork();
  if (holder == 0) {
    auto guardian = HoldGuardian::start();
    if (!guardian || !guardian->watch(held) || !hold(held)) ::_exit(1);
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(holder, &status, 0), holder);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(is_let_go_within(30'000));
}

TEST_F(HoldGuardianTest, ReleasesWhenTheTimeIsOver) {
  auto guardian = HoldGuardian::start();
  ASSERT_TRUE(guardian);
  held.most_ms = 20;
  ASSERT_TRUE(guardian->watch(held));
  ASSERT_TRUE(hold(held));
  EXPECT_TRUE(is_let_go_within(30'000));
}

TEST_F(HoldGuardianTest, TouchesNothingOnceItWasReleased) {
  auto guardian = HoldGuardian::start();
  ASSERT_TRUE(guardian);
  ASSERT_TRUE(guardian->watch(held));
  guardian->forget();
  std::ofstream(held.path) << "FROZEN\n";  // another process's
  guardian->dismiss();                     // waits until it has ended
  EXPECT_TRUE(read_file(held.path)->starts_with("FROZEN"));
}

}  // namespace
}  // namespace fathom::flight
