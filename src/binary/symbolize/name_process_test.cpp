#include "binary/symbolize/name_process.h"

#include <elf.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/sanitized.h"
#include "binary/elf/module_file.h"
#include "binary/symbolize/opened_files.h"
#include "binary/symbolize/remote_symbols.h"
#include "binary/symbolize/testing_fixtures.h"
#include "binary/symbolize/worker.h"
#include "linux/process/status.h"

namespace fathom::symbolize {
namespace {

namespace fs = std::filesystem;
using model::FrameId;
using model::ModuleId;
using model::ModuleKind;
using testing::HasSubstr;

Options apart() {
  Options options = no_debug_directories();
  options.reader.program = FATHOM_NAME_READER;
  return options;
}

// All of the code, in steps that hit the middle of functions too.
std::vector<ElfAddress> addresses_in(const std::string& path) {
  const auto elf = elf::ModuleFile::open(path);
  std::vector<ElfAddress> addresses;
  for (const auto& segment : elf->elf().segments())
    if (segment.type == PT_LOAD && (segment.flags & PF_X) != 0)
      for (std::uint64_t at = 0; at < segment.file_size && addresses.size() < 4000; at += 5)
        addresses.push_back({segment.address.value + at});
  return addresses;
}

std::string status_line(pid_t pid, const std::string& name) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name + ":")) return line.substr(name.size() + 2);
  return "";
}

// Never to -1, which would be everybody.
void send_signal(pid_t pid, int signal) {
  ASSERT_GT(pid, 1);
  ASSERT_EQ(::kill(pid, signal), 0);
}

class Apart : public testing::TestWithParam<const char*> {};

TEST_P(Apart, NamesAreThoseOfReadingInThisProcess) {
  const std::string path = fixture(GetParam());
  const auto addresses = addresses_in(path);
  ASSERT_GT(addresses.size(), 100u);
  for (const bool inlines : {true, false}) {
    Options options = apart();
    options.inlines = inlines;
    DebugFiles debug_files(options);
    NameProcess process(options.reader);
    const auto here = ModuleSymbols::open(source_of(path), options);
    const auto there = open_remote(source_of(path), options, debug_files, process, 1);
    EXPECT_EQ(there->source(), here->source());
    EXPECT_EQ(there->source_path(), here->source_path());
    EXPECT_EQ(there->stamp(), here->stamp());
    EXPECT_EQ(there->resolve(addresses), here->resolve(addresses));
    EXPECT_EQ(there->resolve_places(addresses), here->resolve_places(addresses));
    EXPECT_EQ(there->problem(), here->problem());
    EXPECT_EQ(there->releasable_bytes(), here->releasable_bytes());
    there->release_memory();
    EXPECT_EQ(there->releasable_bytes(), 0u);
    EXPECT_EQ(there->resolve(addresses), here->resolve(addresses));
    EXPECT_EQ(there->lost(), "");
  }
}
INSTANTIATE_TEST_SUITE_P(AllFixtures, Apart,
                         testing::Values("dwarf5", "dwarf4", "no_build_id", "branch_tracking", "compressed",
                                         "dwarf5.linked", "dwarf5.stripped", "no_build_id.linked",
                                         "no_build_id.stripped", "split"));

TEST(NameProcess, AFileThatCannotBeReadHasAProblemAndNoNames) {
  Options options = apart();
  DebugFiles debug_files(options);
  NameProcess process(options.reader);
  const auto symbols = open_remote({.path = "/nonexistent"}, options, debug_files, process, 1);
  EXPECT_THAT(symbols->problem(), HasSubstr("/nonexistent"));
  EXPECT_EQ(symbols->resolve(std::vector<ElfAddress>(3)).size(), 3u);
  EXPECT_EQ(process.pid(), -1) << "nothing was to be read";
}

TEST(NameProcess, HasNoRightsNoFilesAndFewSystemCalls) {
#if FATHOM_ADDRESS_SANITIZER || FATHOM_THREAD_SANITIZER
  GTEST_SKIP() << "the sanitizer needs system calls that the reader refuses";
#endif
  const Options options = apart();
  NameProcess process(options.reader);
  ASSERT_NE(process.number(), 0u);
  const pid_t pid = process.pid();
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"})
    EXPECT_EQ(status_line(pid, set), "0000000000000000") << set;
  EXPECT_EQ(status_line(pid, "NoNewPrivs"), "1");
  EXPECT_EQ(status_line(pid, "Seccomp"), "2");
  EXPECT_EQ(status_line(pid, "Threads"), "1");
  EXPECT_NE(::getsid(pid), ::getsid(0)) << "the terminal's Ctrl-C is not for it";
  if (::geteuid() == 0) {
    EXPECT_EQ(status_line(pid, "Uid"), "65534\t65534\t65534\t65534");
    EXPECT_EQ(status_line(pid, "Gid"), "65534\t65534\t65534\t65534");
    EXPECT_EQ(status_line(pid, "Groups").find_first_not_of(' '), std::string::npos);
    std::size_t open = 0;
    for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
      const auto link = fs::read_symlink(entry.path()).string();
      EXPECT_TRUE(link == "/dev/null" || link.starts_with("socket:")) << link;
      ++open;
    }
    EXPECT_EQ(open, 4u);
  }
}

TEST(NameProcess, KilledWithoutARequestCostsNothing) {
  Options options = apart();
  DebugFiles debug_files(options);
  NameProcess process(options.reader);
  const auto symbols = open_remote(source_of(fixture("dwarf5")), options, debug_files, process, 1);
  const auto addresses = addresses_in(fixture("dwarf5"));
  const auto names = symbols->resolve(addresses);
  for (int i = 0; i < 4; ++i) {
    send_signal(process.pid(), SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(symbols->resolve(addresses), names);
    EXPECT_EQ(symbols->lost(), "");
  }
}

TEST(NameProcess, AModuleThatNeedsTooMuchMemoryIsGivenUpAndTheOthersAreNot) {
#if FATHOM_ADDRESS_SANITIZER || FATHOM_THREAD_SANITIZER
  GTEST_SKIP() << "the sanitizer's own memory is more than the reader may have";
#endif
  const std::string path = "/tmp/perf-" + std::to_string(::getpid()) + ".map";
  {
    std::ofstream map(path);
    for (std::uint64_t i = 1; i < 1'000'000; ++i) map << std::hex << i * 16 << " 10 function\n";
  }
  Options options = apart();
  options.reader.memory_bytes = 32 << 20;
  DebugFiles debug_files(options);
  NameProcess process(options.reader);
  const auto other = open_remote(source_of(fixture("dwarf4")), options, debug_files, process, 2);
  const auto large =
      open_remote({.kind = ModuleKind::kAnonymous, .pid = ::getpid()}, options, debug_files, process, 1);
  ::unlink(path.c_str());
  EXPECT_THAT(large->lost(), HasSubstr("took more than 32 MiB of memory"));
  EXPECT_EQ(large->resolve(std::vector<ElfAddress>(7)), std::vector<std::vector<Name>>(7));
  const auto addresses = addresses_in(fixture("dwarf4"));
  EXPECT_EQ(other->resolve(addresses),
            ModuleSymbols::open(source_of(fixture("dwarf4")), options)->resolve(addresses));
  EXPECT_EQ(other->lost(), "");
}

TEST(NameProcess, AModuleThatTakesTooLongIsGivenUpAndTheOthersAreNot) {
  Options options = apart();
  DebugFiles debug_files(options);
  options.reader.cpu_limit_ns = 1;
  NameProcess process(options.reader);
  // More work than fits between two looks at its clock.
  const std::string path = "/proc/self/exe";
  const auto symbols = open_remote(source_of(path), options, debug_files, process, 1);
  std::vector<ElfAddress> addresses;
  for (int i = 0; i < 200; ++i) {
    const auto more = addresses_in(path);
    addresses.insert(addresses.end(), more.begin(), more.end());
  }
  symbols->resolve(addresses);
  EXPECT_THAT(symbols->lost(), HasSubstr("took more than 1e-09 s"));
}

TEST(NameProcess, OneThatStandsStillIsGivenUp) {
  Options options = apart();
  DebugFiles debug_files(options);
  options.reader.silence_limit_ns = 300'000'000;
  NameProcess process(options.reader);
  const auto symbols = open_remote(source_of(fixture("dwarf5")), options, debug_files, process, 1);
  send_signal(process.pid(), SIGSTOP);
  const auto before = std::chrono::steady_clock::now();
  symbols->resolve(addresses_in(fixture("dwarf5")));
  EXPECT_THAT(symbols->lost(), HasSubstr("did not answer for 0.3 s"));
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(5));
}

TEST(NameProcess, ManyThatStandStillHoldUpForABoundedTimeInAll) {
  Options options = apart();
  DebugFiles debug_files(options);
  options.reader.silence_limit_ns = 800'000'000;
  NameProcess process(options.reader);
  const auto addresses = addresses_in(fixture("dwarf5"));
  const auto before = std::chrono::steady_clock::now();
  for (std::uint32_t module = 1; module <= 10; ++module) {
    const auto symbols = open_remote(source_of(fixture("dwarf5")), options, debug_files, process, module);
    if (const pid_t pid = process.pid(); pid > 1) send_signal(pid, SIGSTOP);
    symbols->resolve(addresses);
    EXPECT_THAT(symbols->lost(), HasSubstr("did not answer for"));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(7)) << "10 times 0.8 s are 8";
}

TEST(NameProcess, HasThePriorityThatWasAskedForBeforeItWasStarted) {
  Options options = apart();
  DebugFiles debug_files(options);
  NameProcess process(options.reader);
  process.set_priority(SCHED_BATCH, 7);
  const auto symbols = open_remote(source_of(fixture("dwarf5")), options, debug_files, process, 1);
  ASSERT_GT(process.pid(), 1);
  EXPECT_EQ(::sched_getscheduler(process.pid()), SCHED_BATCH);
  EXPECT_EQ(::getpriority(PRIO_PROCESS, static_cast<id_t>(process.pid())), 7);
}

TEST(NameProcess, AProgramThatDoesNotExistCostsNamesOnly) {
  Options options = apart();
  options.reader.program = "/nonexistent";
  DebugFiles debug_files(options);
  NameProcess process(options.reader);
  const auto symbols = open_remote(source_of(fixture("dwarf5")), options, debug_files, process, 1);
  EXPECT_THAT(symbols->lost(), HasSubstr("could be started"));
}

TEST(NameProcess, WhoWaitsForAnAnswerCanBeInterrupted) {
  Options options = apart();
  DebugFiles debug_files(options);
  NameProcess process(options.reader);
  const auto symbols = open_remote(source_of(fixture("dwarf5")), options, debug_files, process, 1);
  send_signal(process.pid(), SIGSTOP);
  std::thread interrupter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    process.interrupt();
  });
  const auto before = std::chrono::steady_clock::now();
  symbols->resolve(addresses_in(fixture("dwarf5")));
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(5));
  interrupter.join();
  EXPECT_EQ(process.number(), 0u);
}

TEST(NameProcess, ItsCpuTimeIsKnownAlsoAfterItsEnd) {
  Options options = apart();
  DebugFiles debug_files(options);
  NameProcess process(options.reader);
  const auto symbols = open_remote(source_of(fixture("dwarf5")), options, debug_files, process, 1);
  symbols->resolve(addresses_in(fixture("dwarf5")));
  const auto before = process.cpu_ns();
  EXPECT_GT(before, 1'000'000u);
  process.interrupt();
  EXPECT_EQ(process.number(), 0u);
  EXPECT_GE(process.cpu_ns(), before);
}

TEST(WorkerWithReader, NamesEveryFrameAndDoesNotCacheLostNames) {
  std::string root = testing::TempDir() + "fathom-reader-XXXXXX";
  ASSERT_NE(::mkdtemp(root.data()), nullptr);
  Options options = apart();
  options.cache_directory = root + "/cache";
  const auto addresses = addresses_in(fixture("dwarf5"));
  const auto expected = ModuleSymbols::open(source_of(fixture("dwarf5")), options)->resolve(addresses);
  for (const bool killed : {true, false}) {
    options.reader.silence_limit_ns = killed ? 200'000'000 : 10'000'000'000;
    Worker worker(options);
    worker.submit(ModuleId{1}, source_of(fixture("dwarf5")));
    worker.drain();
    EXPECT_EQ(worker.reader_pid(), -1) << "no frame is to be named, so no file is to be read";
    worker.submit(ModuleId{1}, FrameId{0}, addresses.front());
    worker.drain();
    if (killed) send_signal(worker.reader_pid(), SIGSTOP);
    for (std::uint32_t i = 0; i < addresses.size(); ++i) worker.submit(ModuleId{1}, FrameId{i}, addresses[i]);
    worker.drain();
    std::vector<std::vector<Name>> names(addresses.size());
    const auto output = worker.poll();
    for (const auto& frame : output.frames) names[frame.frame.value] = frame.names;
    ASSERT_FALSE(output.modules.empty());
    EXPECT_EQ(output.modules.back().lost.empty(), !killed);
    if (!killed) {
      EXPECT_EQ(names, expected) << "what was lost before is not remembered as nameless";
    }
  }
  fs::remove_all(root);
}

// The number of a process that has ended.
int nobody_now() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

TEST(WorkerWithReader, ReportsTheCrateOfARustProgram) {
  const std::string path = testing::TempDir() + "fathom-renamed-" + std::to_string(::getpid());
  ASSERT_TRUE(write_program(path, {"_RNvCs1a2B_7my_node4main", "main"}));
  Worker worker(apart());
  worker.submit(ModuleId{1}, source_of(path));
  worker.submit(ModuleId{1}, FrameId{0}, {0x1020});
  worker.drain();
  const auto output = worker.poll();
  fs::remove(path);
  ASSERT_EQ(output.modules.size(), 1u);
  EXPECT_EQ(output.modules[0].main_crate, "my_node");
}

TEST(WorkerWithReader, APerfMapIsAskedAgainUntilItHasANameAndGrows) {
  const std::string path = "/tmp/perf-" + std::to_string(::getpid()) + ".map";
  ::unlink(path.c_str());
  Worker worker(apart());
  worker.submit(ModuleId{1}, {.kind = ModuleKind::kAnonymous, .pid = ::getpid()});
  worker.submit(ModuleId{1}, FrameId{1}, {0x7f0000001010});
  worker.drain();
  EXPECT_TRUE(worker.poll().frames.empty());
  std::ofstream(path) << "7f0000001000 100 compiled_later\n";
  worker.drain();
  const auto output = worker.poll();
  std::ofstream(path, std::ios::app) << "7f0000002000 100 compiled_last\n";
  worker.submit(ModuleId{1}, FrameId{2}, {0x7f0000002010});
  worker.drain();
  const auto second = worker.poll();
  ::unlink(path.c_str());
  ASSERT_EQ(output.frames.size(), 1u);
  EXPECT_EQ(output.frames[0].names[0].function, "compiled_later");
  EXPECT_EQ(output.modules.at(0).symbols, model::SymbolSource::kPerfMap);
  ASSERT_EQ(second.frames.size(), 1u);
  EXPECT_EQ(second.frames[0].names[0].function, "compiled_last");
}

TEST(WorkerWithReader, APerfMapThatIsGoneWithItsProcessWasOpenedBefore) {
  const std::string path = ::testing::TempDir() + "fathom-map-" + std::to_string(::getpid());
  std::ofstream(path) << "7f0000001000 100 compiled\n";
  const auto map = std::make_shared<const Fd>(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ::unlink(path.c_str());
  Worker worker(apart());
  worker.submit(ModuleId{1}, {.kind = ModuleKind::kAnonymous, .pid = nobody_now(), .perf_map = map});
  worker.submit(ModuleId{1}, FrameId{1}, {0x7f0000001010});
  worker.drain();
  const auto output = worker.poll();
  ASSERT_EQ(output.frames.size(), 1u);
  EXPECT_EQ(output.frames[0].names[0].function, "compiled");
}

// What a file of debug information points to is text that the owner of the file chose.
class Pointed : public testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::TempDir() + "fathom-pointed-XXXXXX";
    ASSERT_NE(::mkdtemp(root_.data()), nullptr);
    ::chmod(root_.c_str(), 0755);
    fs::create_directories(root_ + "/etc");
    std::ofstream(root_ + "/etc/open") << "x";
    std::ofstream(root_ + "/etc/secret") << "x";
    ::chmod((root_ + "/etc/open").c_str(), 0644);
    ::chmod((root_ + "/etc/secret").c_str(), 0600);
    std::ofstream(root_ + "/module") << "x";
    module_ = Fd(::open((root_ + "/module").c_str(), O_RDONLY | O_CLOEXEC));
  }
  void TearDown() override { fs::remove_all(root_); }
  void own_module(uid_t user) { ASSERT_EQ(::fchown(module_.get(), user, user), 0); }

  std::string root_;
  Fd module_;
};

TEST_F(Pointed, IsFollowedBelowTheRootOfTheTargetOnly) {
  fs::create_symlink("/etc/open", root_ + "/link");
  fs::create_symlink("/etc/passwd", root_ + "/out");
  const PointedFiles files(root_, module_.get());
  EXPECT_TRUE(files.open("/etc/open"));
  EXPECT_TRUE(files.open("/link")) << "as the target sees it";
  EXPECT_TRUE(files.open("/../../etc/open"));
  EXPECT_FALSE(files.open("/out"));
  EXPECT_FALSE(files.open("/../etc/passwd"));
  EXPECT_FALSE(files.open("etc/open"));
}

TEST_F(Pointed, IsARegularFileOnADisk) {
  ASSERT_EQ(::mkfifo((root_ + "/fifo").c_str(), 0666), 0);
  EXPECT_FALSE(PointedFiles(root_, module_.get()).open("/fifo"));
  EXPECT_FALSE(PointedFiles(root_, module_.get()).open("/etc"));
  EXPECT_FALSE(PointedFiles("", module_.get()).open("/proc/self/maps"));
  EXPECT_FALSE(PointedFiles("", module_.get()).open("/dev/null"));
}

TEST_F(Pointed, IsReadWithTheRightsOfTheModulesOwner) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to have more rights than the owner";
  EXPECT_TRUE(PointedFiles(root_, module_.get()).open("/etc/secret")) << "root's module";
  own_module(12345);
  EXPECT_TRUE(PointedFiles(root_, module_.get()).open("/etc/open"));
  EXPECT_FALSE(PointedFiles(root_, module_.get()).open("/etc/secret"));
  own_module(0);
  ::fchmod(module_.get(), 0666);
  EXPECT_FALSE(PointedFiles(root_, module_.get()).open("/etc/secret")) << "anybody may have written it";
  EXPECT_EQ(::geteuid(), 0u);
  EXPECT_TRUE(Fd(::open((root_ + "/etc/secret").c_str(), O_RDWR))) << "root is root again";
}

}  // namespace
}  // namespace fathom::symbolize
