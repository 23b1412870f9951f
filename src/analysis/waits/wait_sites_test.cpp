// Where waits are: of asynchronous code, whose stacks show the runtime and not the task that waits.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/waits/hand_made_waits.h"
#include "analysis/waits/wait_report.h"
#include "present/sentences/wait_sentences.h"

namespace fathom::analysis {
namespace {

using model::ObjectKind;
using testing::HasSubstr;
using testing::SizeIs;

std::string sentences_about(const model::Profile& profile) {
  return fmt::format("{}", fmt::join(present::sentences_of(make_wait_report(profile, {})), " "));
}

// A node's worker: executor, channel and parker above a task of which nothing is on the stack.
struct AsyncNode : HandMade {
  AsyncNode() {
    const auto process = HandMade::process(10, "node");
    worker = thread(process, 11, "tokio-rt");
    miner = thread(process, 12, "tokio-rt");
    const auto node = module("node"), libc = module("libc.so.6");
    frame(node, {"node::main"});
    waiting = stack(
        {frame(libc, {"start_thread"}), frame(node, {"std::sys::backtrace::__rust_begin_short_backtrace"}),
         frame(node, {"tokio::runtime::task::raw::poll"}), frame(node, {"hyper::proto::h1::read"}),
         frame(node, {"futures_util::lock::mutex::Mutex<T>::lock"}),
         frame(node, {"parking_lot_core::parking_lot::park"}), frame(libc, {"syscall"})});
    ending = stack({frame(libc, {"start_thread"}), frame(node, {"tokio::runtime::task::raw::poll"}),
                    frame(node, {"node::miner::do_mine_block"}),
                    frame(node, {"lock_api::mutex::MutexGuard<T>::drop"}), frame(libc, {"syscall"})});
    parker = object(ObjectKind::kFutex, "", 0x7000);
  }
  model::ThreadId worker, miner;
  model::StackId waiting, ending;
  model::WaitObjectId parker;
};

TEST(WaitSites, AreNamedByWhoEndedTheWaitWhereTheStackHasNoOwnCode) {
  AsyncNode hand;
  model::Wait& wait = hand.wait(hand.worker, hand.waiting, "futex", 1, 2000, 0, hand.parker);
  wait.waker = hand.miner;
  wait.waker_stack = hand.ending;
  const WaitReport report = make_wait_report(hand.profile, {});
  ASSERT_THAT(report.blocked, SizeIs(1));
  EXPECT_EQ(report.blocked[0].what, "node::miner::do_mine_block");
  EXPECT_TRUE(report.blocked[0].released);
  EXPECT_THAT(sentences_about(hand.profile),
              HasSubstr("waiting for a wake-up from `node::miner::do_mine_block`."));
  EXPECT_EQ(report.locks.by_site.at(0).name, "node::miner::do_mine_block");
  EXPECT_TRUE(report.locks.by_site.at(0).released);
}

TEST(WaitSites, AreAPackageOnlyIfTheWakerIsUnknown) {
  AsyncNode hand;
  hand.wait(hand.worker, hand.waiting, "futex", 1, 2000, 0, hand.parker);
  const WaitReport report = make_wait_report(hand.profile, {});
  ASSERT_THAT(report.blocked, SizeIs(1));
  EXPECT_EQ(report.blocked[0].what, "hyper::proto::h1::read");
  EXPECT_FALSE(report.blocked[0].released);
}

// "syscall" is where every futex is waited for.
TEST(WaitSites, AreOfTheRuntimeWhereTheStackHasNothingElse) {
  HandMade hand;
  hand.process(1, "node");
  const auto node = hand.module("node"), libc = hand.module("libc.so.6");
  const auto stack = hand.stack(
      {hand.frame(libc, {"start_thread"}), hand.frame(node, {"tokio::runtime::blocking::pool::Inner::run"}),
       hand.frame(node, {"parking_lot::condvar::Condvar::wait"}), hand.frame(libc, {"syscall"})});
  EXPECT_EQ(WaitSites(hand.profile).of(stack), "parking_lot::condvar::Condvar::wait");
}

// PostgreSQL as Debian ships it: what waits for a row is the function that asked for the lock.
TEST(WaitSites, SkipAnUnnamedFunctionBetweenTwoOfARuntimeInOneFile) {
  HandMade hand;
  hand.process(1, "postgres");
  const auto postgres = hand.module("postgres"), libc = hand.module("libc.so.6");
  const auto unnamed = hand.frame(postgres, {"postgres@0x45d8a0"});
  const auto asking = hand.frame(postgres, {"heap_update"}),
             lock = hand.frame(postgres, {"LockAcquireExtended"});
  const auto sleep = hand.frame(postgres, {"ProcSleep"}), poll = hand.frame(libc, {"epoll_wait"});
  const auto row = hand.stack({hand.frame(postgres, {"PostgresMain"}), asking, lock, unnamed, sleep, poll});
  const auto other = hand.stack({hand.frame(postgres, {"PostgresMain"}), asking, unnamed, sleep, poll});
  const auto last = hand.stack({unnamed, sleep, poll});
  WaitSites sites(hand.profile);
  EXPECT_EQ(sites.of(row), "heap_update");
  EXPECT_EQ(sites.of(other), "postgres@0x45d8a0") << "its caller is none of the runtime";
  EXPECT_EQ(sites.of(last), "postgres@0x45d8a0");
}

TEST(WaitSites, KnowAReaderWriterLockBelowManyInlinedCalls) {
  HandMade hand;
  const auto node = hand.module("node");
  std::vector<model::FrameId> frames{hand.frame(node, {"node::serve"}),
                                     hand.frame(node, {"parking_lot::raw_rwlock::RawRwLock::lock_common"})};
  for (const char* inner :
       {"parking_lot_core::parking_lot::park", "parking_lot_core::parking_lot::with_thread_data",
        "parking_lot_core::parking_lot::park::{{closure}}", "core::option::Option<T>::map",
        "parking_lot_core::thread_parker::imp::ThreadParker::park",
        "parking_lot_core::thread_parker::imp::ThreadParker::futex_wait"})
    frames.push_back(hand.frame(node, {inner}));
  EXPECT_EQ(WaitSites(hand.profile).futex_kind(hand.stack(frames)), FutexKind::kReaderWriter);
}

}  // namespace
}  // namespace fathom::analysis
