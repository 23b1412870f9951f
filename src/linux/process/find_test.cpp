#include "linux/process/find.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"

namespace fathom::process {
namespace {

// A child of ours with a unique name.
class NamedChild {
 public:
  explicit NamedChild(const char* name) {
    int ready[2];
    if (::pipe(ready) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::prctl(PR_SET_NAME, name);
      if (::write(ready[1], "x", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    char byte;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~NamedChild() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  int pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

TEST(Find, ByExactNameWithAllCandidates) {
  const NamedChild first("fathom-find-1"), second("fathom-find-1"), other("fathom-find-12");
  const auto matches = find_by_name("fathom-find-1");
  ASSERT_TRUE(matches);
  ASSERT_EQ(matches->size(), 2u);
  const std::vector<int> pids{matches->front().pid, matches->back().pid};
  EXPECT_EQ(pids,
            (std::vector<int>{std::min(first.pid(), second.pid()), std::max(first.pid(), second.pid())}));
  EXPECT_EQ(matches->front().parent_pid, ::getpid());
}

TEST(Find, NamedLikeIsAPartOfTheNameOrOfTheExecutablesInCapitalsOrNot) {
  ProcessInfo server;
  server.name = "io_worker";
  server.executable = "/usr/bin/redis-server";
  EXPECT_TRUE(is_named_like(server, "redis"));
  EXPECT_TRUE(is_named_like(server, "Redis-Server"));
  EXPECT_TRUE(is_named_like(server, "worker"));
  EXPECT_FALSE(is_named_like(server, "usr")) << "folders are no names";
  EXPECT_FALSE(is_named_like(server, "redis-server-2"));
  EXPECT_FALSE(is_named_like(server, "r")) << "one letter is in most names";
  EXPECT_FALSE(is_named_like(server, ""));
}

TEST(Find, AnErrorListsTheProcessesThatMayHaveBeenMeant) {
  const std::string part = "al-" + std::to_string(::getpid()) + "-";  // of no other process's child
  const NamedChild child((part + "x").c_str());
  const Error error = no_process_named(part);
  EXPECT_EQ(error.kind, ErrorKind::kNotFound);
  EXPECT_EQ(error.message.find("no process is named exactly '" + part + "'; named like it:\n  pid "), 0u)
      << error.message;
  EXPECT_EQ(error.remedy, "-p " + std::to_string(child.pid()));
  EXPECT_EQ(no_process_named("fathom-no-such-thing").message, "no process is named 'fathom-no-such-thing'");
}

TEST(Find, OfAProcessThatCannotBeReadItSaysWhy) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT), 0);
  const Error waiting = unreadable_process(pid);
  EXPECT_EQ(waiting.kind, ErrorKind::kNotFound);
  EXPECT_NE(waiting.message.find("has ended"), std::string::npos) << waiting.message;
  ::waitpid(pid, nullptr, 0);
  EXPECT_EQ(unreadable_process(0).kind, ErrorKind::kNotFound);
  const Error of_somebody = unreadable_process(::getpid());  // which is there
  EXPECT_EQ(of_somebody.kind, ErrorKind::kPermission) << "exit status 4, and not 3: it is not gone";
}

TEST(Find, ByTheNameOfTheExecutable) {
  const NamedChild child("renamed");
  const auto matches = find_by_name("linux_process_test");  // ourselves are left out
  ASSERT_TRUE(matches);
  EXPECT_TRUE(std::any_of(matches->begin(), matches->end(),
                          [&](const ProcessInfo& process) { return process.pid == child.pid(); }));
  EXPECT_TRUE(std::none_of(matches->begin(), matches->end(),
                           [](const ProcessInfo& process) { return process.pid == ::getpid(); }));
}

TEST(Find, NameMatchesWholeOrNotAtAll) {
  ProcessInfo process{
      .pid = 1, .name = "redis-server", .executable = "/usr/bin/redis-check-rdb", .arguments = {}};
  EXPECT_TRUE(is_named(process, "redis-server"));
  EXPECT_TRUE(is_named(process, "redis-check-rdb"));
  EXPECT_FALSE(is_named(process, "redis"));
  EXPECT_FALSE(is_named(process, ""));
  EXPECT_FALSE(is_named(process, "bin/redis-check-rdb"));
}

TEST(Find, LongNameIsFoundThroughTheArgumentsWhereTheExecutableIsHidden) {
  ProcessInfo process{.pid = 1,
                      .name = "a-very-long-nam",
                      .executable = {},
                      .arguments = {"/opt/a-very-long-name-indeed", "-x"}};
  EXPECT_TRUE(is_named(process, "a-very-long-name-indeed"));
  EXPECT_FALSE(is_named(process, "a-very-long-name"));
}

TEST(Find, CommandLineKeepsEmptyArguments) {
  EXPECT_EQ(parse_command_line(std::string_view("a\0\0b c\0", 7)),
            (std::vector<std::string>{"a", "", "b c"}));
  EXPECT_EQ(parse_command_line("title without end"), (std::vector<std::string>{"title without end"}));
  EXPECT_TRUE(parse_command_line("").empty());
}

TEST(Find, DescriptionCannotSteerTheTerminal) {
  ProcessInfo process{
      .pid = 7, .name = "x", .executable = {}, .arguments = {"/bin/x", "\x1b[2J\n"}, .uid = 0};
  EXPECT_EQ(describe(process), "pid 7 (root): /bin/x ?[2J?");
  process.arguments.push_back(std::string(500, 'y'));
  EXPECT_EQ(describe(process, 40).size(), 40u);
  process.arguments = {"/usr/lib/node_modules/anvil/bin/anvil", "--data", "/srv/a", "--port", "8545"};
  EXPECT_EQ(describe(process, 60), "pid 7 (root): anvil --data /srv/a --port 8545") << "what tells two apart";
  process.arguments.clear();
  EXPECT_EQ(describe(process), "pid 7 (root): [x]");
  const std::string key(64, 'a');
  process.arguments = {"anvil", "--private-key", "0x" + key, "-p", "pa55", "0x" + key};
  EXPECT_EQ(describe(process), "pid 7 (root): anvil --private-key *** -p *** 0x***");
}

TEST(Namespaces, NumberBetweenBrackets) {
  EXPECT_EQ(parse_namespace("pid:[4026531836]"), 4026531836u);
  EXPECT_FALSE(parse_namespace("pid:4026531836"));
  EXPECT_FALSE(parse_namespace("pid:[]"));
}

TEST(Namespaces, AChildSharesOurs) {
  const NamedChild child("fathom-ns");
  EXPECT_EQ(read_namespaces(child.pid()), read_namespaces(::getpid()));
  EXPECT_NE(read_namespaces(::getpid()).pid, 0u);
}

// File capabilities need root and a filesystem that keeps them: tests/privileges_test.cpp has them.
TEST(Find, AFileThatChangesTheUserGivesRights) {
  const std::string path = testing::TempDir() + "fathom-find-test-" + std::to_string(::getpid());
  ASSERT_TRUE(write_file(path, ""));
  ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
  EXPECT_FALSE(gives_rights(path));
  ASSERT_EQ(::chmod(path.c_str(), 04755), 0);
  EXPECT_TRUE(gives_rights(path));
  ASSERT_EQ(::chmod(path.c_str(), 02755), 0);
  EXPECT_TRUE(gives_rights(path));
  ASSERT_EQ(::chmod(path.c_str(), 02644), 0);
  EXPECT_FALSE(gives_rights(path)) << "without the right to execute it is a mark of mandatory locks";
  ::unlink(path.c_str());
  EXPECT_FALSE(gives_rights(path));
}

}  // namespace
}  // namespace fathom::process
