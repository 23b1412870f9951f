// A target that writes arbitrary values to the shared memory: fathom trusts nothing there, and still restores
// every change.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <thread>

#include "attach/inject/stop/target.h"
#include "attach/inject/tracer/stale_tracer.h"
#include "attach/inject/tracer/testing_hooks.h"

namespace fathom::inject {
namespace {

using testing::CountingOptions;
using testing::Function;
using testing::TestTarget;

class HostileTarget : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::may_trace()) GTEST_SKIP() << "ptrace is not allowed here";
  }
  // A tracer is in the process, with one hook of each kind; `damage` is what the target does to the head.
  void restores_after(const std::function<void(tracer_shared&)>& damage) {
    TestTarget target(TARGET_DYNAMIC, {"storm", "2"});
    ASSERT_TRUE(target.ready());
    const auto text = target.text_bytes();
    const auto mappings = target.mappings();
    const CountingOptions counting;
    auto tracer = Tracer::place(target.pid(), counting.options);
    ASSERT_OK(tracer);
    auto hooks = testing::slot_hooks(target);
    hooks[0] = testing::entry_hooks(target)[0];
    ASSERT_OK(tracer->hook(tracer->plan(hooks)));
    damage(tracer->shared());
    ASSERT_OK(tracer->unhook());
    const auto unmapped = tracer->unmap();
    ASSERT_OK(unmapped);
    EXPECT_TRUE(*unmapped);
    EXPECT_EQ(target.text_bytes(), text);
    EXPECT_EQ(target.mappings(), mappings);
    EXPECT_EQ(target.end(), 0);
  }
};

TEST_F(HostileTarget, JournalLongerThanItsRoomIsNotFollowed) {
  restores_after([](tracer_shared& head) { head.journal_count = UINT32_MAX; });
}

TEST_F(HostileTarget, JournalThatIsEmptiedLosesNothing) {
  restores_after([](tracer_shared& head) { head.journal_count = 0; });
}

TEST_F(HostileTarget, EntryLengthOfTwoHundredBytesIsRejected) {
  restores_after([](tracer_shared& head) {
    for (tracer_journal_entry& entry : head.journal) entry.length = 200;
  });
}

TEST_F(HostileTarget, ListOfMappingsBeyondTheHeadIsNotFollowed) {
  restores_after([](tracer_shared& head) { head.own_count = UINT32_MAX; });
}

TEST_F(HostileTarget, EveryByteOfTheHeadMayBeAnything) {
  std::mt19937 random(1);
  for (int round = 0; round < 5; ++round)
    restores_after([&](tracer_shared& head) {
      auto* bytes = reinterpret_cast<unsigned char*>(&head);
      for (std::size_t i = 0; i < sizeof(head); ++i) bytes[i] = static_cast<unsigned char>(random());
    });
}

// A fathom that looks for tracers without a profiler finds this memory in the target and in the profiler, and leaves both alone.
TEST_F(HostileTarget, TracerIsHeldByItsProfilerWhateverTheHeadSays) {
  TestTarget target(TARGET_DYNAMIC, {"idle"});
  ASSERT_TRUE(target.ready());
  const CountingOptions counting;
  {
    auto tracer = Tracer::place(target.pid(), counting.options);
    ASSERT_OK(tracer);
    ASSERT_OK(tracer->hook(tracer->plan(testing::slot_hooks(target))));
    const auto expect_held = [&] {
      for (const int pid : {target.pid(), static_cast<int>(::getpid())}) {
        EXPECT_EQ(holder(pid), ::getpid());
        const auto detached = detach_stale_tracer(pid);
        ASSERT_FALSE(detached) << *detached;
        if (pid == target.pid()) {
          EXPECT_EQ(detached.error().kind, ErrorKind::kPermission);
        }
      }
    };
    expect_held();
    tracer->shared().profiler_start += 1;
    expect_held();
    std::memset(static_cast<void*>(&tracer->shared()), 0, sizeof(tracer_shared));  // as before it is written
    expect_held();
    std::memset(static_cast<void*>(&tracer->shared()), 0xa5, sizeof(tracer_shared));
    expect_held();
  }
  EXPECT_EQ(holder(target.pid()), std::nullopt);
  EXPECT_EQ(holder(::getpid()), std::nullopt);
  EXPECT_EQ(target.end(), 0);
}

// Reading a page after the end of the file would kill the profiler with SIGBUS.
TEST_F(HostileTarget, SizeOfTheSharedMemoryIsSealed) {
  TestTarget target(TARGET_DYNAMIC, {"idle"});
  ASSERT_TRUE(target.ready());
  const CountingOptions counting;
  auto tracer = Tracer::place(target.pid(), counting.options);
  ASSERT_OK(tracer);
  const auto maps = process::read_maps(target.pid());
  ASSERT_OK(maps);
  const auto shared = std::find_if(maps->begin(), maps->end(),
                                   [](const auto& entry) { return entry.path == "/memfd:fathom-heap"; });
  ASSERT_NE(shared, maps->end());
  const Fd file(::open(process::map_files_path(target.pid(), *shared).c_str(), O_RDWR | O_CLOEXEC));
  if (!file) GTEST_SKIP() << "map_files needs CAP_SYS_ADMIN";
  EXPECT_EQ(::ftruncate(file.get(), 0), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::ftruncate(file.get(), static_cast<off_t>(shared->size() * 2)), -1);
  EXPECT_EQ(errno, EPERM);
}

// Between memfd_create and the moment when fathom opens the descriptor, another thread replaces it by a file
// that the target may only read.
TEST_F(HostileTarget, FileThatReplacesTheSharedMemoryIsNotWritten) {
  const std::string victim = ::testing::TempDir() + fmt::format("victim{}", ::getpid());
  std::ofstream(victim) << "not the target's to write";
  ::chmod(victim.c_str(), 0444);
  TestTarget target(TARGET_DYNAMIC, {"swaps", "1", victim});
  ASSERT_TRUE(target.ready());
  const CountingOptions counting;
  int placed = 0;
  for (int i = 0; i < 200; ++i) placed += Tracer::place(target.pid(), counting.options).has_value() ? 1 : 0;
  std::ifstream file(victim);
  const std::string content((std::istreambuf_iterator<char>(file)), {});
  EXPECT_TRUE(content == "not the target's to write")
      << content.size() << " bytes, " << placed << " of 200 placed";
  ::unlink(victim.c_str());
}

// It could start a set-uid program between two checks, and make fathom map and unmap there.
TEST_F(HostileTarget, ProgramThatReplacedTheOpenedOneIsNotTouched) {
  int go[2];
  ASSERT_EQ(::pipe2(go, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    char byte;
    [[maybe_unused]] const auto got = ::read(go[0], &byte, 1);
    ::execl("/bin/sleep", "sleep", "60", nullptr);
    ::_exit(127);
  }
  auto target = Target::open(child);
  ASSERT_OK(target);
  const Program before = target->program;
  ASSERT_EQ(::write(go[1], "", 1), 1);
  ASSERT_TRUE(testing::wait_until([&] { return program_of(child) != before; }));
  bool called = false;
  const auto done = target->borrow_thread([&](StoppedThread&, RemoteCaller&) -> Result<> {
    called = true;
    return {};
  });
  EXPECT_FALSE(called);
  EXPECT_EQ(done.error().kind, ErrorKind::kNotFound);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(go[0]), ::close(go[1]);
}

// A profiler in a separate process, killed while its hooks are in. `damage` is done to the head that it
// leaves.
class HostileLeftover : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!testing::may_trace()) GTEST_SKIP() << "ptrace is not allowed here";
    target_.emplace(GetParam(), std::vector<std::string>{"storm", "2"});
    ASSERT_TRUE(target_->ready());
    text_ = target_->text_bytes();
    slot_ = word(target_->board().slot_given);
    const CountingOptions counting;
    const pid_t profiler = ::fork();
    if (profiler == 0) {
      auto tracer = Tracer::place(target_->pid(), counting.options);
      if (!tracer) ::_exit(1);
      auto hooks = testing::slot_hooks(*target_);
      hooks[0] = testing::entry_hooks(*target_)[0];
      if (!tracer->hook(tracer->plan(hooks))) ::_exit(2);
      ::pause();
    }
    ASSERT_TRUE(testing::wait_until([&] { return word(target_->board().slot_given) != slot_; }));
    ASSERT_TRUE(testing::wait_until([&] { return target_->text_bytes() != text_; }));
    ::kill(profiler, SIGKILL);
    ::waitpid(profiler, nullptr, 0);
  }
  std::uint64_t word(std::uint64_t address) const {
    return RemoteMemory::open(target_->pid())->get<std::uint64_t>({address}).value();
  }
  ProcessAddress head_start() const {
    const auto maps = process::read_maps(target_->pid());
    for (const auto& entry : *maps)
      if (entry.path == "/memfd:fathom-heap") return entry.start;
    return {};
  }
  void damage(const std::function<void(tracer_shared&)>& change) {
    const auto memory = RemoteMemory::open(target_->pid()).value();
    auto head = std::make_unique<tracer_shared>(memory.get<tracer_shared>(head_start()).value());
    change(*head);
    ASSERT_OK(memory.put(head_start(), *head));
  }
  // Retries: a thread may be inside for a moment.
  std::string detached() {
    std::string first;
    const bool gone = testing::wait_until([&] {
      const auto done = detach_stale_tracer(target_->pid());
      if (first.empty()) first = done ? *done : done.error().message;
      return !holder(target_->pid());
    });
    EXPECT_TRUE(gone) << first;
    return first;
  }
  void expect_restored() {
    EXPECT_TRUE(target_->text_bytes() == text_);
    EXPECT_EQ(word(target_->board().slot_given), slot_);
    const auto maps = process::read_maps(target_->pid());
    for (const auto& entry : *maps) EXPECT_FALSE(entry.executable && entry.path.empty()) << entry.start.value;
    EXPECT_EQ(target_->end(), 0);
  }

  std::optional<TestTarget> target_;
  std::string text_;
  std::uint64_t slot_ = 0;
};

TEST_P(HostileLeftover, DamagedHeadIsReportedAndTheFilesShowWhatToRestore) {
  damage([](tracer_shared& head) { std::memset(&head, 0xa5, sizeof(head)); });
  EXPECT_EQ(holder(target_->pid()), 0);
  const std::string said = detached();
  EXPECT_THAT(said, ::testing::HasSubstr("the head of the tracer's memory is damaged"));
  EXPECT_THAT(said, ::testing::HasSubstr("1 slots and 1 function starts restored"));
  EXPECT_EQ(said.find('\n'), std::string::npos);
  expect_restored();
}

TEST_P(HostileLeftover, HeadOfAnotherVersionDoesNotKeepTheTracerIn) {
  damage([](tracer_shared& head) { ++head.version; });
  EXPECT_THAT(detached(), ::testing::HasSubstr("another version"));
  expect_restored();
}

// A head can be well formed and false.
TEST_P(HostileLeftover, EmptyJournalDoesNotHideChanges) {
  damage([](tracer_shared& head) { head.journal_count = head.own_count = 0; });
  detached();
  expect_restored();
}

TEST_P(HostileLeftover, NothingIsWrittenOnTheJournalsWordAlone) {
  const Function give = target_->function("target_give");
  const std::uint64_t other = target_->board().slot_linger, held = word(other);
  const auto first = word(give.address.value);
  damage([&](tracer_shared& head) {
    // Text of a function that was never hooked, and a word of data that was never changed.
    tracer_journal_entry text{}, data{};
    text.address = give.address.value;
    std::memcpy(text.after, &first, 8);
    std::memset(text.before, 0x90, 8);
    text.length = 8;
    text.kind = TRACER_HOOK_ENTRY;
    text.in = 1;
    data.address = other;
    std::memcpy(data.after, &held, 8);
    std::memcpy(data.before, &give.address.value, 8);
    data.length = 8;
    data.kind = TRACER_HOOK_SLOT;
    data.in = 1;
    head.journal[head.journal_count++] = text;
    head.journal[head.journal_count++] = data;
  });
  EXPECT_THAT(detached(), ::testing::HasSubstr("not believed"));
  EXPECT_EQ(word(other), held);
  expect_restored();
}

TEST_P(HostileLeftover, OnlyTheTracersMappingsAreUnmapped) {
  auto maps = process::read_maps(target_->pid());
  // A stack or an arena: the largest permanent one, because others come and go with the program's blocks.
  for (int look = 0; look < 20; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const auto now = process::read_maps(target_->pid());
    std::erase_if(*maps, [&](const process::MapEntry& entry) {
      return std::ranges::none_of(
          *now, [&](const auto& other) { return other.start == entry.start && other.end == entry.end; });
    });
  }
  const auto state_end = head_start().value - kApart;
  const auto heap = std::max_element(maps->begin(), maps->end(), [&](const auto& a, const auto& b) {
    const auto size = [&](const process::MapEntry& entry) {
      return entry.writable && entry.path.empty() && entry.end.value != state_end ? entry.size() : 0;
    };
    return size(a) < size(b);
  });
  ASSERT_NE(heap, maps->end());
  damage([&](tracer_shared& head) { head.own[head.own_count++] = {heap->start.value, heap->size()}; });
  detached();
  const auto after = process::read_maps(target_->pid());
  EXPECT_TRUE(std::any_of(after->begin(), after->end(), [&](const auto& entry) {
    return entry.start <= heap->start && entry.end >= heap->end;
  })) << "the target's own memory was unmapped";
  expect_restored();
}

// Process 1 is alive, and a head that names it would keep every profiler out forever.
TEST_P(HostileLeftover, ProcessWithoutTheMemoryMappedIsNotTheHolder) {
  const auto stat = process::read_stat(::getppid());
  ASSERT_OK(stat);
  damage([&](tracer_shared& head) {
    head.profiler_pid = ::getppid();
    head.profiler_start = stat->start_ticks;
  });
  EXPECT_EQ(holder(target_->pid()), 0);
  detached();
  expect_restored();
}

INSTANTIATE_TEST_SUITE_P(Programs, HostileLeftover,
                         ::testing::Values(TARGET_DYNAMIC, TARGET_STATIC_PIE, TARGET_STATIC, TARGET_MUSL),
                         testing::program_name);

}  // namespace
}  // namespace fathom::inject
