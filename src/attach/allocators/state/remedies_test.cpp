// Tries every offered setting: a program that does the same work keeps less memory with it. truth_test.cpp
// covers what malloc_trim and a purge give back.
#include "attach/allocators/state/remedies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "attach/allocators/state/process_reader.h"
#include "attach/allocators/state/testing_holder.h"
#include "attach/allocators/testing_libraries.h"

namespace fathom::allocators {
namespace {

using testing::Holder;

constexpr std::uint64_t kMiB = 1 << 20;

AllocatorState read_state(const Holder& holder, std::string_view name) {
  const auto states = read_allocator_states(holder.pid());
  if (states)
    for (const AllocatorState& each : states->allocators)
      if (each.name == name) return each;
  ADD_FAILURE() << "no " << name;
  return {};
}

// The state after these commands.
AllocatorState left_by(std::vector<std::string> environment, std::string_view name,
                       std::string_view commands) {
  Holder holder(std::move(environment));
  for (const char command : commands) EXPECT_EQ(holder.tell(command), "done");
  return read_state(holder, name);
}

std::uint64_t resident(const AllocatorState& state) {
  std::uint64_t sum = 0;
  for (const HeldLine& line : state.lines) sum += line.resident;
  return sum;
}

const Remedy* offered(const std::vector<Remedy>& remedies, std::string_view what) {
  for (const Remedy& each : remedies)
    if (each.what == what) return &each;
  return nullptr;
}

TEST(Remedies, TrimThresholdGivesBackTheEndOfTheHeap) {
  const AllocatorState state = left_by({}, "glibc", "b");
  const auto remedies = remedies_of(state);
  const Remedy* remedy = offered(remedies, "MALLOC_TRIM_THRESHOLD_=131072");
  ASSERT_NE(remedy, nullptr);
  EXPECT_GT(remedy->gives_back, 4 * kMiB);
  const AllocatorState with = left_by({remedy->what}, "glibc", "b");
  EXPECT_LT(with.resident(HeldKind::kTop), kMiB / 4);
  EXPECT_EQ(offered(remedies_of(with), remedy->what), nullptr);
}

TEST(Remedies, OneArenaKeepsLess) {
  const AllocatorState state = left_by({}, "glibc", "tf");
  const auto remedies = remedies_of(state);
  const Remedy* remedy = offered(remedies, "MALLOC_ARENA_MAX=1");
  ASSERT_NE(remedy, nullptr);
  const AllocatorState with = left_by({remedy->what}, "glibc", "tf");
  EXPECT_LT(resident(with), resident(state));
  EXPECT_EQ(offered(remedies_of(with), remedy->what), nullptr);
}

class JemallocRemedies : public ::testing::Test {
 protected:
  void SetUp() override {
    library_ = testing::libjemalloc();
    FATHOM_NEEDS(library_, "libjemalloc2");
  }
  AllocatorState after(const std::string& setting, std::string_view commands) const {
    return left_by({"LD_PRELOAD=" + *library_, setting}, "jemalloc", commands);
  }
  std::optional<std::string> library_;
};

TEST_F(JemallocRemedies, OneArenaSharesSlabs) {
  const AllocatorState state = after("MALLOC_CONF=dirty_decay_ms:-1,narenas:8", "tf");
  const auto remedies = remedies_of(state);
  const Remedy* remedy = offered(remedies, "MALLOC_CONF=narenas:1");
  ASSERT_NE(remedy, nullptr);
  const AllocatorState with = after(remedy->what, "tf");
  EXPECT_LT(with.bytes(HeldKind::kFreeInSlabs), state.bytes(HeldKind::kFreeInSlabs));
}

TEST_F(JemallocRemedies, BackgroundThreadGivesBackFreedMemoryOfAnIdleProgram) {
  const AllocatorState state = after("MALLOC_CONF=dirty_decay_ms:-1", "fa");
  const auto remedies = remedies_of(state);
  const Remedy* remedy =
      offered(remedies, "MALLOC_CONF=background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0");
  ASSERT_NE(remedy, nullptr);
  EXPECT_GT(remedy->gives_back, 50 * kMiB);
  Holder holder({"LD_PRELOAD=" + *library_, remedy->what});
  ASSERT_EQ(holder.tell('f'), "done");
  ASSERT_EQ(holder.tell('a'), "done");
  std::uint64_t left = ~std::uint64_t{0};
  for (int tries = 0; tries < 600 && left > kMiB; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    left = read_state(holder, "jemalloc").returnable;
  }
  EXPECT_LE(left, kMiB);
}

TEST(Remedies, VariableOfAPrefixedJemallocHasItsPrefix) {
  AllocatorState state;
  state.name = "jemalloc";
  state.certainty = Certainty::kVerified;
  state.returnable = 10 * kMiB;
  EXPECT_NE(offered(remedies_of(state, "_rjem_"),
                    "_RJEM_MALLOC_CONF=background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0"),
            nullptr);
  const auto unknown = remedies_of(state, std::nullopt);
  ASSERT_EQ(unknown.size(), 2u);
  EXPECT_THAT(unknown[1].how, ::testing::HasSubstr("_RJEM_MALLOC_CONF"));
  EXPECT_TRUE(remedies_of(state, "", 11 * kMiB).empty());
  state.certainty = Certainty::kUnknown;
  EXPECT_TRUE(remedies_of(state).empty());
}

}  // namespace
}  // namespace fathom::allocators
