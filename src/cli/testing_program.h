// The built program, run on files as a user runs it: no shell in between, so no quoting.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/diff/hand_made_sides.h"
#include "base/files.h"
#include "model/store/writer.h"

namespace fathom::cli {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Outcome {
  int status = -1;
  std::string out;
  std::string error;
};

class Cli : public ::testing::Test {
 protected:
  Cli() {
    std::filesystem::create_directories(folder_);
    recording_ = folder_ + "/server.fathom";
    EXPECT_TRUE(store::Writer::create(recording_).value().finish(analysis::small_server()));
  }
  ~Cli() override { std::filesystem::remove_all(folder_); }

  // Standard output goes to `out_fd` when given.
  Outcome run(std::vector<std::string> arguments, const std::string& input = "/dev/null", int out_fd = -1) {
    return run_program(FATHOM_BINARY, std::move(arguments), input, out_fd);
  }

  // Another program, by its path or by its name.
  Outcome run_program(const std::string& program, std::vector<std::string> arguments,
                      const std::string& input, int out_fd = -1) {
    arguments.insert(arguments.begin(), program);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    std::vector<std::string> environment{"PATH=/usr/bin:/bin", "COLUMNS=90"};
    std::vector<char*> envp;
    for (std::string& variable : environment) envp.push_back(variable.data());
    envp.push_back(nullptr);

    const std::string out = folder_ + "/out";
    const std::string error = folder_ + "/error";
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 0, input.c_str(), O_RDONLY, 0);
    if (out_fd >= 0) {
      ::posix_spawn_file_actions_adddup2(&actions, out_fd, 1);
    } else {
      ::posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    }
    ::posix_spawn_file_actions_addopen(&actions, 2, error.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t pid = 0;
    EXPECT_EQ(::posix_spawnp(&pid, program.c_str(), &actions, nullptr, argv.data(), envp.data()), 0);
    ::posix_spawn_file_actions_destroy(&actions);
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    Outcome outcome;
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (out_fd < 0) outcome.out = read_file(out).value();
    outcome.error = read_file(error).value();
    return outcome;
  }

  std::string file(const std::string& name, std::string_view content) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  std::string folder_ = ::testing::TempDir() + "fathom-cli-" + std::to_string(::getpid());
  std::string recording_;
};

}  // namespace fathom::cli
