#include "base/spawn.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>

#include "base/fd.h"

namespace fathom {
namespace {

int status_of(pid_t pid) {
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// What `script` prints in a child that begins as `spawn` says.
std::string output_of(Spawn& spawn, const std::string& script) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const Fd ours(ends[0]);
  Fd theirs(ends[1]);
  spawn.descriptor(STDOUT_FILENO, theirs.get());
  const auto pid = spawn.start("/bin/sh", {"sh", "-c", script});
  EXPECT_TRUE(pid);
  theirs = Fd();
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t count = 0; (count = ::read(ours.get(), buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(count));
  EXPECT_EQ(pid ? status_of(*pid) : -1, 0);
  return text;
}

TEST(Spawn, AProgramWithoutASlashIsSearched) {
  Spawn spawn;
  const auto pid = spawn.start("true", {"true"});
  ASSERT_TRUE(pid) << pid.error().message;
  EXPECT_EQ(status_of(*pid), 0);
}

TEST(Spawn, AMissingProgramIsNamed) {
  Spawn spawn;
  const auto pid = spawn.start("/no/such/program", {"program"});
  ASSERT_FALSE(pid);
  EXPECT_EQ(pid.error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(pid.error().message, "cannot run /no/such/program: No such file or directory");
}

TEST(Spawn, TheChildHasItsFolderAndEnvironmentOnly) {
  Spawn spawn;
  spawn.folder("/");
  spawn.environment({"COLOUR=blue"});
  EXPECT_EQ(output_of(spawn, "echo $COLOUR $HOME; pwd"), "blue\n/\n");
}

TEST(Spawn, DescriptorsAreClosedAboveThoseThatWereGiven) {
  const Fd extra(::fcntl(STDIN_FILENO, F_DUPFD, 50));  // without O_CLOEXEC
  const std::string test = "test -e /proc/self/fd/" + std::to_string(extra.get());
  for (const bool closes : {false, true}) {
    Spawn spawn;
    if (closes) spawn.close_from(STDERR_FILENO + 1);
    const auto pid = spawn.start("/bin/sh", {"sh", "-c", test});
    ASSERT_TRUE(pid);
    EXPECT_EQ(status_of(*pid) == 0, !closes);
  }
}

TEST(Spawn, OrdinarySignalsAreNeitherBlockedNorIgnored) {
  sigset_t blocked, before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto handler = ::signal(SIGPIPE, SIG_IGN);
  for (const auto& [signal, number] : {std::pair("TERM", SIGTERM), std::pair("PIPE", SIGPIPE)}) {
    const std::string script = std::string("kill -s ") + signal + " $$; exit 7";
    Spawn as_we_are, ordinary;
    ordinary.ordinary_signals();
    const auto first = as_we_are.start("/bin/sh", {"sh", "-c", script});
    const auto second = ordinary.start("/bin/sh", {"sh", "-c", script});
    ASSERT_TRUE(first && second);
    EXPECT_EQ(status_of(*first), 7) << signal;
    EXPECT_EQ(status_of(*second), 128 + number) << signal;
  }
  ::signal(SIGPIPE, handler);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(Spawn, ASessionOfItsOwnHasNoTerminal) {
  Spawn spawn;
  spawn.own_session();
  EXPECT_EQ(output_of(spawn, "set -- $(cat /proc/$$/stat); test $6 = $$ && echo leader"), "leader\n");
}

}  // namespace
}  // namespace fathom
