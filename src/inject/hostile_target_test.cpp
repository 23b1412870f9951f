// A target that writes what it likes to the memory that it shares with us: nothing there is believed, and
// what was changed is restored all the same.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <random>

#include "inject/testing_hooks.h"

namespace fathom::inject {
namespace {

using testing::CountingOptions;
using testing::TestTarget;

class HostileTarget : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::may_trace()) GTEST_SKIP() << "ptrace is not allowed here";
  }
  // A tracer is in, with one hook of each kind; `damage` is what the target does to the head.
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

TEST_F(HostileTarget, JournalThatIsLongerThanItsRoomIsNotFollowed) {
  restores_after([](tracer_shared& head) { head.journal_count = UINT32_MAX; });
}

TEST_F(HostileTarget, JournalThatIsEmptiedLosesNothing) {
  restores_after([](tracer_shared& head) { head.journal_count = 0; });
}

TEST_F(HostileTarget, EntryOfTwoHundredBytesIsNotRead) {
  restores_after([](tracer_shared& head) {
    for (tracer_journal_entry& entry : head.journal) entry.length = 200;
  });
}

TEST_F(HostileTarget, ListOfOwnMappingsThatRunsOutOfTheHeadIsNotFollowed) {
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

// A page that is behind the end of the file would end us with SIGBUS when we look at it.
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

// Between memfd_create and our opening its descriptor, another thread puts a file there that the target may
// only read.
TEST_F(HostileTarget, FileThatIsPutInThePlaceOfTheSharedMemoryIsNotWritten) {
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

}  // namespace
}  // namespace fathom::inject
