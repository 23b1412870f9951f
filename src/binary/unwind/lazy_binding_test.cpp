#include "binary/unwind/lazy_binding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "binary/unwind/testing_module.h"
#include "binary/unwind/unwinder.h"

namespace fathom::unwind {
namespace {

using testing::bytes;
using ::testing::ElementsAre;
using testing::kCode;
using testing::SectionBuilder;

constexpr std::uint64_t kModuleBias = 0x7f0000000000;
constexpr std::uint64_t kSizeAt = 0x40000;  // where the module has the size of the frame
constexpr std::uint64_t kStackStart =
    kModuleBias + kSizeAt;                           // what stands there is the first word of the "stack"
constexpr std::uint64_t kBinds = 0x100, kMade = 15;  // the function, and how long what makes its frame is
constexpr std::uint64_t kCaller = kModuleBias + kCode + 0x210;

// push %rbx; mov %rsp,%rbx; and $-64,%rsp; sub SIZE(%rip),%rsp; ...; from 0x40 on mov %rbx,%rsp and so on.
std::vector<std::byte> code() {
  auto code = bytes({0x53, 0x48, 0x89, 0xe3, 0x48, 0x83, 0xe4, 0xc0, 0x48, 0x2b, 0x25});
  elf::testing::put(code, static_cast<std::int32_t>(kSizeAt - (kCode + kBinds + kMade)));
  code.insert(code.begin(), kBinds, std::byte{0x90});
  code.resize(0x300, std::byte{0x90});
  return code;
}

Table loader() {
  SectionBuilder frames;
  const auto cie = frames.cie();
  frames.fde(cie, kCode, 0x100, bytes({0x0e, 16}));  // what is called from there
  frames.fde(cie, kCode + kBinds, 0x100,
             bytes({0x0e, 24, 0x41, 0x0e, 32, 0x43, 0x0d, 3, 0x02, 0x3c, 0x0d, 7}));
  frames.fde(cie, kCode + 0x200, 0x100, bytes({0x07, 16}));  // the start of the thread
  return testing::table_of({.eh_frame = frames.raw(), .code = code()});
}

class LazyBinding : public ::testing::Test {
 protected:
  LazyBinding() {
    table_ = std::make_shared<Table>(loader());
    space_.add({kModuleBias + kCode}, {kModuleBias + kCode + 0x30000}, kModuleBias, table_);
  }
  void put(std::uint64_t address, std::uint64_t value) {
    std::memcpy(stack_.data() + (address - kStackStart), &value, sizeof value);
  }
  // What the linkage table and the function push, where the function put rbx.
  void pushed_at(std::uint64_t rbx) {
    put(rbx, 0x1234);
    put(rbx + 8, 0x7f1111111000);  // the library
    put(rbx + 16, 17);             // the number of the relocation
    put(rbx + 24, kCaller);
  }
  // Sampled in what looks the function up: its own frame is 16 bytes, and its return address lies behind the frame's sp.
  walk_end walk(std::uint64_t frame) {
    put(frame - 8, kModuleBias + kCode + kBinds + 0x30);
    frames_.clear();
    const auto end = Unwinder(space_).unwind(
        {kModuleBias + kCode + 0x10, frame - 16, 0, nullptr, {kStackStart}, stack_}, frames_);
    return end;
  }
  std::vector<std::uint64_t> addresses() const {
    std::vector<std::uint64_t> out;
    for (const FrameAddress& frame : frames_) out.push_back(frame.address.value);
    return out;
  }

  std::shared_ptr<const Table> table_;
  AddressSpace space_;
  std::vector<std::byte> stack_ = std::vector<std::byte>(0x2000);
  std::vector<FrameAddress> frames_;
};

TEST_F(LazyBinding, RowsKnowTheSizeFromTheFinishedFrameOn) {
  const std::uint64_t start = kCode + kBinds;
  EXPECT_EQ(find_rule(*table_, {start + 3})->cfa, CFA_SP);
  EXPECT_EQ(find_rule(*table_, {start + kMade - 1})->cfa, CFA_REGISTER);
  ASSERT_EQ(find_rule(*table_, {start + kMade})->cfa, CFA_BINDING);
  EXPECT_EQ(find_rule(*table_, {start + kMade})->fp_offset, static_cast<std::int32_t>(kSizeAt));
  EXPECT_EQ(find_rule(*table_, {start + 0x3f})->cfa, CFA_BINDING);
  EXPECT_EQ(find_rule(*table_, {start + 0x40})->cfa, CFA_SP);
}

TEST_F(LazyBinding, CallerIsFoundAtEachOfTheFourPlaces) {
  for (const std::uint64_t above : {0u, 16u, 32u, 48u}) {
    std::ranges::fill(stack_, std::byte{0});
    put(kStackStart, 0x380);
    const std::uint64_t frame = kStackStart + 0x400;
    pushed_at(frame + 0x380 + above);
    EXPECT_EQ(walk(frame), WALK_ROOT) << above;
    EXPECT_THAT(addresses(),
                ElementsAre(kModuleBias + kCode + 0x10, kModuleBias + kCode + kBinds + 0x30, kCaller))
        << above;
  }
}

TEST_F(LazyBinding, InTheFunctionItselfTheRegisterIsBelieved) {
  pushed_at(kStackStart + 0x800);
  RegisterValues registers{};
  registers.known = 1u << 3;
  registers.values[3] = kStackStart + 0x800;
  const auto end = Unwinder(space_).unwind(
      {kModuleBias + kCode + kBinds + 0x30, kStackStart + 0x100, 0, &registers, {kStackStart}, stack_},
      frames_);
  EXPECT_EQ(end, WALK_ROOT);
  EXPECT_THAT(addresses(), ElementsAre(kModuleBias + kCode + kBinds + 0x30, kCaller));
}

TEST_F(LazyBinding, NoCallerIsInvented) {
  const std::uint64_t frame = kStackStart + 0x400;
  const auto ends_early = [&](const char* what) {
    EXPECT_EQ(walk(frame), WALK_UNSUPPORTED) << what;
    EXPECT_EQ(frames_.size(), 2u) << what;
  };
  put(kStackStart, 0x380);
  ends_early("nothing looks like it");
  pushed_at(frame + 0x380);
  pushed_at(frame + 0x380 + 32);
  ends_early("two places look like it");
  put(frame + 0x380 + 32 + 8, 5);
  EXPECT_EQ(walk(frame), WALK_ROOT);
  for (const std::uint64_t size : {0u, 0x384u, 0x3a0u, 0x20000u}) {
    put(kStackStart, size);
    ends_early("a size that is none");
  }
  put(kStackStart, 0x380);
  put(frame + 0x380 + 16, 1u << 30);
  ends_early("no number of a relocation");
  pushed_at(frame + 0x380);
  put(frame + 0x380 + 24, 0x1000);
  ends_early("no return address");
}

}  // namespace
}  // namespace fathom::unwind
