#include "binary/symbolize/worker.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "binary/elf/module_file.h"
#include "binary/symbolize/testing_fixtures.h"

namespace fathom::symbolize {
namespace {

namespace fs = std::filesystem;
using model::FrameId;
using model::ModuleId;
using model::ModuleKind;
using model::SymbolSource;

std::vector<ElfAddress> functions_of(const std::string& name) {
  const auto elf = elf::ModuleFile::open(fixture(name));
  std::vector<ElfAddress> addresses;
  for (const auto& symbol : elf->elf().symbols(elf::SymbolTable::kSymtab))
    if (symbol.type == STT_FUNC && symbol.section != SHN_UNDEF && symbol.size > 0)
      addresses.push_back(symbol.address);
  return addresses;
}

TEST(Worker, AfterDrainEveryFrameThatHasANameIsNamed) {
  const auto addresses = functions_of("dwarf5");
  Worker worker(no_debug_directories());
  worker.submit(ModuleId{1}, source_of(fixture("dwarf5")));
  worker.submit(ModuleId{2}, source_of(fixture("dwarf4")));
  std::uint32_t next = 0;
  for (int round = 0; round < 50; ++round) {
    for (const auto address : addresses) {
      worker.submit(ModuleId{1}, FrameId{next++}, address);
      worker.submit(ModuleId{2}, FrameId{next++}, {0x10});  // no code
    }
  }
  worker.drain();
  const auto output = worker.poll();
  EXPECT_EQ(output.frames.size(), 50 * addresses.size());
  for (const auto& frame : output.frames) {
    EXPECT_FALSE(frame.names.empty());
    EXPECT_EQ(frame.frame.value % 2, 0u);
  }
  ASSERT_EQ(output.modules.size(), 2u);
  for (const auto& module : output.modules) EXPECT_EQ(module.symbols, SymbolSource::kDwarf);
  EXPECT_TRUE(worker.poll().frames.empty());
}

TEST(Worker, FramesMayComeBeforeTheirModule) {
  Worker worker(no_debug_directories());
  worker.submit(ModuleId{1}, FrameId{5}, functions_of("dwarf5").front());
  worker.drain();
  EXPECT_TRUE(worker.poll().frames.empty());
  worker.submit(ModuleId{1}, source_of(fixture("dwarf5")));
  worker.drain();
  EXPECT_EQ(worker.poll().frames.size(), 1u);
}

TEST(Worker, NamesAppearByThemselvesWhileRecording) {
  Worker worker(no_debug_directories());
  worker.submit(ModuleId{1}, source_of(fixture("dwarf5")));
  worker.submit(ModuleId{1}, FrameId{1}, functions_of("dwarf5").front());
  std::size_t named = 0;
  for (int i = 0; i < 2000 && named == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    named += worker.poll().frames.size();
  }
  EXPECT_EQ(named, 1u);
}

TEST(Worker, AModuleThatCannotBeReadIsReportedAndDelaysNoOthers) {
  Worker worker(no_debug_directories());
  worker.submit(ModuleId{1}, {.path = "/nonexistent"});
  worker.submit(ModuleId{1}, FrameId{1}, {0x1000});
  worker.submit(ModuleId{2}, source_of(fixture("dwarf5")));
  worker.submit(ModuleId{2}, FrameId{2}, functions_of("dwarf5").front());
  worker.drain();
  const auto output = worker.poll();
  ASSERT_EQ(output.frames.size(), 1u);
  EXPECT_EQ(output.frames[0].frame, FrameId{2});
  ASSERT_EQ(output.modules.size(), 2u);
  std::map<std::uint32_t, std::string> problems;
  for (const auto& module : output.modules) problems[module.module.value] = module.problem;
  EXPECT_THAT(problems[1], ::testing::HasSubstr("/nonexistent"));
  EXPECT_EQ(problems[2], "");
}

// As when all processes of a full machine were recorded: there is no time to read each of their files. The worker begins with
// what comes first, and where this thread had no CPU meanwhile it has nothing left to choose: then once more.
TEST(Worker, WhereTimeIsShortTheModuleWithMostFramesIsNamedFirst) {
  const auto addresses = functions_of("dwarf5");
  constexpr std::uint32_t kOthers = 40;
  for (int attempt = 0; attempt < 50; ++attempt) {
    Worker worker(no_debug_directories());
    std::uint32_t next = 0;
    for (std::uint32_t id = 1; id <= kOthers; ++id)
      worker.submit(ModuleId{id}, FrameId{next++}, addresses[0]);
    const std::uint32_t first = next;
    for (const ElfAddress address : addresses) worker.submit(ModuleId{kOthers + 1}, FrameId{next++}, address);
    for (std::uint32_t id = 1; id <= kOthers + 1; ++id)
      worker.submit(ModuleId{id}, source_of(fixture("dwarf5")));
    int steps = 0;
    if (worker.drain(std::chrono::hours(1), [&] { return ++steps > 2; }))
      continue;  // to read it, and to name it
    std::size_t named = 0;
    for (const auto& frame : worker.poll().frames) named += frame.frame.value >= first ? 1 : 0;
    EXPECT_EQ(named, addresses.size());
    return;
  }
  ADD_FAILURE() << "the worker was always done at once";
}

TEST(Worker, LeavingWithoutDrainDoesNotWait) {
  Worker worker(no_debug_directories());
  worker.submit(ModuleId{1}, source_of(fixture("dwarf5")));
  for (std::uint32_t i = 0; i < 100'000; ++i) worker.submit(ModuleId{1}, FrameId{i}, {0x1000 + i});
}

TEST(Worker, ManyThreadsMaySubmitAndPoll) {
  const auto addresses = functions_of("dwarf5");
  Worker worker(no_debug_directories());
  std::vector<std::thread> threads;
  std::vector<std::size_t> named(3);
  for (std::uint32_t t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < 300; ++i) {
        worker.submit(ModuleId{1 + i % 20}, source_of(fixture("dwarf5")));
        worker.submit(ModuleId{1 + i % 20}, FrameId{t * 1000 + i}, addresses[i % addresses.size()]);
        named[t] += worker.poll().frames.size();
      }
    });
  for (auto& thread : threads) thread.join();
  worker.drain();
  EXPECT_EQ(named[0] + named[1] + named[2] + worker.poll().frames.size(), 900u);
}

TEST(Worker, AFrameOfAPerfMapIsAskedAgainUntilItHasAName) {
  const std::string path = "/tmp/perf-" + std::to_string(::getpid()) + ".map";
  ::unlink(path.c_str());
  Worker worker(no_debug_directories());
  worker.submit(ModuleId{1}, {.kind = ModuleKind::kAnonymous, .pid = ::getpid()});
  worker.submit(ModuleId{1}, FrameId{1}, {0x7f0000001010});
  worker.drain();
  EXPECT_TRUE(worker.poll().frames.empty());
  std::ofstream(path) << "7f0000001000 100 compiled_later\n";
  worker.drain();
  const auto output = worker.poll();
  ::unlink(path.c_str());
  ASSERT_EQ(output.frames.size(), 1u);
  EXPECT_EQ(output.frames[0].names[0].function, "compiled_later");
  ASSERT_EQ(output.modules.size(), 1u);
  EXPECT_EQ(output.modules[0].symbols, SymbolSource::kPerfMap);
}

TEST(WorkerCache, TheSecondRecordingFindsTheNamesOfTheFirst) {
  std::string root = ::testing::TempDir() + "fathom-worker-XXXXXX";
  ASSERT_NE(::mkdtemp(root.data()), nullptr);
  auto options = no_debug_directories();
  options.cache_directory = root + "/cache";
  const auto addresses = functions_of("dwarf5");
  std::map<std::uint32_t, std::vector<Name>> first, second;
  for (auto* names : {&first, &second}) {
    Worker worker(options);
    worker.submit(ModuleId{1}, source_of(fixture("dwarf5")));
    for (std::uint32_t i = 0; i < addresses.size(); ++i) worker.submit(ModuleId{1}, FrameId{i}, addresses[i]);
    worker.drain();
    for (auto& frame : worker.poll().frames) (*names)[frame.frame.value] = frame.names;
  }
  EXPECT_FALSE(fs::is_empty(options.cache_directory));
  EXPECT_EQ(first.size(), addresses.size());
  EXPECT_EQ(second, first);
  fs::remove_all(root);
}

}  // namespace
}  // namespace fathom::symbolize
