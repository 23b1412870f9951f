#include "analysis/heap/allocator_cpu.h"

#include <gtest/gtest.h>

#include <tuple>

#include "analysis/heap/hand_made_heap.h"

namespace fathom::analysis {
namespace {

using model::ModuleKind;

// One stack and one sample of it for each place at which a sample may be.
class Places : public HandMadeHeap {
 public:
  Places() {
    app_ = module("app");
    libc_ = module("libc.so.6");
    kernel_ = module("[kernel]", ModuleKind::kKernel);
    thread_ = thread(process(10, "app"), 11, "worker");
    allocator("glibc 2.36", libc_);
    main_ = frame(app_, {"main"});
    work_ = frame(app_, {"work"});
  }
  model::FrameId app(const std::string& name) { return frame(app_, {name}); }
  model::FrameId libc(const std::string& name) { return frame(libc_, {name}); }
  model::FrameId kernel(const std::string& name) { return frame(kernel_, {name}); }
  // Below main and work, root first.
  void at(std::vector<model::FrameId> leaf, int count = 1) {
    leaf.insert(leaf.begin(), {main_, work_});
    sample(thread_, stack(leaf), count);
  }
  AllocatorCpu cpu() const { return allocator_cpu(profile, {}).value(); }

  model::ModuleId app_, libc_, kernel_;

 private:
  model::ThreadId thread_;
  model::FrameId main_, work_;
};

TEST(AllocatorCpu, IsNotKnownWhereCpuWasNotSampled) {
  EXPECT_FALSE(allocator_cpu(small_heap().profile, {}));
}

// What is known of a stack is kept only where there are more samples than stacks.
TEST(AllocatorCpu, IsTheSameForOneSampleOfAStackAndForMany) {
  Places once, often;
  for (Places* places : {&once, &often}) {
    const int count = places == &often ? 50 : 1;
    places->at({places->libc("malloc")}, count);
    places->at({places->libc("free"), places->libc("munmap"), places->kernel("do_munmap")}, count);
    places->at({places->app("std::vector<int>::_M_realloc_insert"), places->libc("malloc")}, count);
    places->at({}, count);
  }
  for (model::Sample& sample : once.profile.samples) sample.value = 50;
  ASSERT_GT(once.profile.stacks.size(), once.profile.samples.size());
  ASSERT_LT(often.profile.stacks.size(), often.profile.samples.size());
  const AllocatorCpu a = once.cpu(), b = often.cpu();
  EXPECT_EQ(a.total, 200);
  EXPECT_EQ(std::tuple(a.total, a.inside, a.kernel, a.page_faults),
            std::tuple(b.total, b.inside, b.kernel, b.page_faults));
  ASSERT_EQ(a.functions.size(), b.functions.size());
  for (std::size_t i = 0; i < a.functions.size(); ++i) {
    EXPECT_EQ(a.functions[i].name, b.functions[i].name);
    EXPECT_EQ(a.functions[i].inside, b.functions[i].inside);
  }
}

TEST(AllocatorCpu, CountsWhatStandsBelowAllocators) {
  Places places;
  places.at({places.libc("malloc")}, 2);
  places.at({places.libc("malloc"), places.libc("_int_malloc")}, 3);
  places.at({places.libc("calloc"), places.libc("__memset_avx2_unaligned_erms")}, 4);
  places.at({places.libc("malloc"), places.unnamed(places.libc_, 0x1234)}, 5);
  places.at({places.libc("free"), places.libc("munmap"), places.kernel("do_munmap")}, 6);
  places.at({}, 80);
  const AllocatorCpu cpu = places.cpu();
  EXPECT_EQ(cpu.total, 100);
  EXPECT_EQ(cpu.inside, 20);
  EXPECT_EQ(cpu.kernel, 6);
  EXPECT_DOUBLE_EQ(cpu.share(), 0.2);
  ASSERT_EQ(cpu.functions.size(), 1u);
  EXPECT_EQ(cpu.functions[0].name, "work");
  EXPECT_EQ(cpu.functions[0].inside, 20);
}

TEST(AllocatorCpu, IsSeparateForEachProcess) {
  Places places;
  places.at({places.libc("malloc")}, 3);
  const auto other = places.process(20, "child");
  const auto stack = places.stack({places.app("main"), places.app("grow"), places.libc("malloc")});
  places.sample(places.thread(other, 21, "child"), stack, 5);
  EXPECT_EQ(places.cpu().inside, 8);
  const auto each = allocator_cpu_by_process(places.profile, {}).value();
  const AllocatorCpu& of_child = each.at(other.value);
  EXPECT_EQ(of_child.inside, 5);
  ASSERT_EQ(of_child.functions.size(), 1u);
  EXPECT_EQ(of_child.functions[0].name, "grow");
  EXPECT_EQ(each.size(), 2u);
}

TEST(AllocatorCpu, NamesTheCallerOfTheCLibraryThatAsked) {
  Places places;
  places.at({places.libc("fopen"), places.libc("__GI___libc_malloc")}, 3);
  const AllocatorCpu cpu = places.cpu();
  EXPECT_EQ(cpu.inside, 3);
  ASSERT_EQ(cpu.functions.size(), 1u);
  EXPECT_EQ(cpu.functions[0].name, "work");
}

TEST(AllocatorCpu, NamesWhoWantedTheMemoryAndNotTheContainerThatGrew) {
  Places places;
  places.at({places.app("render[abi:cxx11]"), places.libc("std::string::_M_mutate"),
             places.libc("operator new"), places.libc("malloc")},
            3);
  const AllocatorCpu cpu = places.cpu();
  ASSERT_EQ(cpu.functions.size(), 1u);
  EXPECT_EQ(cpu.functions[0].name, "render[abi:cxx11]");
  EXPECT_EQ(cpu.functions[0].module, "app");
  EXPECT_EQ(cpu.functions[0].inside, 3);
}

TEST(AllocatorCpu, LeavesTheProgramsOwnWorkToIt) {
  Places places;
  places.at({places.libc("memcpy")});                                 // not below an allocator
  places.at({places.kernel("asm_exc_page_fault")});                   // the first touch of new memory
  places.at({places.app("malloc_hook"), places.app("count_bytes")});  // ends above the allocator
  places.at({places.unnamed(places.app_, 0x500)});
  const AllocatorCpu cpu = places.cpu();
  EXPECT_EQ(cpu.total, 4);
  EXPECT_EQ(cpu.inside, 0);
  EXPECT_EQ(cpu.page_faults, 1);
}

TEST(AllocatorCpu, LeavesTheTracersOwnTimeOut) {
  Places places;
  const auto tracer = places.frame(places.module("[fathom]", ModuleKind::kNames), {"(heap tracer)"});
  places.at({places.libc("malloc"), tracer}, 7);
  places.at({places.libc("malloc")}, 3);
  const AllocatorCpu cpu = places.cpu();
  EXPECT_EQ(cpu.tracer, 7);
  EXPECT_EQ(cpu.total, 3);
  EXPECT_EQ(cpu.inside, 3);
}

TEST(AllocatorCpu, OfAnAllocatorThatAHookCallsIsTheAllocators) {
  Places places;
  const auto tracer = places.frame(places.module("[fathom]", ModuleKind::kNames), {"(heap tracer)"});
  places.at({places.app("grow"), tracer, places.libc("malloc")}, 5);
  const AllocatorCpu cpu = places.cpu();
  EXPECT_EQ(cpu.tracer, 0);
  EXPECT_EQ(cpu.inside, 5);
}

}  // namespace
}  // namespace fathom::analysis
