#include "binary/unwind/unwinder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binary/unwind/memory_walk.h"
#include "binary/unwind/testing_module.h"

namespace fathom::unwind {
namespace {

using testing::bytes;
using ::testing::ElementsAre;
using testing::kCode;
using testing::SectionBuilder;

constexpr std::uint64_t kBias = 0x7f0000000000;
constexpr std::uint64_t kStack = 0x7ffe00000000;

std::uint64_t at(std::uint64_t code_offset) {
  return kBias + kCode + code_offset;
}

// A process with one module, and a stack that the test fills.
class Process {
 public:
  explicit Process(const dwarf::testing::Bytes& eh_frame) {
    table_ = std::make_shared<Table>(testing::table_of({.eh_frame = eh_frame}));
    space_.add({at(0)}, {at(0x30000)}, kBias, table_);
  }
  void put(std::uint64_t address, std::uint64_t value) {
    std::memcpy(stack_.data() + (address - kStack), &value, sizeof value);
  }
  walk_end walk(std::uint64_t pc, std::uint64_t sp, std::uint64_t fp,
                const RegisterValues* registers = nullptr, CodeReader read_code = {}) {
    frames_.clear();
    const Unwinder unwinder(space_, std::move(read_code));
    return unwinder.unwind({pc, sp, fp, registers, {kStack}, stack_}, frames_);
  }
  walk_end walk_all(std::uint64_t pc, const CodeReader& memory) {
    frames_.clear();
    return walk_memory(space_, {pc, kStack, 0, nullptr, {kStack}, stack_}, memory, frames_);
  }
  std::vector<std::uint64_t> addresses() const {
    std::vector<std::uint64_t> out;
    for (const FrameAddress& frame : frames_) out.push_back(frame.address.value);
    return out;
  }
  const std::vector<FrameAddress>& frames() const { return frames_; }
  AddressSpace& space() { return space_; }

 private:
  std::shared_ptr<const Table> table_;
  AddressSpace space_;
  std::vector<std::byte> stack_ = std::vector<std::byte>(0x1000);
  std::vector<FrameAddress> frames_;
};

// Functions of 0x100 bytes: 0 has a frame of 16 bytes, 0x100 keeps rbp, 0x200 is the start of the thread,
// 0x300 returns from a signal, 0x400 counts from r10, 0x500 is re-aligned.
dwarf::testing::Bytes functions() {
  SectionBuilder frames;
  const auto cie = frames.cie();
  frames.fde(cie, kCode, 0x100, bytes({0x0e, 24}));
  frames.fde(cie, kCode + 0x100, 0x100, bytes({0x0c, 6, 16, 0x86, 2}));
  frames.fde(cie, kCode + 0x200, 0x100, bytes({0x07, 16}));
  const auto signal = frames.cie({.augmentation = "zRS"});
  frames.fde(signal, kCode + 0x300, 0x100, bytes({0x0f, 4, 0x77, 0xa0, 1, 0x06}));
  frames.fde(cie, kCode + 0x400, 0x100, bytes({0x0c, 10, 0}));
  frames.fde(cie, kCode + 0x500, 0x100, bytes({0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0}));
  return frames.raw();
}

TEST(Unwinder, WalksThroughFramesToTheStartOfTheThread) {
  Process process(functions());
  process.put(kStack + 16, at(0x110));          // caller of the leaf
  process.put(kStack + 0x100, kStack + 0x180);  // rbp of the second frame's caller
  process.put(kStack + 0x108, at(0x210));
  EXPECT_EQ(process.walk(at(0x10), kStack, kStack + 0x100), WALK_ROOT);
  EXPECT_THAT(process.addresses(), ElementsAre(at(0x10), at(0x110), at(0x210)));
  EXPECT_EQ(process.frames()[0].kind, FrameAddress::Kind::kInstructionPointer);
  EXPECT_EQ(process.frames()[1].kind, FrameAddress::Kind::kReturnAddress);
}

TEST(Unwinder, ReturnAddressIsLookedUpInsideOfTheCall) {
  Process process(functions());
  process.put(kStack + 16, at(0x200));  // the call was the last instruction of the function before
  process.put(kStack + 0x100, 0);
  process.put(kStack + 0x108, at(0x210));
  EXPECT_EQ(process.walk(at(0x10), kStack, kStack + 0x100), WALK_ROOT);
  EXPECT_THAT(process.addresses(), ElementsAre(at(0x10), at(0x200), at(0x210)));
}

TEST(Unwinder, InterruptedCodeUnderASignalHandlerIsExact) {
  Process process(functions());
  process.put(kStack + 16, at(0x301));             // the handler's return address: the trampoline
  process.put(kStack + 24 + 168, at(0x0));         // rip: the first byte of a function
  process.put(kStack + 24 + 160, kStack + 0x200);  // rsp
  process.put(kStack + 24 + 120, 0);               // rbp
  process.put(kStack + 0x200 + 16, at(0x210));
  EXPECT_EQ(process.walk(at(0x10), kStack, 0), WALK_ROOT);
  EXPECT_THAT(process.addresses(), ElementsAre(at(0x10), at(0x301), at(0x0), at(0x210)));
  EXPECT_EQ(process.frames()[2].kind, FrameAddress::Kind::kInstructionPointer);
}

// As after sigaltstack(2): what was interrupted is on a stack that was not copied.
TEST(Unwinder, BelowAHandlerWithItsOwnStackOnlyTheWholeMemoryLeadsOn) {
  constexpr std::uint64_t kOther = kStack - 0x100000;
  Process process(functions());
  process.put(kStack + 16, at(0x301));
  process.put(kStack + 24 + 168, at(0x0));
  process.put(kStack + 24 + 160, kOther);
  process.put(kStack + 24 + 120, 0);
  EXPECT_EQ(process.walk(at(0x10), kStack, 0), WALK_READ_FAULT);
  const CodeReader memory = [](ProcessAddress address) {
    return address.value == kOther + 16 ? std::optional(at(0x210)) : std::nullopt;
  };
  EXPECT_EQ(process.walk_all(at(0x10), memory), WALK_ROOT);
  EXPECT_THAT(process.addresses(), ElementsAre(at(0x10), at(0x301), at(0x0), at(0x210)));
}

TEST(Unwinder, RealignedFrameFindsItsCallerThroughMemory) {
  Process process(functions());
  const std::uint64_t fp = kStack + 0x100;
  process.put(fp - 8, kStack + 0x200);  // the CFA
  process.put(fp, kStack + 0x300);      // rbp of the caller
  process.put(kStack + 0x200 - 8, at(0x110));
  process.put(kStack + 0x308, at(0x210));
  EXPECT_EQ(process.walk(at(0x510), kStack + 0x40, fp), WALK_ROOT);
  EXPECT_THAT(process.addresses(), ElementsAre(at(0x510), at(0x110), at(0x210)));
}

// A caller that counts from a register which calls may change, as AES-GCM of OpenSSL does: what was sampled holds as long as it
// leads to a frame.
TEST(Unwinder, OtherRegistersAreDoubtedFurtherOut) {
  Process process(functions());
  process.put(kStack + 0x80 - 8, at(0x210));
  RegisterValues registers;
  EXPECT_EQ(process.walk(at(0x410), kStack, 0, &registers), WALK_UNSUPPORTED);
  registers.values[10] = kStack + 0x80;
  registers.known = 1u << 10;
  EXPECT_EQ(process.walk(at(0x410), kStack, 0, &registers), WALK_ROOT);
  process.put(kStack + 16, at(0x410));
  EXPECT_EQ(process.walk(at(0x10), kStack, 0, &registers), WALK_ROOT);
  EXPECT_THAT(process.addresses(), ElementsAre(at(0x10), at(0x410), at(0x210)));
  const auto no_call = [](ProcessAddress) { return std::optional<std::uint64_t>(0); };
  EXPECT_EQ(process.walk(at(0x10), kStack, 0, &registers, no_call), WALK_UNSUPPORTED);
  for (const std::uint64_t elsewhere : {std::uint64_t{0}, kStack, kStack + 0x84, kStack + 0x90,
                                        kStack + (std::uint64_t{2} << 20), ~std::uint64_t{7}}) {
    registers.values[10] = elsewhere;
    EXPECT_EQ(process.walk(at(0x10), kStack, 0, &registers), WALK_UNSUPPORTED) << std::hex << elsewhere;
    EXPECT_THAT(process.addresses(), ElementsAre(at(0x10), at(0x410)));
  }
}

TEST(Unwinder, BelowASignalHandlerOtherRegistersAreItsOwn) {
  Process process(functions());
  process.put(kStack + 16, at(0x301));
  process.put(kStack + 24 + 168, at(0x410));       // what was interrupted counts from r10
  process.put(kStack + 24 + 160, kStack + 0x200);  // rsp
  process.put(kStack + 0x280 - 8, at(0x210));
  RegisterValues registers;
  registers.values[10] = kStack + 0x280;
  registers.known = 1u << 10;
  EXPECT_EQ(process.walk(at(0x10), kStack, 0, &registers), WALK_UNSUPPORTED);
}

TEST(Unwinder, StackThatWasCopiedInPartEndsTheWalkThere) {
  Process process(functions());
  EXPECT_EQ(process.walk(at(0x10), kStack + 0x1000 - 16, 0), WALK_STACK_CUT);
  EXPECT_THAT(process.addresses(), ElementsAre(at(0x10)));
  EXPECT_EQ(process.walk(at(0x10), kStack - 0x100, 0), WALK_READ_FAULT);
}

TEST(Unwinder, StackPointerThatDoesNotMoveEndsTheWalk) {
  SectionBuilder frames;
  frames.fde(frames.cie(), kCode, 0x100, bytes({0x0e, 0}));
  Process process(frames.raw());
  process.put(kStack + 0x80 - 8, at(0x11));
  EXPECT_EQ(process.walk(at(0x10), kStack + 0x80, 0), WALK_NO_PROGRESS);
}

TEST(Unwinder, AddressOutsideOfEveryMappingEndsTheWalk) {
  Process process(functions());
  process.put(kStack + 16, 0x1234);
  EXPECT_EQ(process.walk(at(0x10), kStack, 0), WALK_NO_MAPPING);
  EXPECT_THAT(process.addresses(), ElementsAre(at(0x10), 0x1234));
}

TEST(Unwinder, CodeWithoutRulesIsALeafOrHasAFramePointer) {
  Process process(functions());
  process.put(kStack + 0x40, at(0x210));  // on top of the stack
  EXPECT_EQ(process.walk(at(0x20000), kStack + 0x40, 0), WALK_ROOT);
  EXPECT_THAT(process.addresses(), ElementsAre(at(0x20000), at(0x210)));

  process.put(kStack + 0x40, 5);
  process.put(kStack + 0x80, 0);
  process.put(kStack + 0x88, at(0x210));
  EXPECT_EQ(process.walk(at(0x20000), kStack + 0x40, kStack + 0x80), WALK_ROOT);
  EXPECT_EQ(process.walk(at(0x20000), kStack + 0x40, kStack + 0x81), WALK_NO_RULE);
}

TEST(Unwinder, CodeMadeAtRunTimeGoesByTheFramePointer) {
  Process process(functions());
  process.space().add({0x500000}, {0x501000}, 0, nullptr);
  process.put(kStack + 0x40, at(0x110));  // looks like a return address, and is none
  process.put(kStack + 0x80, 0);
  process.put(kStack + 0x88, at(0x210));
  EXPECT_EQ(process.walk(0x500010, kStack + 0x40, kStack + 0x80), WALK_ROOT);
  EXPECT_THAT(process.addresses(), ElementsAre(0x500010, at(0x210)));
}

// HotSpot's interpreter pushes the address at which it goes on, and jumps into the method.
TEST(Unwinder, CodeMadeAtRunTimeMayReturnBehindAJump) {
  Process process(functions());
  process.space().add({0x500000}, {0x501000}, 0, nullptr);
  const auto code = [](ProcessAddress address) {
    return std::optional<std::uint64_t>(address.value < kBias ? 0 : std::uint64_t{0xe8} << 24);
  };
  const std::uint64_t fp = kStack + 0x80, next_fp = kStack + 0xc0;
  const auto walk = [&] { return process.walk(0x500010, kStack + 0x40, fp, nullptr, code); };
  process.put(fp, next_fp);
  process.put(fp + 8, 0x500020);
  process.put(next_fp, 0);
  process.put(next_fp + 8, at(0x210));
  EXPECT_EQ(walk(), WALK_ROOT);
  EXPECT_THAT(process.addresses(), ElementsAre(0x500010, 0x500020, at(0x210)));
  for (const std::uint64_t no_frame :
       {std::uint64_t{0}, fp, fp - 8, next_fp + 4, fp + (std::uint64_t{2} << 20)}) {
    process.put(fp, no_frame);
    EXPECT_EQ(walk(), WALK_NO_RULE) << no_frame;
  }
  process.put(fp, next_fp);
  process.put(next_fp + 8, 0x500030);
  EXPECT_EQ(walk(), WALK_NO_RULE) << "the chain ends there";
  EXPECT_THAT(process.addresses(), ElementsAre(0x500010, 0x500020));
}

TEST(Unwinder, CodeReaderSeparatesReturnAddressesFromNumbers) {
  Process process(functions());
  process.put(kStack + 0x40, at(0x210));
  std::vector<std::uint64_t> asked;
  const auto no_call = [&](ProcessAddress address) -> std::optional<std::uint64_t> {
    asked.push_back(address.value);
    return 0;
  };
  EXPECT_EQ(process.walk(at(0x20000), kStack + 0x40, 0, nullptr, no_call), WALK_NO_RULE);
  EXPECT_THAT(asked, ::testing::Contains(at(0x210) - 8));
  const auto call = [](ProcessAddress) { return std::optional<std::uint64_t>(std::uint64_t{0xe8} << 24); };
  EXPECT_EQ(process.walk(at(0x20000), kStack + 0x40, 0, nullptr, call), WALK_ROOT);
}

class DeepRecursion : public ::testing::Test {
 protected:
  DeepRecursion() {
    SectionBuilder frames;
    frames.fde(frames.cie(), kCode, 0x100, {});
    space_.add({at(0)}, {at(0x1000)}, kBias,
               std::make_shared<Table>(testing::table_of({.eh_frame = frames.raw()})));
  }
  // `frames` with a word each; the caller of all is another place, and has none.
  walk_end walk(std::size_t frames) {
    std::vector<std::byte> stack(frames * 8);
    for (std::size_t i = 0; i + 1 < frames; ++i) {
      const std::uint64_t address = at(i + 2 == frames ? 0x20 : 0x10);
      std::memcpy(stack.data() + i * 8, &address, 8);
    }
    out_.clear();
    return Unwinder(space_).unwind({at(0x10), kStack, 0, nullptr, {kStack}, stack}, out_);
  }
  AddressSpace space_;
  std::vector<FrameAddress> out_;
};

TEST_F(DeepRecursion, IsKeptWholeAsLongAsItFits) {
  EXPECT_EQ(walk(WALK_MAX_FRAMES), WALK_ROOT);
  EXPECT_EQ(out_.size(), std::size_t{WALK_MAX_FRAMES});
  EXPECT_EQ(out_.back().address.value, at(0x20));
  EXPECT_EQ(out_[WALK_LEAF_FRAMES].address.value, at(0x10));
}

TEST_F(DeepRecursion, LosesItsMiddleAndKeepsBothEnds) {
  for (const std::size_t frames : {WALK_MAX_FRAMES + 1, 5000}) {
    EXPECT_EQ(walk(frames), WALK_MIDDLE_CUT);
    EXPECT_EQ(out_.size(), std::size_t{WALK_MAX_FRAMES});
    EXPECT_EQ(out_[WALK_LEAF_FRAMES - 1].address.value, at(0x10));
    EXPECT_EQ(out_[WALK_LEAF_FRAMES].address.value, std::uint64_t{WALK_LEFT_OUT});
    EXPECT_EQ(out_[WALK_LEAF_FRAMES + 1].address.value, at(0x10));
    EXPECT_EQ(out_.back().address.value, at(0x20));
  }
}

TEST_F(DeepRecursion, HasALimit) {
  EXPECT_EQ(walk(WALK_MOST_STEPS + 1), WALK_DEPTH_LIMIT);
  EXPECT_EQ(out_.size(), std::size_t{WALK_MAX_FRAMES});
}

}  // namespace
}  // namespace fathom::unwind
