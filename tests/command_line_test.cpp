// What a user or a script sees: exit statuses, one-line errors with a remedy, and a launched program that
// notices nothing.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/fd.h"
#include "support/environment.h"
#include "support/fathom_program.h"
#include "support/other_user.h"

namespace fathom::support {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

// "fathom: WHERE: WHAT" and "try: REMEDY", and nothing else.
auto is_one_error() {
  return MatchesRegex("fathom: [^\n]+\n(try: [^\n]+\n)?");
}

TEST(CommandLine, WithoutACommandPrintsTheHelp) {
  const Outcome outcome = fathom({});
  EXPECT_EQ(outcome.exit_status, 2) << outcome.describe();
  EXPECT_EQ(outcome.output, fathom({"--help"}).output);
}

TEST(CommandLine, HelpNamesEveryCommand) {
  const Outcome outcome = fathom({"--help"});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
  for (const char* command : {"record", "report", "flamegraph", "export", "doctor"}) {
    EXPECT_THAT(outcome.output, HasSubstr(command));
    EXPECT_EQ(fathom({command, "--help"}).exit_status, 0) << command;
  }
}

TEST(CommandLine, WrongUsageIsTwo) {
  EXPECT_EQ(fathom({"no-such-command"}).exit_status, 2);
  EXPECT_EQ(fathom({"record", "--no-such-option", "--", "true"}).exit_status, 2);
  EXPECT_EQ(fathom({"record", "-F", "often", "--", "true"}).exit_status, 2);
  EXPECT_EQ(fathom({"record"}).exit_status, 2) << "no target";
  EXPECT_EQ(fathom({"record", "-p", "1", "--", "true"}).exit_status, 2) << "two targets";
}

TEST(CommandLine, AllProgramsOfTheMachineAreRecordedButNotTheirHeaps) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  const Running target({CPU_SHARES, "60"});
  const Outcome recorded = fathom({"record", "-q", "-a", "-d", "2", "--cpu", "-o", folder / "x.fathom"});
  ASSERT_TRUE(recorded.ok()) << recorded.describe();
  const Report report(folder / "x.fathom");
  EXPECT_TRUE(report.has_function("work_alpha"));
  EXPECT_FALSE(target.finished());
  const Outcome heaps = fathom({"record", "-a", "--heap"});
  EXPECT_EQ(heaps.exit_status, 2);
  EXPECT_THAT(heaps.errors, AllOf(is_one_error(), HasSubstr("fathom record --heap -p PID")));
}

// One command for users who do not know where to begin.
TEST(CommandLine, TriageRecordsAndPrintsTheAnswer) {
  FATHOM_NEEDS_PERF_EVENT();
  const TempDir folder;
  const Outcome outcome = fathom({"triage", "-o", folder / "x.fathom", "--", CPU_SHARES, "1"});
  ASSERT_EQ(outcome.exit_status, 0) << outcome.describe();
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("cpu_shares"), HasSubstr("Class: "))) << outcome.describe();
  EXPECT_TRUE(std::filesystem::exists(folder / "x.fathom"));
}

// A script has no terminal, and got no output.
TEST(CommandLine, TheCostOfACommandIsPrintedBeforeItRuns) {
  FATHOM_NEEDS_PERF_EVENT();
  const TempDir folder;
  const Outcome recorded = fathom({"record", "-o", folder / "x.fathom", "--", CPU_SHARES, "1"});
  ASSERT_TRUE(recorded.ok()) << recorded.describe();
  EXPECT_THAT(recorded.errors, StartsWith("fathom: expected cost, of one CPU: samples ")) << recorded.errors;
  const Outcome quiet = fathom({"record", "-q", "-o", folder / "x.fathom", "--", CPU_SHARES, "1"});
  EXPECT_EQ(quiet.errors, "");
  const Outcome dry = fathom({"record", "--dry-run", "--", "touch", folder / "run"});
  EXPECT_TRUE(dry.ok()) << dry.describe();
  EXPECT_THAT(dry.output, StartsWith("expected cost, of one CPU: samples "));
  EXPECT_FALSE(std::filesystem::exists(folder / "run")) << "nothing is started";
}

TEST(CommandLine, AProcessThatIsNotThereIsThree) {
  const TempDir folder;
  const Outcome by_pid = fathom({"record", "-p", "4194000", "-o", folder / "x.fathom"});
  EXPECT_EQ(by_pid.exit_status, 3) << by_pid.describe();
  EXPECT_THAT(by_pid.errors, AllOf(is_one_error(), HasSubstr("4194000")));
  EXPECT_FALSE(std::filesystem::exists(folder / "x.fathom"));

  const Outcome by_name = fathom({"record", "-n", "nobody-has-this", "-o", folder / "x.fathom"});
  EXPECT_EQ(by_name.exit_status, 3) << by_name.describe();
  EXPECT_THAT(by_name.errors, AllOf(is_one_error(), HasSubstr("nobody-has-this")));
}

TEST(CommandLine, AProgramThatCannotBeStartedIsNamed) {
  FATHOM_NEEDS_PERF_EVENT();
  const TempDir folder;
  const Outcome outcome = fathom({"record", "-o", folder / "x.fathom", "--", "/no/such/program"});
  EXPECT_THAT(outcome.exit_status, testing::AnyOf(1, 3)) << outcome.describe();
  EXPECT_THAT(outcome.errors, AllOf(StartsWith("fathom: "), HasSubstr("/no/such/program")));
}

TEST(CommandLine, AnAmbiguousNameIsRefusedWithTheCandidates) {
  const TempDir folder;
  std::filesystem::copy_file(CPU_SHARES, folder / "twin-name");
  const Running first({folder / "twin-name", "20"});
  const Running second({folder / "twin-name", "20"});
  pause_ms(200);
  const Outcome outcome = fathom({"record", "-n", "twin-name", "-d", "1", "-o", folder / "x.fathom"});
  EXPECT_NE(outcome.exit_status, 0);
  EXPECT_THAT(outcome.errors,
              AllOf(HasSubstr(std::to_string(first.pid())), HasSubstr(std::to_string(second.pid()))));
  EXPECT_FALSE(std::filesystem::exists(folder / "x.fathom"));
}

TEST(CommandLine, ALaunchedProgramKeepsItsStreamsAndItsExitStatus) {
  FATHOM_NEEDS_PERF_EVENT();
  const TempDir folder;
  const std::string script = "cat; echo trouble >&2; ls /proc/$$/fd; exit 7";
  const Outcome plain = run({"sh", "-c", script}, {.input = "passed through\n"});
  const Outcome outcome =
      fathom({"record", "-o", folder / "x.fathom", "--", "sh", "-c", script}, {.input = "passed through\n"});
  EXPECT_EQ(outcome.exit_status, 7) << outcome.describe();
  EXPECT_THAT(outcome.output, HasSubstr("passed through\n"));
  EXPECT_EQ(outcome.output, plain.output) << "and no descriptor of ours was inherited";
  EXPECT_THAT(outcome.errors, HasSubstr("trouble\n"));
}

TEST(CommandLine, ALaunchedProgramThatCrashesLeavesACompleteRecording) {
  FATHOM_NEEDS_PERF_EVENT();
  const TempDir folder;
  const Outcome outcome = fathom({"record", "-o", folder / "x.fathom", "--", "sh", "-c",
                                  "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; kill -SEGV $$"});
  EXPECT_EQ(outcome.exit_status, 128 + SIGSEGV) << outcome.describe();
  EXPECT_GT(Report(folder / "x.fathom").samples(), 20);
  const std::string report = fathom({"report", folder / "x.fathom"}).output;
  EXPECT_THAT(report.substr(0, report.find("\n\n")), testing::HasSubstr("crashed: SIGSEGV"));
}

TEST(CommandLine, WithoutAnOutputFileTheRecordingGoesToItsOwnFolder) {
  FATHOM_NEEDS_PERF_EVENT();
  const TempDir folder;
  const Outcome outcome = fathom({"record", "--", CPU_SHARES, "0.5"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
  int found = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "fathom-profiles")) {
    if (entry.path().extension() != ".fathom") continue;
    ++found;
    EXPECT_EQ(entry.path().parent_path().filename(), "cpu_shares");
    EXPECT_EQ(entry.status().permissions(), std::filesystem::perms(0600));
    EXPECT_THAT(outcome.errors, HasSubstr("fathom report")) << "what to type next";
  }
  EXPECT_EQ(found, 1);
}

TEST(CommandLine, ARecordingEndsWhenSoMuchMemoryIsResident) {
  FATHOM_NEEDS_PERF_EVENT();
  const TempDir folder;
  const Outcome outcome =
      fathom({"record", "-o", folder / "x.fathom", "--until-rss", "1m", "--", CPU_SHARES, "30"});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
  EXPECT_LT(outcome.seconds, 20);
  EXPECT_LT(Report(folder / "x.fathom").duration_s(), 20);
  EXPECT_EQ(fathom({"record", "--until-live", "1m", "--", "true"}).exit_status, 2);
}

TEST(CommandLine, TheLastLineOfRecordIsTheNextCommand) {
  FATHOM_NEEDS_PERF_EVENT();
  const TempDir folder;
  const std::string recording = folder / "x.fathom";
  const Outcome outcome = fathom({"record", "-o", recording, "--", CPU_SHARES, "0.5"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  ASSERT_FALSE(outcome.errors.empty());
  const std::size_t last = outcome.errors.rfind('\n', outcome.errors.size() - 2) + 1;
  EXPECT_THAT(outcome.errors.substr(last), HasSubstr(recording));
}

TEST(CommandLine, ATargetThatUsesLittleOfACpuIsReported) {
  FATHOM_NEEDS_PERF_EVENT();
  const TempDir folder;
  const Outcome idle = fathom({"record", "-o", folder / "idle.fathom", "--", "sleep", "1.5"});
  ASSERT_TRUE(idle.ok()) << idle.describe();
  EXPECT_THAT(idle.errors, HasSubstr("of one CPU only; waits: fathom report --waits"));
  const Outcome busy = fathom({"record", "-o", folder / "busy.fathom", "--", CPU_SHARES, "1.5"});
  ASSERT_TRUE(busy.ok()) << busy.describe();
  EXPECT_THAT(busy.errors, Not(HasSubstr("of one CPU only")));
}

TEST(CommandLine, SecretsAmongTheArgumentsAreNotInTheFile) {
  FATHOM_NEEDS_PERF_EVENT();
  const TempDir folder;
  const std::string recording = folder / "x.fathom";
  ASSERT_TRUE(
      fathom({"record", "-o", recording, "--", "echo", "--api-key=abcSECRET", "--home", "/data"}).ok());
  const Outcome report = fathom({"report", "--json", recording});
  ASSERT_TRUE(report.ok()) << report.describe();
  EXPECT_THAT(report.output, HasSubstr("echo --api-key=*** --home /data"));
  EXPECT_THAT(report.output, Not(HasSubstr("SECRET")));
}

TEST(CommandLine, ARecordingReplacesARecordingAndNothingElse) {
  FATHOM_NEEDS_PERF_EVENT();
  const TempDir folder;
  const std::string recording = folder / "x.fathom", precious = folder / "main.cpp", device = folder / "null";
  ASSERT_TRUE(fathom({"record", "-o", recording, "--", "true"}).ok());
  ASSERT_TRUE(fathom({"record", "-o", recording, "--", "true"}).ok());
  std::ofstream(precious) << "int main() {}";
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink(recording, folder / "link");
  std::vector<std::string> refused = {precious, folder / "pipe", folder / "link", "-"};
  if (::geteuid() == 0) {
    ASSERT_EQ(::mknod(device.c_str(), S_IFCHR | 0600, makedev(1, 3)), 0);
    refused.push_back(device);
  }
  for (const std::string& path : refused) {
    const Outcome outcome = fathom({"record", "-o", path, "--", "true"});
    EXPECT_EQ(outcome.exit_status, 2) << outcome.describe();
    EXPECT_THAT(outcome.errors, testing::MatchesRegex("fathom: [^\n]*\ntry: [^\n]*\n"));
  }
  EXPECT_EQ(std::filesystem::file_size(precious), 13u);
  EXPECT_TRUE(fathom({"record", "--force", "-o", precious, "--", "true"}).ok());
  EXPECT_TRUE(std::filesystem::is_fifo(folder / "pipe"));
}

TEST(CommandLine, ARecordingThatFailsLeavesNeitherFileNorFolder) {
  const TempDir folder;
  EXPECT_NE(fathom({"record", "-o", folder / "new/x.fathom", "--", "/no/such/program"}).exit_status, 0);
  EXPECT_NE(fathom({"record", "-o", folder / "new/x.fathom", "-p", "4194000"}).exit_status, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// sudo fathom record -n my-server -o my-server.fathom; fathom report my-server.fathom
TEST(CommandLine, WhatIsRecordedWithSudoCanBeReadByTheUserWhoAsked) {
  FATHOM_NEEDS_PERF_EVENT();
  if (::geteuid() != 0) GTEST_SKIP() << "sudo makes root";
  const OtherUsersFolder folder;
  const std::string recording = folder / "profiles/x.fathom";
  const Outcome recorded = run({"/usr/bin/env", "SUDO_UID=65534", "SUDO_GID=65534", fathom_command({})[0],
                                "record", "-o", recording, "--flamegraph", "--", CPU_SHARES, "0.3"});
  ASSERT_TRUE(recorded.ok()) << recorded.describe();
  for (const std::string& path : {folder / "profiles", recording, folder / "profiles/x.svg"}) {
    struct stat status {};
    ASSERT_EQ(::lstat(path.c_str(), &status), 0) << path;
    EXPECT_EQ(status.st_uid, 65534u) << path;
    EXPECT_EQ(status.st_gid, 65534u) << path;
    EXPECT_EQ(status.st_mode & 077, 0u) << path;
  }
  const Outcome read =
      run(folder.fathom_command({"report", recording, "-o", folder / "profiles/x.txt"}), {.user = kNobody});
  EXPECT_TRUE(read.ok()) << read.describe();
}

TEST(CommandLine, ForeignAndDamagedFilesAreRefusedInOneLine) {
  const TempDir folder;
  std::ofstream(folder / "noise.fathom") << std::string(4096, '\x81');
  std::ofstream(folder / "empty.fathom");
  for (const char* command : {"report", "flamegraph", "export"}) {
    for (const char* name : {"noise.fathom", "empty.fathom", "missing.fathom"}) {
      std::vector<std::string> arguments{command, folder / name};
      if (std::string(command) == "export") arguments.insert(arguments.end(), {"--to", "folded"});
      const Outcome outcome = fathom(arguments, {.folder = folder.path()});
      EXPECT_THAT(outcome.exit_status, testing::AnyOf(1, 3))
          << command << " " << name << ": " << outcome.describe();
      EXPECT_THAT(outcome.errors, AllOf(is_one_error(), HasSubstr(name))) << command;
    }
  }
}

TEST(CommandLine, ARecordingCutAnywhereIsReadOrRefused) {
  FATHOM_NEEDS_PERF_EVENT();
  const TempDir folder;
  ASSERT_TRUE(fathom({"record", "-o", folder / "whole.fathom", "--", CPU_SHARES, "1"}).ok());
  const auto size = std::filesystem::file_size(folder / "whole.fathom");
  for (int part = 0; part < 16; ++part) {
    std::filesystem::copy_file(folder / "whole.fathom", folder / "cut.fathom",
                               std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(folder / "cut.fathom", size * part / 16);
    const Outcome outcome = fathom({"report", folder / "cut.fathom"});
    EXPECT_EQ(outcome.signal, 0) << part;
    if (outcome.exit_status != 0) {
      EXPECT_EQ(outcome.exit_status, 1) << part;
      EXPECT_THAT(outcome.errors, is_one_error()) << part;
    }
  }
}

// A server that restarts is waited for, and whoever waits knows for what.
TEST(CommandLine, PushSaysAtOnceThatAServerIsAwayAndThatItTriesAgain) {
  const TempDir folder;
  std::ofstream(folder / "in.folded") << "main;work 5\n";
  const Running push(fathom_command({"push", "pyroscope://127.0.0.1:1", folder / "in.folded"}));
  const auto said = [&] {
    return push.errors_so_far().find("; fathom tries again after ") != std::string::npos;
  };
  EXPECT_TRUE(wait_until([&] { return said() || push.finished(); }, std::chrono::milliseconds(30'000)));
  EXPECT_TRUE(said()) << push.errors_so_far();
}

// Installed on a machine without sources, compiler and tools: everything it needs is in it.
TEST(CommandLine, RunsAlone) {
  FATHOM_NEEDS_PERF_EVENT();
  const TempDir folder;
  std::filesystem::copy_file(fathom_command({}).front(), folder / "fathom");
  std::filesystem::copy_file(CPU_SHARES, folder / "target");
  const CommandOptions bare{.folder = folder.path(),
                            .environment = {"PATH=/nonexistent", "HOME=/nonexistent"}};
  const auto alone = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), folder / "fathom");
    return run(arguments, bare);
  };
  Outcome outcome = alone({"record", "-o", "x.fathom", "--", "./target", "1"});
  EXPECT_TRUE(outcome.ok()) << outcome.describe();
  outcome = alone({"report", "x.fathom", "--top", "10"});
  EXPECT_TRUE(outcome.ok()) << outcome.describe();
  EXPECT_THAT(outcome.output, HasSubstr("work_beta"));
  const Outcome newest = alone({"report", "--top", "10"});  // of the only one that is here
  EXPECT_EQ(newest.output, outcome.output);
  EXPECT_THAT(newest.errors, HasSubstr("x.fathom"));
  outcome = alone({"flamegraph", "x.fathom", "-o", "x.svg"});
  EXPECT_TRUE(outcome.ok()) << outcome.describe();
  EXPECT_GT(std::filesystem::file_size(folder / "x.svg"), 2000u);
  outcome = alone({"export", "x.fathom", "--to", "folded"});
  EXPECT_TRUE(outcome.ok()) << outcome.describe();
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("truth-two;"), HasSubstr("work_beta")));
}

TEST(CommandLine, DoctorAnswersAndChangesNothing) {
  const auto settings = [] {
    std::string all;
    for (const char* name :
         {"kernel/perf_event_paranoid", "kernel/kptr_restrict", "kernel/unprivileged_bpf_disabled"}) {
      std::ifstream file("/proc/sys/" + std::string(name));
      std::string value;
      std::getline(file, value);
      all += value + "\n";
    }
    return all;
  };
  const std::string before = settings();
  const Outcome outcome = fathom({"doctor"});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
  EXPECT_FALSE(outcome.output.empty());
  EXPECT_EQ(settings(), before);
}

}  // namespace
}  // namespace fathom::support
