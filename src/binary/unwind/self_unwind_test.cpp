// This process walks a copy of its own stack, and must find what libgcc's unwinder finds (backtrace(3)):
// through frames of every shape, with and without frame pointers, through a signal handler, the vdso
// excluded, down to _start or the start of a thread.
#include <elf.h>
#include <execinfo.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <ucontext.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <map>
#include <thread>

#include "binary/elf/module_file.h"
#include "binary/unwind/unwinder.h"
#include "testdata/call_shapes.h"

namespace fathom::unwind {
namespace {

std::uint64_t page_down(std::uint64_t value) {
  return value & ~std::uint64_t{0xfff};
}

// The executable files of this process. Built once: tests load no libraries.
const AddressSpace& own_address_space() {
  static const AddressSpace space = [] {
    AddressSpace built;
    std::map<std::string, std::shared_ptr<const Table>> tables;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      unsigned long long start = 0, end = 0, offset = 0;
      char permissions[5] = {};
      int path_at = 0;
      if (std::sscanf(line.c_str(), "%llx-%llx %4s %llx %*s %*s %n", &start, &end, permissions, &offset,
                      &path_at) < 4)
        continue;
      const std::string path = line.substr(static_cast<std::size_t>(path_at));
      if (permissions[2] != 'x' || path.empty() || path.front() != '/') continue;
      const auto file = elf::ModuleFile::open(path);
      if (!file) continue;
      auto& table = tables[path];
      if (!table) table = std::make_shared<Table>(build_table(file->elf()).value());
      for (const elf::Segment& segment : file->elf().segments())
        if (segment.type == PT_LOAD && (segment.flags & PF_X) != 0 &&
            page_down(segment.offset.value) == offset)
          built.add({start}, {end}, start - page_down(segment.address.value), table);
    }
    return built;
  }();
  return space;
}

std::uint64_t end_of_stack(std::uint64_t sp) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long long start = 0, end = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx", &start, &end) == 2 && sp >= start && sp < end) return end;
  }
  return 0;
}

// By hand, as the address sanitizer watches memcpy, and all of the stack is more than any object on it.
[[gnu::no_sanitize_address]] std::vector<std::byte> copy_of_stack(std::uint64_t sp) {
  std::vector<std::byte> copy(end_of_stack(sp) - sp);
  const auto* from = reinterpret_cast<const volatile std::byte*>(sp);
  for (std::size_t i = 0; i < copy.size(); ++i) copy[i] = from[i];
  return copy;
}

struct Walk {
  walk_end end = WALK_NONE;
  std::vector<FrameAddress> frames;
  std::vector<std::uint64_t> expected;  // by backtrace(3)
};

// A leaf for the call shapes: `argument` is a Walk.
[[gnu::noinline]] void walk_here(void* argument) {
  auto& walk = *static_cast<Walk*>(argument);
  void* addresses[2000];
  const int count = ::backtrace(addresses, 2000);
  for (int i = 0; i < count; ++i) walk.expected.push_back(reinterpret_cast<std::uint64_t>(addresses[i]));

  ucontext_t context;
  ::getcontext(&context);
  const auto sp = static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RSP]);
  const auto copy = copy_of_stack(sp);
  UnwindInput input;
  input.pc = static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
  input.sp = sp;
  input.fp = static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RBP]);
  input.stack_start = {sp};
  input.stack = copy;
  walk.end = Unwinder(own_address_space()).unwind(input, walk.frames);
}

// The first frame is walk_here itself, at two places of it. The rest must be equal.
void expect_same(Walk walk) {
  EXPECT_EQ(walk.end, WALK_ROOT);
  std::vector<std::uint64_t> found;
  for (const FrameAddress& frame : walk.frames) found.push_back(frame.address.value);
  // Sanitizers put a backtrace of their own before libc's, and it finds itself.
  if (walk.expected.size() == found.size() + 1) walk.expected.erase(walk.expected.begin());
  ASSERT_EQ(found.size(), walk.expected.size());
  EXPECT_THAT(std::vector(found.begin() + 1, found.end()),
              ::testing::ElementsAreArray(walk.expected.begin() + 1, walk.expected.end()));
}

class SelfUnwind : public ::testing::TestWithParam<bool> {
 protected:
  const CallShapes& shapes() const { return GetParam() ? kWithFramePointer : kWithoutFramePointer; }
};

TEST_P(SelfUnwind, Recursion) {
  Walk walk;
  shapes().recursion(200, walk_here, &walk);
  EXPECT_GT(walk.frames.size(), 200u);
  expect_same(walk);
}

TEST_P(SelfUnwind, FrameOfVariableSize) {
  for (const int size : {1, 100, 5000}) {
    Walk walk;
    shapes().variable_size(size, walk_here, &walk);
    expect_same(walk);
  }
}

TEST_P(SelfUnwind, RealignedFrame) {
  for (const int size : {1, 100, 5000}) {
    Walk walk;
    shapes().realigned(size, walk_here, &walk);
    expect_same(walk);
  }
}

TEST_P(SelfUnwind, LargeFrame) {
  Walk walk;
  shapes().large(walk_here, &walk);
  expect_same(walk);
}

TEST_P(SelfUnwind, FrameThatSavesEveryRegister) {
  Walk walk;
  shapes().many_saved(3, walk_here, &walk);
  expect_same(walk);
}

TEST_P(SelfUnwind, AllShapesOnOneStack) {
  struct Chain {
    const CallShapes& shapes;
    Walk walk;
  } chain{shapes(), {}};
  shapes().realigned(
      77,
      [](void* first) {
        static_cast<Chain*>(first)->shapes.variable_size(
            33,
            [](void* second) {
              static_cast<Chain*>(second)->shapes.many_saved(
                  1,
                  [](void* third) {
                    auto& all = *static_cast<Chain*>(third);
                    all.shapes.recursion(5, walk_here, &all.walk);
                  },
                  second);
            },
            first);
      },
      &chain);
  expect_same(chain.walk);
}

Walk* g_signal_walk = nullptr;

TEST_P(SelfUnwind, SignalHandlerAndWhatItInterrupted) {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) { walk_here(g_signal_walk); };
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  Walk walk;
  g_signal_walk = &walk;
  shapes().variable_size(
      64, [](void*) { ::raise(SIGUSR1); }, nullptr);
  ASSERT_EQ(::sigaction(SIGUSR1, &before, nullptr), 0);
  expect_same(walk);
  const auto exact = std::count_if(walk.frames.begin(), walk.frames.end(), [](const FrameAddress& frame) {
    return frame.kind == FrameAddress::Kind::kInstructionPointer;
  });
  EXPECT_EQ(exact, 2);  // the leaf, and what the signal interrupted
}

TEST_P(SelfUnwind, ThreadDownToItsStart) {
  Walk walk;
  std::thread thread([&] { shapes().recursion(3, walk_here, &walk); });
  thread.join();
  expect_same(walk);
}

INSTANTIATE_TEST_SUITE_P(FramePointer, SelfUnwind, ::testing::Bool());

}  // namespace
}  // namespace fathom::unwind
