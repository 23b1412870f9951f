// A program traced from its first instruction.
#include "attach/inject/stop/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "attach/inject/tracer/testing_hooks.h"
#include "base/files.h"

namespace fathom::inject {
namespace {

using testing::CountingOptions;

class Launch : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::may_trace()) GTEST_SKIP() << "ptrace is not allowed here";
  }
};

// A child that waits before exec, like that of capture.
struct Waiting {
  pid_t pid;
  int go, failed;

  explicit Waiting(const std::string& program, const std::vector<std::string>& arguments = {}) {
    int wait_for[2], report[2];
    if (::pipe2(wait_for, O_CLOEXEC) != 0 || ::pipe2(report, O_CLOEXEC) != 0) std::abort();
    pid = ::fork();
    if (pid == 0) {
      std::vector<char*> words{const_cast<char*>(program.c_str())};
      for (const auto& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
      words.push_back(nullptr);
      char byte;
      if (::read(wait_for[0], &byte, 1) == 1) ::execv(program.c_str(), words.data());
      const int error_number = errno;
      [[maybe_unused]] const auto written = ::write(report[1], &error_number, sizeof(error_number));
      ::_exit(127);
    }
    ::close(wait_for[0]), ::close(report[1]);
    go = wait_for[1], failed = report[0];
  }
  ~Waiting() {
    ::close(go), ::close(failed);
    ::kill(pid, SIGKILL), ::waitpid(pid, nullptr, 0);
  }
  Result<> start() {
    if (::write(go, "", 1) != 1) return system_error("go", errno);
    int error_number = 0;
    if (::read(failed, &error_number, sizeof(error_number)) == sizeof(error_number))
      return system_error("exec", error_number);
    return {};
  }
  int status() {
    int value = 0;
    return ::waitpid(pid, &value, 0) == pid ? value : -1;
  }
};

TEST_F(Launch, StopsAtTheEntryAndRunsToItsEnd) {
  Waiting child("/bin/true");
  auto launched = launch_to_entry(child.pid, [&] { return child.start(); });
  ASSERT_OK(launched);
  ASSERT_TRUE(testing::wait_until([&] { return process::read_stat(child.pid)->state == 'T'; }));
  const auto maps = process::read_maps(child.pid);
  EXPECT_TRUE(std::any_of(maps->begin(), maps->end(), [](const auto& entry) {
    return entry.path.find("libc.so") != std::string::npos;
  })) << "the loader has done its work";
  ASSERT_OK(launched->go());
  EXPECT_EQ(child.status(), 0);
}

TEST_F(Launch, TheTracerGoesInBeforeTheProgramRuns) {
  for (const char* program : {TARGET_DYNAMIC, TARGET_STATIC, TARGET_STATIC_PIE, TARGET_MUSL}) {
    Waiting child(program);  // without arguments it ends with status 2
    auto launched = launch_to_entry(child.pid, [&] { return child.start(); });
    ASSERT_OK(launched);
    const CountingOptions counting;
    auto tracer = Tracer::place(child.pid, counting.options);
    ASSERT_TRUE(tracer.has_value()) << program << ": " << tracer.error().message;
    ASSERT_OK(launched->go());
    EXPECT_EQ(child.status(), 2 << 8) << program;
    EXPECT_TRUE(tracer->unmap().value()) << "the process is gone, and its mappings with it";
  }
}

TEST_F(Launch, ReportsAProgramThatDoesNotExist) {
  Waiting child("/no/such/program");
  const auto launched = launch_to_entry(child.pid, [&] { return child.start(); });
  ASSERT_FALSE(launched.has_value());
  EXPECT_EQ(launched.error().kind, ErrorKind::kNotFound);
}

TEST_F(Launch, ASetUidProgramIsRejected) {
  const std::string copy = fmt::format("{}/set-uid-{}", ::testing::TempDir(), ::getpid());
  std::filesystem::copy_file("/bin/true", copy);
  ::chmod(copy.c_str(), 04755);
  {
    Waiting child(copy);
    const auto launched = launch_to_entry(child.pid, [&] { return child.start(); });
    ASSERT_FALSE(launched.has_value());
    EXPECT_THAT(launched.error().message, ::testing::HasSubstr("set-uid"));
    EXPECT_NE(launched.error().remedy, "");
  }
  std::filesystem::remove(copy);
}

}  // namespace
}  // namespace fathom::inject
