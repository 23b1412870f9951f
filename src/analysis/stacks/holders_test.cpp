#include "analysis/stacks/holders.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace fathom::stacks {
namespace {

// A parent, 10, and a child that it numbers 5, with one thread: 50.
class Holders : public testing::Test {
 protected:
  Holders() {
    numbers_.outer = [](std::int32_t, std::int32_t inner) -> std::optional<std::int32_t> {
      return inner == 5 ? std::optional(50) : std::nullopt;
    };
    numbers_.stranger = [](std::int32_t tid) -> std::optional<Numbers::Stranger> {
      return Numbers::Stranger{tid, "make"};
    };
    numbers_.file_lock = [](const ThreadLook&) { return std::nullopt; };
    numbers_.has_one_thread = [this](std::int32_t) { return has_one_thread_; };
    ThreadLook parent;
    parent.pid = parent.tid = 10;
    parent.state = State::kWaits;
    parent.wait = 0;
    parent.awaited.cause = analysis::Cause::kChild;
    look_.threads.push_back(parent);
  }
  Holder child_of(std::uint64_t first, std::uint64_t second) {
    look_.threads[0].arguments = {first, second, 0, 0};
    look_.threads[0].holder = {};
    find_holders([](std::int32_t, std::uint64_t, std::span<std::byte>) { return false; }, numbers_, look_);
    return look_.threads[0].holder;
  }
  void add_child() {
    ThreadLook child;
    child.pid = child.tid = 50;
    look_.threads.push_back(child);
  }
  bool has_one_thread_ = true;
  Numbers numbers_;
  Look look_;
};

TEST_F(Holders, AWaitForOneChildEndsWithIt) {
  for (const auto& [first, second] : {std::pair(5, 0x7ffe0000), std::pair(int{P_PID}, 5)}) {
    const Holder holder = child_of(static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(second));
    EXPECT_EQ(holder.kind, Holder::Kind::kProcess);
    EXPECT_EQ(holder.evidence, Evidence::kChild);
    EXPECT_EQ(holder.pid, 50);
  }
}

TEST_F(Holders, AWaitForAnyChildHasNone) {
  const auto minus = [](int value) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(value)); };
  EXPECT_EQ(child_of(minus(-1), 0).kind, Holder::Kind::kUnknown);
  EXPECT_EQ(child_of(minus(-5), 0).kind, Holder::Kind::kUnknown) << "of a process group";
  EXPECT_EQ(child_of(0, 5).kind, Holder::Kind::kUnknown);
  EXPECT_EQ(child_of(P_PGID, 5).kind, Holder::Kind::kUnknown);
  EXPECT_EQ(child_of(P_PIDFD, 5).kind, Holder::Kind::kUnknown) << "a descriptor";
  EXPECT_EQ(child_of(6, 0).kind, Holder::Kind::kUnknown) << "there is no such process";
}

TEST_F(Holders, AChildOfTheLookIsItsThreadIfItHasOnlyOne) {
  add_child();
  EXPECT_EQ(child_of(5, 0).kind, Holder::Kind::kThread);
  EXPECT_EQ(child_of(5, 0).thread, 1u);
  has_one_thread_ = false;
  EXPECT_EQ(child_of(5, 0).kind, Holder::Kind::kProcess) << "all of its threads have to end";
}

}  // namespace
}  // namespace fathom::stacks
