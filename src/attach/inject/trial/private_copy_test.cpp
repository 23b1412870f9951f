#include "attach/inject/trial/private_copy.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string>

#include "attach/inject/stop/thread_stop.h"
#include "base/fd.h"
#include "binary/elf/module_file.h"
#include "linux/process/testing_namespaces.h"

namespace fathom::inject {
namespace {

using testing::HasSubstr;

// A program with a name of its own, so that its processes can be distinguished from all others.
class PrivateCopies : public testing::Test {
 protected:
  void SetUp() override {
    FATHOM_NEEDS_NAMESPACES();
    char name[] = "/tmp/private_copy_test.XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    path_ = folder_ + "/odd_functions";
    std::filesystem::copy_file(ODD_FUNCTIONS, path_);
    auto file = elf::ModuleFile::open(path_);
    ASSERT_TRUE(file) << file.error().message;
    file_.emplace(std::move(*file));
    fd_ = Fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_GE(fd_.get(), 0);
  }
  void TearDown() override {
    if (folder_.empty()) return;
    EXPECT_EQ(processes(), 0) << "copies that were left";
    std::filesystem::remove_all(folder_);
  }

  ElfAddress of(std::string_view name) const {
    for (const elf::Symbol& symbol : file_->elf().symbols(elf::SymbolTable::kSymtab))
      if (symbol.name == name) return symbol.address;
    ADD_FAILURE() << name;
    return {};
  }
  // Processes that execute the program.
  int processes() const {
    int count = 0;
    std::error_code ignored;
    for (const auto& each : std::filesystem::directory_iterator("/proc", ignored)) {
      const auto exe = std::filesystem::read_symlink(each.path() / "exe", ignored);
      count += !ignored && exe == path_;
    }
    return count;
  }
  Result<PrivateCopy> start() { return PrivateCopy::start(fd_.get(), file_->elf(), {}, 0); }

  std::string folder_, path_;
  std::optional<elf::ModuleFile> file_;
  Fd fd_;
};

#define COPY_OR_RETURN(name) \
  auto name = start();       \
  if (!name) return name.error().message

TEST_F(PrivateCopies, AreStoppedBeforeTheProgramsFirstOwnInstruction) {
  const std::string problem = in_tracing_thread([&]() -> std::string {
    COPY_OR_RETURN(copy);
    EXPECT_EQ(copy->memory().get<int>(copy->at(of("ran"))).value_or(-1), 0);
    EXPECT_EQ(copy->call(of("adds"), {3, 4, 0, 0}), 7u);
    EXPECT_EQ(copy->call(of("environment"), {}), 0u);
    EXPECT_EQ(processes(), 1);
    return {};
  });
  EXPECT_EQ(problem, "");
}

TEST_F(PrivateCopies, OfACopyAreIndependent) {
  const std::string problem = in_tracing_thread([&]() -> std::string {
    COPY_OR_RETURN(first);
    auto one = first->fork(), other = first->fork();
    if (!one || !other) return "no fork";
    EXPECT_TRUE(one->memory().put(one->at(of("ran")), 5));
    EXPECT_EQ(other->memory().get<int>(other->at(of("ran"))).value_or(-1), 0);
    EXPECT_EQ(one->call(of("adds"), {1, 2, 0, 0}), 3u);
    return {};
  });
  EXPECT_EQ(problem, "");
}

TEST_F(PrivateCopies, CallsThatDoNotReturnAreKilledWithTheirChildren) {
  const std::string problem = in_tracing_thread([&]() -> std::string {
    COPY_OR_RETURN(first);
    for (const char* name : {"waits", "crashes", "loops", "forks"}) {
      auto copy = first->fork();
      if (!copy) return copy.error().message;
      EXPECT_EQ(copy->call(of(name), {8, 0, 0, 0}), std::nullopt) << name;
      EXPECT_FALSE(copy->was_late()) << name << " was ended by the clock";
    }
    auto again = first->fork();
    EXPECT_TRUE(again && again->call(of("adds"), {1, 1, 0, 0}) == 2u);
    return {};
  });
  EXPECT_EQ(problem, "");
}

TEST_F(PrivateCopies, ReachNothingOutside) {
  const std::string problem = in_tracing_thread([&]() -> std::string {
    COPY_OR_RETURN(copy);
    const std::string made = folder_ + "/made";
    const auto at = copy->scratch();
    EXPECT_TRUE(copy->memory().write(at, std::as_bytes(std::span(made.c_str(), made.size() + 1))));
    EXPECT_EQ(copy->call(of("writes"), {at.value, 0, 0, 0}), static_cast<std::uint64_t>(EPERM));
    EXPECT_FALSE(std::filesystem::exists(made));
    EXPECT_EQ(copy->call(of("connects"), {}), static_cast<std::uint64_t>(EPERM));
    EXPECT_EQ(copy->call(of("signals"), {static_cast<std::uint64_t>(::getpid()), 0, 0, 0}),
              static_cast<std::uint64_t>(EPERM));
    return {};
  });
  EXPECT_EQ(problem, "");
}

TEST_F(PrivateCopies, AreNotStartedForPrivilegedPrograms) {
  ASSERT_EQ(::chmod(path_.c_str(), 04755), 0);
  const auto copy = in_tracing_thread([&] { return start().map([](const PrivateCopy&) {}); });
  ASSERT_FALSE(copy);
  EXPECT_THAT(copy.error().message, HasSubstr("set-uid"));
}

TEST_F(PrivateCopies, DieWithTheProcessThatStartedThem) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t starter = ::fork();
  if (starter == 0) {
    auto copy = start();
    std::optional<PrivateCopy> second;
    if (copy)
      if (auto forked = copy->fork()) second.emplace(std::move(*forked));
    const char answer = second ? 'y' : 'n';
    if (::write(ready[1], &answer, 1) == 1) ::pause();
    ::_exit(1);
  }
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  const int before = processes();
  ::kill(starter, SIGKILL);
  ASSERT_EQ(::waitpid(starter, nullptr, 0), starter);
  ::close(ready[0]), ::close(ready[1]);
  ASSERT_EQ(answer, 'y');
  EXPECT_EQ(before, 2);
  for (int i = 0; i < 500 && processes() != 0; ++i) ::usleep(10'000);
}

}  // namespace
}  // namespace fathom::inject
