// What a recording that runs as root may do, and what becomes of it when the process that reads the target's
// files is taken away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "support/environment.h"
#include "support/fathom_program.h"
#include "support/other_user.h"

namespace fathom::support {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

#define NEEDS_ROOT() \
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: others have nothing to give up"

// "": there is none, or its process has ended meanwhile, for which a stream would throw.
std::string content(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A line of a status file, without its name.
std::string line_of(const std::string& status, const std::string& name) {
  const auto at = status.find(name + ":\t");
  if (at == std::string::npos) return "";
  const auto start = at + name.size() + 2;
  return status.substr(start, status.find('\n', start) - start);
}

std::uint64_t set_of(const std::string& status, const std::string& name) {
  const std::string line = line_of(status, name);
  return line.empty() ? ~std::uint64_t{0} : std::stoull(line, nullptr, 16);
}

constexpr std::uint64_t bit(int capability) {
  return std::uint64_t{1} << capability;
}

// The process that reads names for `recorder`, or -1.
pid_t reader_of(pid_t recorder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (line_of(content(entry.path().string() + "/status"), "PPid") != std::to_string(recorder)) continue;
    if (content(entry.path().string() + "/cmdline").find("--read-names") != std::string::npos)
      return std::stoi(name);
  }
  return -1;
}

class Privileges : public testing::Test {
 protected:
  Running attach(const Running& target, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"-p", std::to_string(target.pid())});
    return start_recording(recording_, more);
  }
  // Never to -1, which would be everybody.
  static void send(pid_t pid, int signal) {
    ASSERT_GT(pid, 1);
    ASSERT_EQ(::kill(pid, signal), 0);
  }

  TempDir folder_;
  std::string recording_ = folder_ / "x.fathom";
};

TEST_F(Privileges, NoThreadOfARunningRecordingMayMoreThanItNeeds) {
  NEEDS_ROOT();
  FATHOM_NEEDS_BPF();
  const Running target({CPU_SHARES, "30"});
  Running recorder = attach(target);
  // The file is there a moment before the privileges are gone.
  const std::string own_status = "/proc/" + std::to_string(recorder.pid()) + "/task";
  wait_until(
      [&] {
        std::error_code error;
        for (const auto& task : fs::directory_iterator(own_status, error))
          if ((set_of(content(task.path().string() + "/status"), "CapEff") & bit(CAP_SYS_ADMIN)) != 0)
            return false;
        return true;
      },
      std::chrono::milliseconds(5'000));
  std::size_t threads = 0;
  for (const auto& task : fs::directory_iterator("/proc/" + std::to_string(recorder.pid()) + "/task")) {
    const std::string status = content(task.path().string() + "/status");
    ++threads;
    for (const char* set : {"CapEff", "CapPrm", "CapBnd"}) {
      for (const int gone : {CAP_SYS_ADMIN, CAP_SYS_MODULE, CAP_SYS_RAWIO, CAP_SYS_BOOT, CAP_NET_ADMIN,
                             CAP_NET_RAW, CAP_MKNOD, CAP_SETPCAP, CAP_SETFCAP, CAP_SYS_CHROOT, CAP_SYS_TIME})
        EXPECT_EQ(set_of(status, set) & bit(gone), 0u) << set << " " << gone << "\n" << status;
    }
    EXPECT_NE(set_of(status, "CapEff") & bit(CAP_SYS_PTRACE), 0u) << "/proc of others is still read";
    EXPECT_EQ(set_of(status, "CapInh"), 0u);
    EXPECT_EQ(set_of(status, "CapAmb"), 0u);
  }
  EXPECT_GE(threads, 2u);
  EXPECT_EQ(line_of(content("/proc/" + std::to_string(recorder.pid()) + "/status"), "NoNewPrivs"), "1");
  pause_ms(1000);
  recorder.send(SIGINT);
  EXPECT_TRUE(recorder.wait(milliseconds(20'000)).ok());
  EXPECT_TRUE(Report(recording_).has_function("work_gamma"));
}

TEST_F(Privileges, ALaunchedCommandHasTheRightsOfWhoStartedIt) {
  const std::string own = content("/proc/self/status");
  const auto outcome = fathom({"record", "-q", "-o", recording_, "--", "/bin/cat", "/proc/self/status"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  for (const char* name :
       {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Uid", "Gid", "Groups"})
    EXPECT_EQ(line_of(outcome.output, name), line_of(own, name)) << name;
}

TEST_F(Privileges, WhoReadsTheTargetsFilesHasNone) {
  const Running target({CPU_SHARES, "30"});
  Running recorder = attach(target);
  // One that is silent for long is replaced, as may happen on a busy machine: the one that runs is looked at.
  pid_t reader = -1;
  std::string status;
  ASSERT_TRUE(wait_until(
      [&] {
        reader = reader_of(recorder.pid());
        status = reader > 0 ? content("/proc/" + std::to_string(reader) + "/status") : "";
        return line_of(status, "Seccomp") == "2";
      },
      milliseconds(20'000)));
  for (const char* set : {"CapEff", "CapPrm", "CapInh", "CapAmb"}) EXPECT_EQ(set_of(status, set), 0u) << set;
  EXPECT_EQ(line_of(status, "NoNewPrivs"), "1");
  if (::geteuid() == 0) {
    EXPECT_EQ(line_of(status, "Uid"), "65534\t65534\t65534\t65534");
  }
  recorder.send(SIGINT);
  EXPECT_TRUE(recorder.wait(milliseconds(20'000)).ok());
  EXPECT_NE(::kill(reader, 0), 0) << "it ends with the recording";
}

TEST_F(Privileges, AKilledReaderIsReplacedAndCostsNothing) {
  const Running target({CPU_SHARES, "30"});
  Running recorder = attach(target);
  for (int i = 0; i < 3; ++i) {
    pid_t reader = -1;
    if (!wait_until([&] { return (reader = reader_of(recorder.pid())) > 0; }, milliseconds(30'000))) break;
    send(reader, SIGKILL);
    pause_ms(300);
  }
  recorder.send(SIGINT);
  const auto outcome = recorder.wait(milliseconds(20'000));
  EXPECT_TRUE(outcome.ok()) << outcome.describe();
  EXPECT_TRUE(Report(recording_).has_function("work_gamma"));
}

TEST_F(Privileges, WithoutAReaderTheRecordingIsWholeAndSaysWhatIsMissing) {
  const Running target({CPU_SHARES, "60"});
  Running recorder = attach(target);
  // Frozen repeatedly from its first moment, whichever process it is.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  while (std::chrono::steady_clock::now() < end) {
    if (const pid_t reader = reader_of(recorder.pid()); reader > 0) send(reader, SIGSTOP);
    pause_ms(5);
  }
  recorder.send(SIGINT);
  while (!recorder.finished()) {
    if (const pid_t reader = reader_of(recorder.pid()); reader > 0) send(reader, SIGSTOP);
    pause_ms(5);
  }
  const auto outcome = recorder.wait(milliseconds(1000));
  EXPECT_TRUE(outcome.ok()) << outcome.describe();
  const Report report(recording_);
  EXPECT_GT(report.samples(), 50);
  EXPECT_GT(report.complete_percent(), 99);
  const auto text = fathom({"report", recording_, "--all"});
  EXPECT_THAT(text.output + text.errors,
              HasSubstr("missing, as the process that reads them had to be ended"));
}

// A program whose file gives it a capability, recorded by an ordinary user: it keeps what it has, or is not run at all.
TEST(ProgramsWithCapabilities, NeverRunWithoutThem) {
  FATHOM_NEEDS_PERF_EVENT();
  NEEDS_ROOT();
  const OtherUsersFolder folder;
  folder.program("/bin/grep");
  vfs_cap_data rights{};  // capabilities(7), "File capabilities"
  rights.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE;
  rights.data[0].permitted = 1U << CAP_NET_RAW;
  if (::setxattr((folder / "grep").c_str(), "security.capability", &rights, XATTR_CAPS_SZ_2, 0) != 0)
    GTEST_SKIP() << "this filesystem keeps no file capabilities";
  const CommandOptions as_nobody{
      .folder = folder.path(), .environment = {"HOME=" + folder.path()}, .user = kNobody};
  const std::vector<std::string> program = {"./grep", "CapEff", "/proc/self/status"};
  const auto record = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"record", "-o", folder / "x.fathom"});
    words.push_back("--");
    words.insert(words.end(), program.begin(), program.end());
    return run(folder.fathom_command(words), as_nobody);
  };
  const Outcome plain = record({});
  EXPECT_THAT(plain.output, HasSubstr("CapEff:\t0000000000002000")) << plain.describe();
  const Outcome with_heap = record({"--heap"});
  EXPECT_EQ(with_heap.exit_status, 4) << with_heap.describe();
  EXPECT_EQ(with_heap.output, "") << "it must not run";
  EXPECT_THAT(with_heap.errors, HasSubstr("without the rights that its file gives it"));
}

}  // namespace
}  // namespace fathom::support
