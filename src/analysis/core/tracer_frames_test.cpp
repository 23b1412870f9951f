#include "analysis/core/tracer_frames.h"

#include <gtest/gtest.h>

#include "analysis/core/call_tree.h"
#include "analysis/core/hand_made_profile.h"
#include "analysis/core/stack_groups.h"

namespace fathom::analysis {
namespace {

// main -> (heap tracer) -> malloc, as the hook of a GOT slot calls it; and the tracer at work itself, in the kernel and not.
struct Traced : testing::Test {
  Traced() {
    const auto app = hand.module("app"), libc = hand.module("libc.so.6");
    const auto kernel = hand.module("[kernel]", model::ModuleKind::kKernel);
    model::Module row;
    row.kind = model::ModuleKind::kNames;
    row.name = hand.builder.string("[fathom]");
    const auto fathom = hand.builder.module(row);
    const auto main = hand.frame(app, {"main"});
    const auto tracer = hand.frame(fathom, {"(heap tracer)"});
    const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
    hand.sample(thread, hand.stack({main}), 20);
    hand.sample(thread, hand.stack({main, tracer, hand.frame(libc, {"malloc"})}), 10);
    hand.sample(thread, hand.stack({main, tracer, tracer}), 50);
    hand.sample(thread, hand.stack({main, tracer, hand.frame(kernel, {"clear_page"})}), 5);
    hand.sample(thread, hand.stack({main, hand.frame(kernel, {"read"})}), 15);
  }
  HandMade hand;
};

std::string shown(const CallTree& tree) {
  std::string text;
  for (const TreeNode& node : tree.nodes)
    if (node.depth > 0)
      text += std::string(node.depth - 1, ' ') + tree.name(node) + " " + std::to_string(node.total) + "\n";
  return text;
}

TEST_F(Traced, TheTreeHasTheProgramAndItsAllocatorAndNotTheTracer) {
  const CallTree tree = build_call_tree(hand.profile, {.thread_roots = false});
  EXPECT_EQ(shown(tree),
            "main 45\n"
            " malloc 10\n"
            " read 15\n");
  EXPECT_EQ(tree.total, 45);
  EXPECT_EQ(tree.tracer, 55) << "told as one figure";
  EXPECT_EQ(tree.filtered, 0u) << "nobody has chosen to leave it out";
}

TEST_F(Traced, FromTheLeafItIsTheSame) {
  EXPECT_EQ(shown(build_call_tree(hand.profile, {.thread_roots = false, .reverse = true})),
            "main 20\n"
            "malloc 10\n"
            " main 10\n"
            "read 15\n"
            " main 15\n");
}

TEST_F(Traced, WhoAsksForTheTracerSeesIt) {
  const CallTree tree = build_call_tree(hand.profile, {.selection = {.tracer = true}, .thread_roots = false});
  EXPECT_EQ(tree.total, 100);
  EXPECT_EQ(tree.tracer, 0);
  EXPECT_NE(shown(tree).find("(heap tracer) 65"), std::string::npos) << shown(tree);
}

TEST_F(Traced, TablesOfModulesDoNotHaveIt) {
  const StackGroups groups = group_stacks(hand.profile, {}, GroupBy::kModule, SortBy::kTotal);
  std::string text;
  for (const GroupRow& row : groups.rows) text += row.name + " " + std::to_string(row.total) + "\n";
  EXPECT_EQ(text, "app 45\n[kernel] 15\nlibc.so.6 10\n");
}

// A thread that sleeps and wakes all the time spends much of its little CPU time in what fathom runs at each switch.
TEST(OwnBpfPrograms, AreNoTimeOfTheProgram) {
  HandMade hand;
  const auto app = hand.module("app"), kernel = hand.module("[kernel]", model::ModuleKind::kKernel);
  const auto main = hand.frame(app, {"main"}), schedule = hand.frame(kernel, {"__schedule"});
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto below = [&](std::string_view program, std::string_view helper, int samples) {
    std::vector<model::FrameId> frames{main, schedule, hand.frame(kernel, {std::string(program)})};
    if (!helper.empty()) frames.push_back(hand.frame(kernel, {std::string(helper)}));
    hand.sample(thread, hand.stack(frames), samples);
  };
  below("finish_task_switch", "", 10);
  below("bpf_prog_f2799eaf95f10592_thread_resumed", "", 3);
  below("bpf_prog_f2799eaf95f10592_thread_resumed", "__bpf_get_stack", 4);
  below("bpf_prog_0123456789abcdef_heap_probe_allo", "", 5);
  below("bpf_prog_0123456789abcdef_an_agent", "", 6);  // of another tool, whose users should know
  const CallTree tree = build_call_tree(hand.profile, {.thread_roots = false});
  EXPECT_EQ(tree.total, 16) << shown(tree);
  EXPECT_EQ(tree.tracer, 12);
  EXPECT_NE(shown(tree).find("an_agent 6"), std::string::npos);
}

TEST(OwnBpfPrograms, AreKnownByTheirWholeName) {
  EXPECT_TRUE(is_own_bpf_program("bpf_prog_1b544240fba80555_step_once"));
  for (const char* other : {"", "bpf_prog_", "bpf_prog_1b544240fba80555", "bpf_prog_1b544240fba80555_",
                            "step_once", "bpf_prog_1b544240fba80555_step_once_more", "bpf_trace_run1"})
    EXPECT_FALSE(is_own_bpf_program(other)) << other;
}

TEST_F(Traced, AProfileWithoutTracerPaysNothing) {
  HandMade other;
  other.sample(other.thread(other.process(1, "app"), 1, "app"),
               other.stack({other.frame(other.module("app"), {"f"})}), 1);
  EXPECT_TRUE(stacks_of_tracer(other.profile).empty());
}

}  // namespace
}  // namespace fathom::analysis
