#include "formats/open/interrupt_wakers.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "model/system_call.h"

namespace fathom::open {
namespace {

TEST(InterruptWakers, AThreadThatATimerInterruptedDidNotEndTheWait) {
  model::Profile profile;
  model::Builder builder(profile);
  const auto kernel = builder.module({.kind = model::ModuleKind::kKernel,
                                      .name = builder.string("[kernel]"),
                                      .path = {},
                                      .build_id = {},
                                      .symbols_path = {}});
  const auto program = builder.module({.kind = model::ModuleKind::kFile,
                                       .name = builder.string("app"),
                                       .path = builder.string("/app"),
                                       .build_id = {},
                                       .symbols_path = {}});
  const auto stack_of = [&](std::initializer_list<std::pair<const char*, model::ModuleId>> root_first) {
    model::StackId stack;
    for (const auto& [name, module] : root_first)
      stack = builder.stack(stack, builder.named_frame(name, module));
    return stack;
  };
  const auto timer =
      stack_of({{"main", program}, {"asm_sysvec_apic_timer_interrupt", kernel}, {"hrtimer_wakeup", kernel}});
  const auto unlock = stack_of({{"main", program}, {"do_syscall_64", kernel}, {"futex_wake", kernel}});
  const auto own_name = stack_of({{"sysvec_of_the_app", program}});
  for (const auto waker_stack : {timer, unlock, own_name, model::StackId{}}) {
    model::Wait wait;
    wait.waker = model::ThreadId{0};
    wait.waker_stack = waker_stack;
    profile.waits.push_back(wait);
  }
  drop_interrupt_wakers(profile);
  EXPECT_EQ(profile.waits[0].waker, model::kNoThread);
  EXPECT_EQ(profile.waits[0].waker_stack.value, 0u);
  for (int i = 1; i < 4; ++i) EXPECT_EQ(profile.waits[i].waker.value, 0u) << i;
  EXPECT_EQ(profile.waits[1].waker_stack, unlock);
}

// Whatever thread runs while a timeout expires: mostly one of a program that is not recorded, whose stack is not known.
TEST(InterruptWakers, AThreadThatCannotEndTheWaitDidNot) {
  model::Profile profile;
  model::Builder builder(profile);
  profile.processes.resize(2);
  for (const std::uint32_t process : {0u, 0u, 1u}) {
    profile.threads.emplace_back();
    profile.threads.back().process = {process};
  }
  const auto number_of = [](std::string_view call) {
    for (std::int32_t number = 0; number < 512; ++number)
      if (model::system_call_name(number) == call) return number;
    return -1;
  };
  model::Module program;
  program.kind = model::ModuleKind::kFile;
  const auto unlock = builder.stack({}, builder.named_frame("unlock", builder.module(program)));
  struct Row {
    const char* call;
    std::uint64_t argument;
    std::int64_t result;
    std::uint32_t waker;  // 1: of the same process, 2: of another one
    model::StackId stack;
    bool stays;
  };
  constexpr std::int64_t kNone = model::Wait::kNoResult;
  for (const Row& row : std::vector<Row>{{"futex", 128, kNone, 2, {}, false},
                                         {"futex", 128 + 9, kNone, 2, {}, false},
                                         {"futex", 128, kNone, 1, {}, true},
                                         {"futex", 0, kNone, 2, {}, true},  // shared between processes
                                         {"futex", 128, kNone, 2, unlock, true},
                                         {"poll", 0, 0, 2, {}, false},
                                         {"pselect6", 0, 0, 1, unlock, false},
                                         {"poll", 0, 1, 2, {}, true},
                                         {"poll", 0, kNone, 2, {}, true},
                                         {"read", 128, 0, 2, {}, true}}) {
    model::Wait wait;
    wait.thread = {0};
    wait.waker = {row.waker};
    wait.waker_stack = row.stack;
    wait.system_call = number_of(row.call);
    wait.argument = row.argument;
    wait.result = row.result;
    profile.waits = {wait};
    drop_interrupt_wakers(profile);
    EXPECT_EQ(profile.waits[0].waker != model::kNoThread, row.stays)
        << row.call << " " << row.argument << " " << row.result << " " << row.waker;
  }
}

TEST(InterruptWakers, PackedWaitsLoseSuchWakersToo) {
  model::Profile profile;
  model::Builder builder(profile);
  model::Module kernel;
  kernel.kind = model::ModuleKind::kKernel;
  kernel.name = builder.string("[kernel]");
  const auto timer =
      builder.stack({}, builder.named_frame("asm_sysvec_apic_timer_interrupt", builder.module(kernel)));
  for (std::size_t i = 0; i < 2 * model::kRowsOfBlock + 5; ++i) {
    model::Wait wait;
    wait.start_ns = i;
    wait.waker = model::ThreadId{3};
    wait.waker_stack = i % 700 == 0 ? timer : model::StackId{};
    profile.waits.push_back(wait);
  }
  profile.packed_waits.take_from(profile.waits);
  drop_interrupt_wakers(profile);
  std::size_t i = 0;
  for (const model::Wait& wait : profile.all_waits()) {
    EXPECT_EQ(wait.start_ns, i);
    EXPECT_EQ(wait.waker, i % 700 == 0 ? model::kNoThread : model::ThreadId{3}) << i;
    EXPECT_EQ(wait.waker_stack.value, 0u) << i;
    ++i;
  }
  EXPECT_EQ(i, 2 * model::kRowsOfBlock + 5);
}

}  // namespace
}  // namespace fathom::open
