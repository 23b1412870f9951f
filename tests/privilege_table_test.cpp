// Every combination of the capabilities that matter to recording, as root and as another user, launching and attaching:
// each either records, or says why not and what would help; and `fathom doctor` foretells which engine it will be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "support/environment.h"
#include "support/fathom_program.h"
#include "support/other_user.h"

namespace fathom::support {
namespace {

using ::testing::HasSubstr;

constexpr int kNotPermitted = 4;  // exit status

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += ",+" + name;
  return text;
}

std::string command_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

class PrivilegeTable : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become other users";
    FATHOM_NEEDS_PROGRAM("setpriv");
  }

  // The words that give a command these capabilities and no other.
  std::vector<std::string> with(const std::vector<std::string>& capabilities) const {
    if (is_root()) return {"setpriv", "--inh-caps=-all", "--bounding-set=-all" + joined(capabilities)};
    std::vector<std::string> words{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
    const std::string set = "-all" + joined(capabilities);
    words.insert(words.end(), {"--inh-caps=" + set, "--ambient-caps=" + set});
    return words;
  }
  Running start(std::vector<std::string> words, const std::vector<std::string>& arguments) const {
    const auto command = folder_.fathom_command(arguments);
    words.insert(words.end(), command.begin(), command.end());
    return Running(words, {.folder = home(), .environment = {"HOME=" + home()}});
  }
  // One row of the table.
  void expect_doctor_to_agree(const std::vector<std::string>& capabilities, std::optional<pid_t> attach_to) {
    SCOPED_TRACE((is_root() ? "root" : "user") + joined(capabilities) +
                 (attach_to ? " attaches" : " launches"));
    const std::string recording = home() + "/x.fathom";
    std::vector<std::string> asked{"doctor", "--json"}, record{"record", "-o", recording, "-d", "0.3"};
    if (attach_to) {
      for (auto* words : {&asked, &record}) words->insert(words->end(), {"-p", std::to_string(*attach_to)});
    } else {
      record.insert(record.end(), {"--", "sleep", "0.2"});
    }
    Running doctor = start(with(capabilities), asked), recorder = start(with(capabilities), record);
    const Outcome answer = doctor.wait(std::chrono::milliseconds(60'000));
    const Outcome recorded = recorder.wait(std::chrono::milliseconds(60'000));
    const auto diagnosis = nlohmann::json::parse(answer.output, nullptr, false);
    ASSERT_TRUE(diagnosis.is_object()) << answer.describe();
    if (diagnosis["engine"].is_null()) {
      EXPECT_EQ(answer.exit_status, kNotPermitted);
      EXPECT_EQ(recorded.exit_status, kNotPermitted) << recorded.describe();
      EXPECT_THAT(recorded.errors, HasSubstr("\ntry: "));
      return;
    }
    EXPECT_TRUE(answer.ok()) << answer.describe();
    ASSERT_TRUE(recorded.ok()) << recorded.describe() << answer.output;
    EXPECT_EQ(Report(recording).engine(), diagnosis["engine"].get<std::string>()) << recorded.describe();
    ++recorded_;
  }

  bool is_root() const { return GetParam(); }
  // Root writes into no folder of others.
  const std::string& home() const { return is_root() ? own_.path() : folder_.path(); }
  TempDir own_;
  OtherUsersFolder folder_;
  int recorded_ = 0;
};

TEST_P(PrivilegeTable, DoctorForetellsWhatRecordDoes) {
  const std::vector<std::string> all{"bpf", "perfmon", "sys_ptrace", "sys_admin"};
  auto sleeper = with({});  // it takes no CPU from the recordings
  sleeper.insert(sleeper.end(), {"sleep", "600"});
  const Running target(sleeper);
  ASSERT_TRUE(
      wait_until([&] { return command_of(target.pid()) == "sleep"; }, std::chrono::milliseconds(10'000)));
  for (unsigned subset = 0; subset < 16; ++subset) {
    std::vector<std::string> capabilities;
    for (unsigned i = 0; i < all.size(); ++i)
      if ((subset >> i & 1) != 0) capabilities.push_back(all[i]);
    expect_doctor_to_agree(capabilities, std::nullopt);
    expect_doctor_to_agree(capabilities, target.pid());
  }
  EXPECT_EQ(recorded_, 32) << "their own processes, which everybody may record somehow";
}

INSTANTIATE_TEST_SUITE_P(Users, PrivilegeTable, ::testing::Bool(),
                         [](const auto& of) { return of.param ? "Root" : "User"; });

}  // namespace
}  // namespace fathom::support
