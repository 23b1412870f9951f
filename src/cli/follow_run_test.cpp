// fathom report --follow: dumps that come while it looks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "cli/testing_program.h"

namespace fathom::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

class Following : public Cli {
 protected:
  Following() { std::filesystem::create_directories(dumps_); }

  // A dump as jemalloc writes it, of a site that holds `objects` blocks of 2 KiB.
  void dump(int number, int objects, std::string_view end = "\nMAPPED_LIBRARIES:\n") {
    std::ofstream(dumps_ + "/jeprof.7." + std::to_string(number) + ".i" + std::to_string(number) + ".heap")
        << "heap_v2/1024\n  t*: 1: 1 [0: 0]\n@ 0x1000\n  t*: " << objects << ": " << objects * 2048
        << " [0: 0]\n"
        << end;
  }
  void start(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), FATHOM_BINARY);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    for (const auto& [fd, path] : {std::pair(1, out_), std::pair(2, error_)})
      ::posix_spawn_file_actions_addopen(&actions, fd, path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ASSERT_EQ(::posix_spawn(&pid_, FATHOM_BINARY, &actions, nullptr, argv.data(), environ), 0);
    ::posix_spawn_file_actions_destroy(&actions);
  }
  // Waits until it has said so, for as long as a machine may be busy.
  bool says(std::string_view text) const {
    for (int i = 0; i < 1'200; ++i) {
      if (read_file(error_).value_or("").find(text) != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }
  int end() const {
    int status = 0;
    ::kill(pid_, SIGINT);
    EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  std::string dumps_ = folder_ + "/dumps", out_ = folder_ + "/said", error_ = folder_ + "/lines";
  pid_t pid_ = 0;
};

TEST_F(Following, EachNewDumpIsReportedAndTheEndIsTheReportOfAll) {
  dump(0, 10);
  dump(1, 20);
  start({"report", dumps_, "--follow"});
  // Of what was there before only the latest.
  EXPECT_TRUE(says("process 7, dump 1, ")) << read_file(error_).value();
  EXPECT_THAT(read_file(error_).value(), Not(HasSubstr("dump 0, ")));
  dump(2, 50);
  EXPECT_TRUE(says("since dump 1; ")) << read_file(error_).value();
  EXPECT_THAT(read_file(error_).value(), HasSubstr("process 7, dump 2, "));
  EXPECT_EQ(end(), 0);
  EXPECT_THAT(read_file(out_).value(), HasSubstr("pid 7, 3 dumps"));
}

// The latest dump answered for any time.
TEST_F(Following, ATimeIsThatOfTheDumpsWrittenInIt) {
  const auto begin = std::filesystem::file_time_type::clock::now();
  for (int number = 0; number < 3; ++number) {
    dump(number, 10 * (number + 1));
    std::filesystem::last_write_time(
        dumps_ + "/jeprof.7." + std::to_string(number) + ".i" + std::to_string(number) + ".heap",
        begin + std::chrono::seconds(number));
  }
  const auto live = [&](const std::string& until) {
    const Outcome outcome = run({"report", dumps_, "--metric", "heap-live", "--json", "--until", until});
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    const std::size_t at = outcome.out.find("\"total\": ");
    return at == std::string::npos ? 0.0 : std::stod(outcome.out.substr(at + 9));
  };
  EXPECT_GT(live("2"), 1.4 * live("1")) << "30 blocks and 20";
}

TEST_F(Following, AFolderWithoutNewDumpsIsReported) {
  start({"report", dumps_, "--follow"});
  EXPECT_TRUE(says("waiting for dumps"));
  EXPECT_NE(end(), 0);
  EXPECT_THAT(read_file(error_).value(), HasSubstr("no heap dump came to " + dumps_));
}

}  // namespace
}  // namespace fathom::cli
