#include "linux/process/environment.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace fathom::process {
namespace {

using namespace std::string_view_literals;

TEST(Environment, HoldsWholeSettings) {
  constexpr auto kText = "A=1\0PYTHONMALLOC=malloc\0B=\0"sv;
  EXPECT_TRUE(has_setting(kText, "A=1"));
  EXPECT_TRUE(has_setting(kText, "PYTHONMALLOC=malloc"));
  EXPECT_TRUE(has_setting(kText, "B="));
  EXPECT_FALSE(has_setting(kText, "PYTHONMALLOC=m"));
  EXPECT_FALSE(has_setting(kText, "MALLOC=malloc"));
  EXPECT_FALSE(has_setting("", "A=1"));
  EXPECT_TRUE(has_setting("A=1", "A=1")) << "the last one may have no end";
}

TEST(Environment, OfNoProcessIsEmpty) {
  EXPECT_FALSE(Environment(0x7fffffff).has("A=1"));
}

TEST(Environment, IsReadUpToALimit) {
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / fmt::format("environment-{}", ::getpid());
  std::ofstream(path) << std::string(100'000, 'a');
  EXPECT_EQ(read_beginning(path, 65'537).value_or("").size(), 65'537u);
  EXPECT_EQ(read_beginning(path, 1 << 20).value_or("").size(), 100'000u);
  std::filesystem::remove(path);
  EXPECT_EQ(read_beginning(path, 1), std::nullopt);
}

// A command line of zeros without end, and an environment, as a hostile process has them.
TEST(Environment, OfWhatIsLongerOnlyWholeSettingsCount) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::string first = "A=1", filler, last = "LAST=1";
    std::vector<std::string> settings{first};
    for (int i = 0; i < 12; ++i) settings.push_back(std::string(100'000, static_cast<char>('a' + i)));
    settings.push_back(last);
    std::vector<char*> environment, arguments;
    for (std::string& each : settings) environment.push_back(each.data());
    environment.push_back(nullptr);
    std::string name = "sleep", time = "60";
    arguments = {name.data(), time.data(), nullptr};
    ::execve("/bin/sleep", arguments.data(), environment.data());
    ::_exit(1);
  }
  ASSERT_GT(child, 0);
  const std::string path = fmt::format("/proc/{}/environ", child);
  // A child whose exec is refused (a small stack) has ended; its number stays until it is waited for.
  while (read_beginning(path, 4).value_or("") != std::string("A=1\0", 4)) {
    ASSERT_EQ(::waitpid(child, nullptr, WNOHANG), 0) << "sleep could not be run";
    ::usleep(1000);
  }
  Environment environment(child);
  EXPECT_TRUE(environment.has("A=1"));
  EXPECT_FALSE(environment.has("LAST=1")) << "beyond what is read";
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(environment.has(std::string(100'000, 'a'))) << "asked once: it is gone by now";
}

}  // namespace
}  // namespace fathom::process
