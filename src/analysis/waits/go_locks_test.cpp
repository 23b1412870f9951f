#include "analysis/waits/go_locks.h"

#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"
#include "present/sentences/wait_sentences.h"

namespace fathom::analysis {
namespace {

struct GoProgram {
  HandMade hand;
  model::ModuleId app = hand.module("app", model::ModuleKind::kFile, model::SymbolSource::kGo);
  model::ThreadId thread = hand.thread(hand.process(10, "app"), 10, "app");
  model::FrameId start = hand.frame(app, {"runtime.goexit.abi0"}), work = hand.frame(app, {"main.work"}),
                 lock = hand.frame(app, {"sync.(*Mutex).Lock"}),
                 slow = hand.frame(app, {"sync.(*Mutex).lockSlow"}),
                 park = hand.frame(app, {"runtime.semacquire1"});

  std::optional<GoLocks> find() const { return find_go_locks(hand.profile, {}); }
};

TEST(GoLocks, AreSeenByWhatTakingThemCosts) {
  GoProgram program;
  program.hand.sample(program.thread, program.hand.stack({program.start, program.work}), 80);
  program.hand.sample(
      program.thread,
      program.hand.stack({program.start, program.work, program.lock, program.slow, program.park}), 20);
  const auto locks = program.find();
  ASSERT_TRUE(locks);
  EXPECT_EQ(locks->site, "main.work");
  EXPECT_EQ(locks->at_locks, 20U);
  EXPECT_EQ(
      present::sentence_of(*locks),
      "Goroutines queue for a lock of Go's sync package in main.work: 20 of 100 samples are in its slow path. How "
      "long they wait is not seen, as they hold no thread meanwhile; Go's own mutex and block profiles have it.");
}

TEST(GoLocks, ThatAreNotSeenAreSaidToBeUnknown) {
  GoProgram program;
  program.hand.sample(program.thread, program.hand.stack({program.start, program.work}), 80);
  const auto locks = program.find();
  ASSERT_TRUE(locks);
  EXPECT_EQ(locks->site, "");
  EXPECT_NE(present::sentence_of(*locks).find("not seen"), std::string::npos);
}

TEST(GoLocks, AreNoneOfAnotherLanguage) {
  HandMade hand;
  const auto app = hand.module("app");
  hand.sample(hand.thread(hand.process(10, "app"), 10, "app"), hand.stack({hand.frame(app, {"main"})}), 10);
  EXPECT_FALSE(find_go_locks(hand.profile, {}));
}

}  // namespace
}  // namespace fathom::analysis
