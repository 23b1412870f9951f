#include "cli/record_moments.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <string>

namespace fathom::cli {
namespace {

// The shell would end alone: a shell that waits for a command does not pass a signal on.
TEST(Around, WhatTheCommandStartedEndsWithIt) {
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);  // what outlives its shell becomes our child
  std::string printed;
  {
    auto load = Around::start("true; sh -c 'echo $$; exec sleep 30'; true", false);
    ASSERT_TRUE(load) << load.error().message;
    while (printed.find('\n') == std::string::npos && !load->status())
      load->read([&](std::string_view bytes) { printed += bytes; });
  }
  const pid_t pid = std::stoi(printed);
  int status = 0;
  pid_t ended = -1;
  while ((ended = ::waitpid(pid, &status, 0)) != pid && ::kill(pid, 0) == 0) ::usleep(1000);
  // Otherwise its shell still saw its end.
  if (ended == pid) {
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
  }
}

}  // namespace
}  // namespace fathom::cli
