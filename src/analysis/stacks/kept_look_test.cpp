#include "analysis/stacks/kept_look.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fathom::stacks {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kSecond = 1'000'000'000;

class KeptLook : public testing::Test {
 protected:
  std::size_t thread(const std::string& name, std::uint64_t waited_ns) {
    ThreadLook row;
    row.pid = 9;
    row.tid = static_cast<std::int32_t>(10 + look.threads.size());
    row.name = name;
    row.state = State::kWaits;
    row.waited_ns = waited_ns;
    row.place = {"transfer", "/src/bank.cpp", 9};
    row.awaited.cause = analysis::Cause::kFutex;
    row.awaited.family = LockFamily::kPthreadMutex;
    row.awaited.address = 0x1000;
    look.threads.push_back(row);
    return look.threads.size() - 1;
  }
  void hold(std::size_t waiter, std::size_t holder) {
    look.threads[waiter].holder = {
        Holder::Kind::kThread, Evidence::kOwnerField, look.threads[holder].tid, 9, {}, holder};
  }
  Look kept() const { return look_of_fact(to_fact(keep_trouble(look, kSecond))); }
  Look look;
};

TEST_F(KeptLook, ALookBeforeTheEndHasItsTime) {
  const std::size_t a = thread("pay", 3), b = thread("nightly", 4);
  look.verdicts = {{Finding::kDeadlock, {a, b}, {}, 0, false}};
  EXPECT_EQ(kept().time_ns, 0u);
  look.time_ns = 4 * kSecond;
  EXPECT_EQ(kept().time_ns, 4 * kSecond);
  EXPECT_THAT(kept().verdicts, SizeIs(1));
}

TEST_F(KeptLook, ADeadlockComesBackWithItsThreadsAndTheirHolders) {
  thread("main", 50 * kSecond);  // takes no part, so rows change
  const std::size_t a = thread("pay", 3), b = thread("night\tly", 4);
  hold(a, b);
  hold(b, a);
  look.verdicts = {{Finding::kIdle, {0}, {}, 0, false}, {Finding::kDeadlock, {a, b}, {}, 6, true}};
  const Look back = kept();
  ASSERT_THAT(back.threads, SizeIs(2));
  EXPECT_EQ(back.threads[0].name, "pay");
  EXPECT_EQ(back.threads[1].name, "night ly") << "a tab separates fields";
  EXPECT_EQ(back.threads[0].holder.thread, 1u);
  EXPECT_EQ(back.threads[1].holder.thread, 0u);
  EXPECT_EQ(back.threads[0].place.function, "transfer");
  EXPECT_EQ(back.threads[0].place.line, 9u);
  EXPECT_EQ(back.threads[0].awaited.address, 0x1000u);
  ASSERT_THAT(back.verdicts, SizeIs(1)) << "idle threads are no trouble";
  EXPECT_EQ(back.verdicts[0].finding, Finding::kDeadlock);
  EXPECT_THAT(back.verdicts[0].threads, ElementsAre(0, 1));
  EXPECT_EQ(back.verdicts[0].behind, 6u);
  EXPECT_TRUE(back.verdicts[0].may_end);
}

TEST_F(KeptLook, AShortWaitForALockIsHowLocksWork) {
  const std::size_t a = thread("pay", kSecond - 1), b = thread("night", kSecond);
  hold(a, b);
  look.verdicts = {{Finding::kHolderWaits, {a}, {b}, 0, false}};
  EXPECT_THAT(kept().verdicts, IsEmpty());
  look.threads[a].waited_ns = kSecond;
  ASSERT_THAT(kept().verdicts, SizeIs(1));
  EXPECT_THAT(kept().verdicts[0].chain, ElementsAre(1));
}

TEST_F(KeptLook, NothingIsKeptOfHealthyPrograms) {
  const std::size_t a = thread("worker", 50 * kSecond);
  look.verdicts = {{Finding::kIdle, {a}, {}, 0, false}};
  EXPECT_EQ(to_fact(keep_trouble(look, kSecond)), "");
}

TEST_F(KeptLook, DamagedTextNamesNoThreadThatIsNotThere) {
  const std::size_t a = thread("pay", kSecond), b = thread("night", kSecond);
  hold(a, b);
  hold(b, a);
  look.verdicts = {{Finding::kDeadlock, {a, b}, {}, 0, false}};
  const std::string whole = to_fact(keep_trouble(look, kSecond));
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const Look back = look_of_fact(std::string_view(whole).substr(0, size));
    for (const Verdict& verdict : back.verdicts)
      for (const std::size_t row : verdict.threads) EXPECT_LT(row, back.threads.size());
    for (const ThreadLook& one : back.threads) EXPECT_LE(one.holder.thread, back.threads.size());
  }
  EXPECT_THAT(look_of_fact("verdict\t0\t0\t0\t0 1\t\nverdict\t99\n").verdicts, IsEmpty());
  EXPECT_THAT(look_of_fact("thread\tx\nverdict\t0\t0\t0\t7\t\n").verdicts, IsEmpty());
}

}  // namespace
}  // namespace fathom::stacks
