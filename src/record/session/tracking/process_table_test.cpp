#include "record/session/tracking/process_table.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <filesystem>

namespace fathom::session {
namespace {

struct FakeWalker : WalkerControl {
  void set_mappings(std::int32_t pid, std::span<const unwind_mapping> mappings,
                    std::uint32_t epoch) override {
    published[pid].assign(mappings.begin(), mappings.end());
    epochs[pid] = epoch;
  }
  void forget(std::int32_t pid) override { forgotten.push_back(pid); }
  std::uint32_t epoch_after_exec(std::int32_t, std::uint32_t known) override { return known + 1; }

  std::map<std::int32_t, std::vector<unwind_mapping>> published;
  std::map<std::int32_t, std::uint32_t> epochs;
  std::vector<std::int32_t> forgotten;
};

// Made-up processes: their mappings are code made at run time, so that no file is needed.
struct Fixture : testing::Test {
  static sources::MemoryMapped code(std::int32_t pid, std::uint64_t start, std::uint64_t end,
                                    std::uint64_t time_ns = 1) {
    sources::MemoryMapped event;
    event.time_ns = time_ns;
    event.pid = event.tid = pid;
    event.mapping.start = ProcessAddress{start};
    event.mapping.end = ProcessAddress{end};
    event.mapping.readable = event.mapping.executable = true;
    return event;
  }

  model::Profile profile;
  model::Builder builder{profile};
  symbolize::Worker symbols{symbolize::Options{}};
  ModuleCatalog modules{builder, symbols,
                        [](const unwind::Table&) { return std::optional<sources::TableSlot>(); }};
  FakeWalker walker;
  ProcessTable table{profile, modules, walker, true};
};
using ProcessTableTest = Fixture;

TEST_F(ProcessTableTest, EventsOfOtherProcessesAreIgnored) {
  EXPECT_FALSE(table.apply(code(9, 0x1000, 0x2000)));
  EXPECT_FALSE(table.apply(sources::ProcessForked{1, 10, 9}));
  EXPECT_EQ(table.live_processes(), 0u);
  EXPECT_TRUE(walker.published.empty());
}

TEST_F(ProcessTableTest, NewMappingReplacesWhatItCoversAndChangesTheEpochOnlyIfAMeaningChanged) {
  table.expect_exec(9, 1);
  table.apply(sources::ProcessExeced{2, 9, 9, "target"});
  table.apply(code(9, 0x1000, 0x4000));
  const std::uint32_t before = walker.epochs[9];
  table.apply(code(9, 0x2000, 0x3000));  // the same module: no address means anything else now
  EXPECT_EQ(walker.epochs[9], before);
  ASSERT_EQ(walker.published[9].size(), 3u);
  EXPECT_EQ(walker.published[9][1].start, 0x2000u);
  EXPECT_NE(table.find(9, 0x2fff), nullptr);
  EXPECT_EQ(table.find(9, 0x4000), nullptr);
}

TEST_F(ProcessTableTest, ForkedChildHasMappingsOfItsOwnFromTheStart) {
  table.expect_exec(9, 1);
  table.apply(code(9, 0x1000, 0x2000));
  EXPECT_TRUE(table.apply(sources::ProcessForked{3, 20, 9}));
  ASSERT_EQ(walker.published[20].size(), 1u);
  table.apply(code(9, 0x8000, 0x9000));
  EXPECT_EQ(table.find(20, 0x8000), nullptr);
  EXPECT_NE(table.find(9, 0x8000), nullptr);
  const auto row = profile.threads.at(table.thread_row(20, 20).value).process;
  EXPECT_EQ(profile.processes.at(row.value).parent_pid, 9);
}

TEST_F(ProcessTableTest, ChildrenAreLeftAloneWhenNotWanted) {
  ProcessTable alone(profile, modules, walker, false);
  alone.expect_exec(9, 1);
  EXPECT_FALSE(alone.apply(sources::ProcessForked{3, 20, 9}));
  EXPECT_FALSE(alone.is_recorded(20));
}

TEST_F(ProcessTableTest, ExecEndsTheOldImageAndItsOtherThreads) {
  table.expect_exec(9, 1);
  table.apply(code(9, 0x1000, 0x2000));
  table.apply(sources::ThreadStarted{2, 9, 10});
  const std::uint32_t before = walker.epochs[9];
  const auto old_row = table.thread_row(9, 9);
  table.apply(sources::ProcessExeced{5, 9, 9, "other"});
  EXPECT_EQ(table.threads(9), std::vector<std::int32_t>{9});
  EXPECT_EQ(table.find(9, 0x1000), nullptr);
  table.apply(code(9, 0x1000, 0x2000));
  EXPECT_GT(walker.epochs[9], before);
  EXPECT_NE(table.thread_row(9, 9), old_row);
  EXPECT_EQ(profile.strings[profile.threads.at(table.thread_row(9, 9).value).name], "other");
}

TEST_F(ProcessTableTest, RowsAreMadeForThreadsThatAreAskedForOnly) {
  table.expect_exec(9, 1);
  for (std::int32_t tid = 100; tid < 200; ++tid) {
    table.apply(sources::ThreadStarted{2, 9, tid});
    table.apply(sources::ThreadEnded{3, 9, tid});
  }
  EXPECT_TRUE(profile.threads.empty());
  table.apply(sources::ThreadStarted{4, 9, 300});
  table.apply(sources::ThreadNamed{5, 9, 300, "worker"});
  const auto row = table.thread_row(9, 300);
  EXPECT_EQ(table.thread_row(9, 300), row);
  EXPECT_EQ(profile.strings[profile.threads.at(row.value).name], "worker");
  EXPECT_EQ(profile.threads.size(), 1u);
}

TEST_F(ProcessTableTest, ProcessEndsWithItsLastThreadAndIsKeptForLateEvents) {
  table.expect_exec(9, 1);
  table.apply(sources::ThreadStarted{2, 9, 10});
  table.apply(sources::ThreadEnded{3, 9, 9});
  EXPECT_EQ(table.pids(), std::vector<std::int32_t>{9});
  table.apply(sources::ThreadEnded{5, 9, 10});
  EXPECT_TRUE(table.pids().empty());
  EXPECT_EQ(profile.processes.at(0).end_ns, 5u);
  table.forget_ended(5);
  EXPECT_TRUE(table.is_recorded(9));
  table.forget_ended(6);
  EXPECT_FALSE(table.is_recorded(9));
  EXPECT_EQ(walker.forgotten, std::vector<std::int32_t>{9});
}

TEST_F(ProcessTableTest, WalkerForgetsAProcessWhoseForkWasLost) {
  table.walked_thread_ended(7, 8, 5);  // a thread of it is not the process
  table.walked_thread_ended(7, 7, 6);
  table.forget_ended(6);
  EXPECT_TRUE(walker.forgotten.empty());
  table.forget_ended(7);
  EXPECT_EQ(walker.forgotten, std::vector<std::int32_t>{7});
}

TEST_F(ProcessTableTest, ProcessThatIsFoundAfterItsForkWasLostStays) {
  table.walked_thread_ended(9, 9, 5);
  table.expect_exec(9, 6);
  table.forget_ended(7);
  EXPECT_TRUE(walker.forgotten.empty());
}

TEST_F(ProcessTableTest, ThreadThatHasANumberAgainHasAnotherRow) {
  table.expect_exec(9, 1);
  table.apply(sources::ThreadStarted{2, 9, 10});
  const auto before = table.thread_row(9, 10);
  table.apply(sources::ThreadEnded{3, 9, 10});
  table.apply(sources::ThreadStarted{4, 9, 10});
  EXPECT_NE(table.thread_row(9, 10), before);
}

TEST_F(ProcessTableTest, ProcessThatHasANumberAgainIsAnotherOneAlsoWhenTheEndOfTheFirstWasLost) {
  table.expect_exec(9, 1);
  table.apply(sources::ProcessForked{2, 20, 9});
  table.apply(sources::ThreadStarted{3, 20, 21});
  const auto before = profile.threads.at(table.thread_row(20, 20).value).process;
  table.apply(sources::ProcessForked{5, 20, 9});
  EXPECT_NE(profile.threads.at(table.thread_row(20, 20).value).process, before);
  EXPECT_EQ(profile.processes.at(before.value).end_ns, 5u);
  EXPECT_EQ(table.take_forgotten(), std::vector<std::int32_t>{20});
}

TEST_F(ProcessTableTest, StrangerThatHasANumberAgainHasAnotherRow) {
  constexpr std::int32_t kNobody = 5'000'000;  // greater than any number that Linux gives
  const auto before = table.foreign_thread_row(kNobody, kNobody);
  EXPECT_EQ(table.foreign_thread_row(kNobody, kNobody), before);
  table.apply(sources::ProcessForked{5, kNobody, 1});
  EXPECT_NE(table.foreign_thread_row(kNobody, kNobody), before);
}

TEST_F(ProcessTableTest, TimesAreBookedOnceThoughTheThreadGetsAnotherRow) {
  table.expect_exec(9, 1);
  (void)table.thread_row(9, 9);
  sources::ThreadWaitTime times;
  times.pid = times.tid = 9;
  times.ran_ns = 100;
  table.book_times(times);
  table.book_cpu(9, 70);
  table.apply(sources::ProcessExeced{5, 9, 9, "other"});
  (void)table.thread_row(9, 9);
  times.ran_ns = 130;
  table.book_times(times);
  table.book_cpu(9, 90);
  ASSERT_EQ(profile.threads.size(), 2u);
  EXPECT_EQ(profile.threads[0].ran_ns, 100u);
  EXPECT_EQ(profile.threads[1].ran_ns, 30u);
  EXPECT_EQ(profile.threads[0].cpu_ns + profile.threads[1].cpu_ns, 90u);
}

TEST_F(ProcessTableTest, ProcessThatSharesARowGetsItsOwnWhenItLives) {
  RowLimits limits;
  limits.own_processes = 1;
  limits.long_life_ns = 1000;
  ProcessTable few(profile, modules, walker, true, limits);
  few.expect_exec(9, 1);
  few.apply(sources::ProcessExeced{2, 9, 9, "cc"});
  few.apply(sources::ProcessForked{3, 20, 9});
  EXPECT_TRUE(few.shares_row(20));
  const auto shared = few.thread_row(20, 20);
  few.apply(sources::ThreadNamed{900, 20, 20, "cc"});
  EXPECT_EQ(few.thread_row(20, 20), shared);
  few.apply(sources::ThreadStarted{2000, 20, 21});
  EXPECT_NE(few.thread_row(20, 20), shared);
  EXPECT_FALSE(few.shares_row(20));
  EXPECT_EQ(few.pids_with_own_row(), (std::vector<std::int32_t>{9, 20}));
}

TEST_F(ProcessTableTest, ReadsThisProcessFromProc) {
  ASSERT_TRUE(table.read_from_proc(::getpid()));
  const auto here = reinterpret_cast<std::uint64_t>(&::getpid);
  const CodeMapping* mapping = table.find(::getpid(), here);
  ASSERT_NE(mapping, nullptr);
  EXPECT_EQ(mapping->module->kind, model::ModuleKind::kFile);
  EXPECT_FALSE(walker.published[::getpid()].empty());
  EXPECT_FALSE(table.read_from_proc(0x7ffffff0));
}

// Erlang writes and runs the code that it generates by two mappings of one memfd; a library may lie in one, too.
TEST(ModuleCatalogTest, CodeInAMemfdIsMadeAtRunTimeUnlessItIsALibrary) {
  model::Profile profile;
  model::Builder builder{profile};
  symbolize::Worker symbols{symbolize::Options{}};
  ModuleCatalog catalog{builder, symbols, {}};
  const auto kind_of = [&](const std::string& content) {
    const Fd fd(::memfd_create("vmem", 0));
    EXPECT_EQ(::ftruncate(fd.get(), 4096), 0);
    EXPECT_EQ(::pwrite(fd.get(), content.data(), content.size(), 0), static_cast<ssize_t>(content.size()));
    void* code = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd.get(), 0);
    EXPECT_NE(code, MAP_FAILED);
    auto kind = model::ModuleKind::kUnknown;
    const std::vector<process::MapEntry> maps = process::read_maps(::getpid()).value();
    for (const process::MapEntry& entry : maps)
      if (entry.start.value == reinterpret_cast<std::uint64_t>(code))
        kind = catalog.of_mapping(::getpid(), entry).kind;
    ::munmap(code, 4096);
    return kind;
  };
  EXPECT_EQ(kind_of("\x7f"
                    "ELF"),
            model::ModuleKind::kFile);
  const process::MapEntry own = process::read_maps(::getpid()).value().front();
  if (const Fd file(::open(process::map_files_path(::getpid(), own).c_str(), O_RDONLY | O_CLOEXEC)); !file)
    GTEST_SKIP() << "map_files needs CAP_SYS_ADMIN";
  EXPECT_EQ(kind_of("\xc3"), model::ModuleKind::kAnonymous);
}

// redis-server is a link to redis-check-rdb: its user knows one of these names.
TEST_F(ProcessTableTest, AProgramIsCalledAsItsUserTypedIt) {
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe");
  const std::filesystem::path link = own.parent_path() / "typed-server";
  std::filesystem::remove(link);
  char before[16] = {};
  ASSERT_EQ(::prctl(PR_GET_NAME, before), 0);
  ASSERT_EQ(::prctl(PR_SET_NAME, "typed-server"), 0);
  const auto name_of_program = [&] {
    model::Profile seen;
    model::Builder rows{seen};
    ModuleCatalog catalog{rows, symbols, {}};
    const std::vector<process::MapEntry> maps = process::read_maps(::getpid()).value();
    for (const process::MapEntry& entry : maps)
      if (entry.executable && entry.path == own) {
        const model::Module& row = seen.modules[catalog.of_mapping(::getpid(), entry).id.value];
        EXPECT_EQ(seen.strings[row.path], own.string());
        return std::string(seen.strings[row.name]);
      }
    return std::string();
  };
  EXPECT_EQ(name_of_program(), own.filename());
  std::filesystem::create_symlink("/bin/true", link);
  EXPECT_EQ(name_of_program(), own.filename()) << "a link to another file";
  std::filesystem::remove(link);
  std::filesystem::create_symlink(own.filename(), link);
  EXPECT_EQ(name_of_program(), "typed-server");
  std::filesystem::remove(link);
  ASSERT_EQ(::prctl(PR_SET_NAME, before), 0);
}

}  // namespace
}  // namespace fathom::session
