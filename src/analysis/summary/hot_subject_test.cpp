#include "analysis/summary/hot_subject.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "analysis/core/hand_made_profile.h"

namespace fathom::analysis {
namespace {

using testing::ElementsAre;

// Stacks in one line each: "main;parse;memcpy 40", root first. The first letter of a name says what kind of code it is:
// m: starts everything, o: own, l: a library, p: plumbing, k: kernel work, u: without a name, n: the same of a library,
// x: the same of the program, g: generated without names, c: of a library that collects garbage.
std::vector<std::string> subjects_of(const std::string& stacks) {
  HandMade hand;
  const auto app = hand.module("app");
  const auto thread = hand.thread(hand.process(10, "app"), 10, "app");
  std::map<std::string, model::FrameId> frames;
  std::istringstream lines(stacks);
  for (std::string stack; lines >> stack;) {
    int count = 0;
    lines >> count;
    std::vector<model::FrameId> chain;
    std::istringstream names(stack);
    for (std::string name; std::getline(names, name, ';');) {
      if (!frames.contains(name)) frames[name] = hand.frame(app, {name});
      chain.push_back(frames[name]);
    }
    hand.sample(thread, hand.stack(chain), count);
  }
  const CallTree tree = build_call_tree(hand.profile, {});
  std::vector<std::string> found;
  for (const HotSubject& subject : find_subjects(tree, [&](const TreeNode& node) -> CodeFact {
         switch (tree.name(node).front()) {
           case 'm':
             return {CodeRank::kStart};
           case 'o':
             return {CodeRank::kOwn};
           case 'l':
             return {CodeRank::kLibrary};
           case 'p':
             return {CodeRank::kPlumbing};
           case 'k':
             return {CodeRank::kKernel};
           case 'g':
             return {CodeRank::kLibrary, true};
           case 'n':
             return {CodeRank::kNone, true};
           case 'x':
             return {CodeRank::kNone, false, 0, true};
           case 'c':
             return {CodeRank::kLibrary, false, 1};
           default:
             return {};
         }
       }))
    found.push_back((subject.grouped ? "(generated)" : tree.names[subject.name]) +
                    (subject.spread ? " spread" : "") + (subject.itself ? " itself" : "") + " " +
                    std::to_string(subject.total));
  return found;
}

TEST(HotSubject, IsTheDeepestFunctionThatAccountsForItsShare) {
  EXPECT_THAT(subjects_of("main;o_run;o_serve;o_parse 60 main;o_run;o_serve 10 main;o_run;o_log 30"),
              ElementsAre("o_parse 60", "o_log 30", "o_serve itself 10"));
}

// An interpreter calls itself through helpers that no list names.
TEST(HotSubject, IsNoStepBetweenFunctionsThatStartEverything) {
  EXPECT_THAT(subjects_of("main;m_loop;o_call;m_loop;o_work 60 main;m_loop;o_call;m_loop 30 main;m_loop 10"),
              ElementsAre("o_work 60"));
  EXPECT_THAT(subjects_of("main;m_loop;o_timers;m_enter;g_code 90 main;m_loop;o_timers 10"),
              ElementsAre("(generated) 90"));
  EXPECT_THAT(subjects_of("main;m_loop;o_timers;m_enter;g_code 50 main;m_loop;o_timers 50"),
              ElementsAre("o_timers 100"))
      << "half of the time is its own";
  EXPECT_THAT(subjects_of("main;o_serve;m_enter 90 main;o_serve 10"), ElementsAre("o_serve 100"))
      << "main starts it, and what it spends in the interpreter is what it does";
}

TEST(HotSubject, IsNoStepBelowItThatTakesASmallPart) {
  // Each of many callees has a tenth of it: the caller is the answer.
  std::string stacks;
  for (int i = 0; i < 10; ++i) stacks += "main;o_serve;o_part" + std::to_string(i) + " 9 ";
  EXPECT_THAT(subjects_of(stacks + "main;o_log 10"), ElementsAre("o_serve 90", "o_log 10"));
}

// A call of a third that leaves the rest of its caller unexplained: the caller explains more.
TEST(HotSubject, IsTheCallerIfItsLargestCalleesLeaveMuchOpen) {
  EXPECT_THAT(subjects_of("u_main;l_digest;l_final;u1 37 u_main;l_digest;l_release 21 u_main;l_digest;u2 20 "
                          "u_main;l_digest;l_a 6 u_main;l_digest;l_b 6 u_main;l_digest 10"),
              ElementsAre("l_digest 100"));
  EXPECT_THAT(subjects_of("u_main;l_digest;l_final;u1 45 u_main;l_digest;l_release 35 u_main;l_digest 20"),
              ElementsAre("l_final 45", "l_release 35", "l_digest itself 20"));
}

// A web framework calls the program's handlers: it takes more than each of them, and explains nothing.
TEST(HotSubject, IsNoFrameworkThatCallsTheHandlers) {
  EXPECT_THAT(
      subjects_of("p_run;l_poll;l_route;o_execute;o_send 31 p_run;l_poll;l_route;o_execute;o_block 26 "
                  "p_run;l_poll;l_route;o_execute 5 p_run;l_poll;l_route;p_log 5 p_run;l_mine 33"),
      ElementsAre("o_send 31", "o_block 26", "l_mine 33"));
  EXPECT_THAT(subjects_of("m_main;l_serve;o_get 18 m_main;l_serve;o_put 17 m_main;l_serve;o_list 16 "
                          "m_main;l_serve 19 m_main;p_wait 20"),
              ElementsAre("o_get 18", "o_put 17", "o_list 16"));
}

// What a library does itself between calls of own code remains its own.
TEST(HotSubject, IsTheLibraryThatSpendsTheTimeBetweenCallsOfOwnCode) {
  EXPECT_THAT(subjects_of("m_main;l_sort;o_compare 30 m_main;l_sort 70"), ElementsAre("l_sort 100"));
}

// A server's loop: the first subject must not suppress the code next to it.
TEST(HotSubject, IsFollowedByItsNeighbours) {
  EXPECT_THAT(
      subjects_of("main;o_loop;o_phases;o_content;o_filter 40 main;o_loop;o_phases;o_content;o_close 8 "
                  "main;o_loop;o_phases 4 main;o_loop;o_accept 16 main;o_loop;o_wait 12 main;o_loop 20"),
      ElementsAre("o_filter 40", "o_accept 16", "o_wait 12"));
}

TEST(HotSubject, TheLargestComesFirst) {
  EXPECT_THAT(
      subjects_of("main;o_finish;o_instantiate;o_substitute 33 main;o_finish;o_instantiate 14 "
                  "main;o_parse;o_a 9 main;o_parse;o_b 9 main;o_parse;o_c 9 main;o_parse;o_d 12 main 14"),
      ElementsAre("o_parse 39", "o_substitute 33", "o_instantiate itself 14"));
}

// A collector's inner functions do the same as its entry, which has all of it.
TEST(HotSubject, IsTheEntryOfWhatDoesOneThing) {
  EXPECT_THAT(
      subjects_of("m_eval;c_collect;c_deduce;c_visit 48 m_eval;c_collect;c_untrack 20 m_eval;l_dict 32"),
      ElementsAre("c_collect 68", "l_dict 32"));
}

TEST(HotSubject, IsALibraryWithoutNamesIfNoNamedFunctionPasses) {
  EXPECT_THAT(subjects_of("m_eval;n1;n2;p_new 12 m_eval;n1;n3;p_set 11 m_eval;n1;n2 67 m_eval 10"),
              ElementsAre("(generated) 90"));
  EXPECT_THAT(subjects_of("m_eval;n1;n2;o_new 16 m_eval;n1;n3 67 m_eval 17"),
              ElementsAre("(generated) 83", "o_new 16"));
  EXPECT_THAT(subjects_of("m_eval;l_step;n1;n2;p_new 12 m_eval;l_step;n1;n2 68 m_eval 20"),
              ElementsAre("l_step 80"));
}

// A stripped library with exported names: signing and verifying have half of its time each.
TEST(HotSubject, AreTheNamedFunctionsThatTogetherExplainCodeWithoutNames) {
  EXPECT_THAT(subjects_of("u_main;n1;n2;l_sign;n3 45 u_main;n1;n4;l_verify;n5 49 u_main;n1 6"),
              ElementsAre("l_verify 49", "l_sign 45"));
  EXPECT_THAT(subjects_of("u_main;n1;n2;l_sign;n3 18 u_main;n1;n4;l_verify;n5 20 u_main;n1 62"),
              ElementsAre("(generated) 100", "l_verify 20"));
}

// As in an interpreter, whose loop has nearly all: what it runs is the answer.
TEST(HotSubject, IsNotTheFunctionThatStartsEverything) {
  std::string stacks = "main;m_eval;o_collect;o_visit 18 main;m_eval;o_collect;o_delete 18 ";
  for (int i = 0; i < 16; ++i) stacks += "main;m_eval;o_part" + std::to_string(i) + " 4 ";
  EXPECT_THAT(subjects_of(stacks), ElementsAre("o_collect 36"));
  EXPECT_THAT(subjects_of("main;m_eval 60 main;m_eval;o_a 14 main;m_eval;o_b 13 main;m_eval;o_c 13"),
              ElementsAre("m_eval 100"));
}

// As in Python, where a type's call goes to its __init__, which is interpreted again.
TEST(HotSubject, IsNoFunctionThatOnlyLeadsFromTheLoopIntoTheLoopAgain) {
  std::string stacks = "main;m_eval;o_call;o_init;m_eval;o_encode 36 ";
  for (int i = 0; i < 16; ++i)
    stacks += "main;m_eval;o_call;o_init;m_eval;o_part" + std::to_string(i) + " 4 ";
  EXPECT_THAT(subjects_of(stacks), ElementsAre("o_encode 36"));
}

TEST(HotSubject, IsReportedAsSpreadIfNoFunctionPasses) {
  std::string stacks;
  for (int i = 0; i < 10; ++i)
    stacks += "main;o_part" + std::to_string(i) + " " + std::to_string(9 + i % 2) + " ";
  EXPECT_THAT(subjects_of(stacks), ElementsAre("o_part1 spread 10"));
}

TEST(HotSubject, HasTwoWhereTheTreeForks) {
  EXPECT_THAT(subjects_of("main;o_run;o_left;u1 45 main;o_run;o_right;u2 40 main;o_run 15"),
              ElementsAre("o_left 45", "o_right 40", "o_run itself 15"));
}

TEST(HotSubject, CountsRecursionOnce) {
  EXPECT_THAT(subjects_of("main;o_walk;o_walk;o_walk 50 main;o_walk;o_visit;o_walk 30 main;o_log 20"),
              ElementsAre("o_walk 80", "o_log 20"));
}

TEST(HotSubject, IsTheOwnCodeThatTheLibraryWorksFor) {
  EXPECT_THAT(subjects_of("main;o_check;l_match;p_memcpy 70 main;o_check 5 main;o_log 25"),
              ElementsAre("o_check 75", "o_log 25"));
  EXPECT_THAT(subjects_of("main;o_flush;k_fsync 60 main;o_log 40"), ElementsAre("o_flush 60", "o_log 40"));
}

TEST(HotSubject, IsOtherCodeIfThatIsTheAnswer) {
  // A collector's threads, which no own function started.
  EXPECT_THAT(subjects_of("p_start;l_collect 70 main;o_log 30"), ElementsAre("l_collect 70", "o_log 30"));
  // A stripped program above a library with names: the library's entry, and no unnamed caller.
  EXPECT_THAT(
      subjects_of(
          "u_main;u_run;l_step;u_exec;u_btree 60 u_main;u_run;l_step;u_exec;p_memcpy 30 u_main;u_run 10"),
      ElementsAre("l_step 90"));
  EXPECT_THAT(subjects_of("u_main;u_copy;k_read 80 u_main 20"), ElementsAre("k_read 80"));
}

TEST(HotSubject, IsTheNamedCallerOfCodeWithoutNames) {
  EXPECT_THAT(subjects_of("main;o_serve;u1 40 main;o_serve;u2 40 main;o_log 20"),
              ElementsAre("o_serve 80", "o_log 20"));
}

TEST(HotSubject, IsAllGeneratedCodeTogether) {
  EXPECT_THAT(subjects_of("m_node;g1 30 m_node;g2 30 m_node;g3;p_memcpy 5 m_node;l_collect 35"),
              ElementsAre("(generated) 65", "l_collect 35"));
  EXPECT_THAT(subjects_of("m_node;g1 44 m_node;o_collect 39 m_node 17"),
              ElementsAre("(generated) 44", "o_collect 39"));
}

// Each thread of an interpreter in a library begins with helpers of its own.
TEST(HotSubject, IsNoLibraryThatStartsAnInterpreter) {
  EXPECT_THAT(
      subjects_of("u_thread;l_rescue;l_invoke;m_exec;l_multiply 60 u_thread;l_rescue;l_invoke;m_exec 40"),
      ElementsAre("l_multiply 60"));
  EXPECT_THAT(subjects_of("main;o_update;m_pcall;u_concat 60 main;o_draw 40"),
              ElementsAre("o_update 60", "o_draw 40"))
      << "the program's own call of an interpreter is an answer";
}

// A loop of events in a library without names runs a stripped server: that is no cost of the library.
TEST(HotSubject, IsNoLibraryThatOnlyCallsTheProgram) {
  EXPECT_THAT(subjects_of("u_main;n1;n2;x_serve 50 u_main;n1;x_log 30 u_main;n1;n2 20"),
              ElementsAre("(generated) 20"));
  EXPECT_THAT(subjects_of("u_main;n1;n2;x_serve 60 u_main;n1;x_log 30 u_main;n1;n2 10"), ElementsAre());
  EXPECT_THAT(subjects_of("m_main;x_serve;l_deflate;n1 80 m_main;x_serve 20"), ElementsAre("l_deflate 80"));
  EXPECT_THAT(subjects_of("m_main;x_serve;n1 50 m_main;x_serve;n2;p_copy 40 m_main;x_serve 10"),
              ElementsAre("(generated) 90", "p_copy 40"));
}

TEST(HotSubject, IsMainOnlyIfItTakesTheTimeItself) {
  EXPECT_THAT(subjects_of("main 90 main;o_log 10"), ElementsAre("main 100"));
  EXPECT_THAT(subjects_of("main;p_memcpy 80 main 20"), ElementsAre("main 100"));
}

TEST(HotSubject, IsMissingWithoutAnyName) {
  EXPECT_THAT(subjects_of("u_main;u_run 60 u_main 40"), ElementsAre());
}

// For any tree: the first subject is no wider than all samples, and none is reported twice.
TEST(HotSubject, SubjectsAreDifferentAndAddUpToNoMoreThanAll) {
  unsigned seed = 7;
  const auto next = [&](unsigned below) {
    seed = seed * 1103515245 + 12345;
    return (seed >> 16) % below;
  };
  for (int round = 0; round < 200; ++round) {
    std::string stacks;
    int all = 0;
    for (unsigned i = 0; i < 1 + next(30); ++i) {
      std::string stack = "main";
      for (unsigned depth = next(8); depth > 0; --depth)
        stack += std::string(";") + "olpkum"[next(6)] + "_" + std::to_string(next(5));
      const int count = 1 + static_cast<int>(next(50));
      stacks += stack + " " + std::to_string(count) + " ";
      all += count;
    }
    const auto subjects = subjects_of(stacks);
    int sum = 0;
    std::set<std::string> names;
    for (const std::string& subject : subjects) {
      sum += std::stoi(subject.substr(subject.rfind(' ')));
      EXPECT_TRUE(names.insert(subject.substr(0, subject.find(' '))).second) << stacks;
    }
    EXPECT_LE(sum, all) << stacks;
  }
}

}  // namespace
}  // namespace fathom::analysis
