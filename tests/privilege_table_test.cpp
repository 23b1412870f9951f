// Every combination of the capabilities that matter to recording, as root and as another user, and of the kinds of target: each
// either records, or says why not and what would help; and `fathom doctor` foretells which engine it will be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
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

enum class Target : std::uint8_t {
  kLaunched,
  kLaunchedSetUid,      // it belongs to another user, whose rights it has
  kLaunchedUnreadable,  // mode 0711: others may run it and not read it
  kAttached,
  kAttachedSetUid,
  kAttachedUnreadable,
  kAttachedOfAnotherUser
};

class PrivilegeTable : public ::testing::TestWithParam<std::tuple<bool, Target>> {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become other users";
    FATHOM_NEEDS_PROGRAM("setpriv");
  }

  // The words that give a command these capabilities and no other.
  static std::vector<std::string> with(bool root, const std::vector<std::string>& capabilities) {
    if (root) return {"setpriv", "--inh-caps=-all", "--bounding-set=-all" + joined(capabilities)};
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
  // A program that waits and takes no CPU from the recordings. The copy has the name `name`, and belongs to the other one of the two users.
  std::string copy_of_sleep(const std::string& name, mode_t mode) const {
    const std::string copy = folder_ / name;
    std::filesystem::copy_file(std::filesystem::canonical("/bin/sleep"), copy);
    const uid_t owner = is_root() ? kNobody : 0;
    EXPECT_EQ(::chown(copy.c_str(), owner, owner), 0);
    EXPECT_EQ(::chmod(copy.c_str(), mode), 0);  // after chown, which takes the bit away
    return copy;
  }
  std::string program() const {
    switch (std::get<Target>(GetParam())) {
      case Target::kLaunchedSetUid:
      case Target::kAttachedSetUid:
        return copy_of_sleep("set-uid", 04755);
      case Target::kLaunchedUnreadable:
      case Target::kAttachedUnreadable:
        return copy_of_sleep("unreadable", 0711);
      default:
        return "sleep";
    }
  }
  bool is_own() const {
    return std::get<Target>(GetParam()) == Target::kLaunched ||
           std::get<Target>(GetParam()) == Target::kAttached;
  }

  // One row of the table. `attach_to`: none for a launch of `program`.
  void expect_doctor_to_agree(const std::vector<std::string>& capabilities, const std::string& program,
                              std::optional<pid_t> attach_to) {
    SCOPED_TRACE((is_root() ? "root" : "user") + joined(capabilities));
    const std::string recording = home() + "/x.fathom";
    std::filesystem::remove(recording);
    std::vector<std::string> asked{"doctor", "--json"}, record{"record", "-o", recording, "-d", "0.1"};
    if (attach_to) {
      for (auto* words : {&asked, &record}) words->insert(words->end(), {"-p", std::to_string(*attach_to)});
    } else {
      record.insert(record.end(), {"--", program, "0.05"});
    }
    const auto words = with(is_root(), capabilities);
    Running doctor = start(words, asked), recorder = start(words, record);
    const Outcome answer = doctor.wait(std::chrono::milliseconds(60'000));
    const Outcome recorded = recorder.wait(std::chrono::milliseconds(60'000));
    const auto diagnosis = nlohmann::json::parse(answer.output, nullptr, false);
    ASSERT_TRUE(diagnosis.is_object()) << answer.describe();
    const bool may = !diagnosis["engine"].is_null();
    EXPECT_EQ(answer.exit_status, may ? 0 : kNotPermitted) << answer.describe();
    // What a program that is launched lets others see is known when it runs.
    const bool may_still_be_refused = !is_own() && !attach_to;
    if (!may || (may_still_be_refused && !recorded.ok())) {
      EXPECT_EQ(recorded.exit_status, kNotPermitted) << recorded.describe() << answer.output;
      EXPECT_THAT(recorded.errors, HasSubstr("\ntry: "));
      return;
    }
    ASSERT_TRUE(recorded.ok()) << recorded.describe() << answer.output;
    EXPECT_EQ(Report(recording).engine(), diagnosis["engine"].get<std::string>()) << recorded.describe();
    ++recorded_;
  }

  bool is_root() const { return std::get<bool>(GetParam()); }
  // Root writes into no folder of others.
  const std::string& home() const { return is_root() ? own_.path() : folder_.path(); }
  TempDir own_;
  OtherUsersFolder folder_;
  int recorded_ = 0;
};

TEST_P(PrivilegeTable, DoctorForetellsWhatRecordDoes) {
  const std::string waits = program();
  std::optional<Running> target;
  if (std::get<Target>(GetParam()) >= Target::kAttached) {
    const bool others = std::get<Target>(GetParam()) == Target::kAttachedOfAnotherUser;
    auto words = with(is_root() != others, {});
    words.insert(words.end(), {waits, "600"});
    target.emplace(words);
    const std::string name = std::filesystem::path(waits).filename();
    ASSERT_TRUE(
        wait_until([&] { return command_of(target->pid()) == name; }, std::chrono::milliseconds(10'000)));
  }
  const std::vector<std::string> all{"bpf", "perfmon", "sys_ptrace", "sys_admin"};
  for (unsigned subset = 0; subset < 16; ++subset) {
    std::vector<std::string> capabilities;
    for (unsigned i = 0; i < all.size(); ++i)
      if ((subset >> i & 1) != 0) capabilities.push_back(all[i]);
    expect_doctor_to_agree(capabilities, waits, target ? std::optional(target->pid()) : std::nullopt);
  }
  if (is_own()) {
    EXPECT_EQ(recorded_, 16) << "everybody may record their own processes somehow";
  }
}

constexpr const char* kTargetNames[] = {
    "Launched",       "LaunchedSetUid",     "LaunchedUnreadable",   "Attached",
    "AttachedSetUid", "AttachedUnreadable", "AttachedOfAnotherUser"};

INSTANTIATE_TEST_SUITE_P(Users, PrivilegeTable,
                         ::testing::Combine(::testing::Bool(),
                                            ::testing::Values(Target::kLaunched, Target::kLaunchedSetUid,
                                                              Target::kLaunchedUnreadable, Target::kAttached,
                                                              Target::kAttachedSetUid,
                                                              Target::kAttachedUnreadable,
                                                              Target::kAttachedOfAnotherUser)),
                         [](const auto& of) {
                           return std::string(std::get<bool>(of.param) ? "Root" : "User") +
                                  kTargetNames[static_cast<std::size_t>(std::get<Target>(of.param))];
                         });

}  // namespace
}  // namespace fathom::support
