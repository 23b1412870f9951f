// fathom diff, run on files.
#include "analysis/heap/hand_made_heap.h"
#include "cli/testing_program.h"

namespace fathom::cli {
namespace {

TEST_F(Cli, DiffReportsChangesAndFailsOnRequest) {
  const std::string base = folder_ + "/base.fathom", fresh = folder_ + "/new.fathom";
  ASSERT_TRUE(store::Writer::create(base).value().finish(analysis::side_of_change(false)));
  ASSERT_TRUE(store::Writer::create(fresh).value().finish(analysis::side_of_change(true)));
  const Outcome text = run({"diff", base, fresh, "--wide"});
  EXPECT_EQ(text.status, 0);
  EXPECT_EQ(text.error, "");
  EXPECT_THAT(text.out, HasSubstr("Trie::root (trie.rs:311) went from 10.0 % to 30.0 %"));
  EXPECT_THAT(run({"diff", base, base}).out, HasSubstr("No function changed by more than noise"));

  const Outcome failed = run({"diff", base, fresh, "--fail-if", "self > +50% : Trie::root"});
  EXPECT_EQ(failed.status, 5);
  EXPECT_THAT(failed.error,
              StartsWith("fathom: self > +50% : Trie::root holds: Trie::root: 10.0 % → 30.0 %"));
  EXPECT_EQ(run({"diff", base, fresh, "--fail-if", "self > +500% : Trie::root"}).status, 0);
  EXPECT_EQ(run({"diff", base, base, "--fail-if", "total > +1%"}).status, 0);
  EXPECT_EQ(run({"diff", "--fail-if", "total > +1%", base, fresh}).status, 5)
      << "files may follow a condition";

  EXPECT_THAT(run({"diff", base, fresh, "--json"}).out, StartsWith("{\n  \"format_version\": 1,"));
  EXPECT_THAT(run({"diff", base, fresh, "--markdown"}).out, StartsWith("### CPU"));
  EXPECT_THAT(run({"diff", base, fresh, "--folded"}).out,
              HasSubstr("worker-#;main;Server::serve<alloc::string::String>;Trie::root 200 600\n"));
  EXPECT_THAT(run({"diff", base, fresh, "--power", "1%"}).out, HasSubstr("four times out of five"));
  const std::string picture = folder_ + "/diff.svg";
  EXPECT_EQ(run({"diff", base, fresh, "--flamegraph", picture}).status, 0);
  EXPECT_THAT(read_file(picture).value(), HasSubstr("Trie::copy"));
}

// A check whose function was renamed, or which is about a whole that is always the same, passed for ever without a word.
TEST_F(Cli, DiffSaysThatAConditionCanNeverHold) {
  const std::string base = folder_ + "/base.fathom", fresh = folder_ + "/new.fathom";
  ASSERT_TRUE(store::Writer::create(base).value().finish(analysis::side_of_change(false)));
  ASSERT_TRUE(store::Writer::create(fresh).value().finish(analysis::side_of_change(true)));
  const Outcome nothing = run({"diff", base, fresh, "--fail-if", "total > +5% : Tree::root"});
  EXPECT_EQ(nothing.status, 0);
  EXPECT_EQ(
      nothing.error,
      "fathom: total > +5% : Tree::root: neither side has anything of this name, so this can never hold\n");
  const Outcome shares = run({"diff", base, fresh, "--normalize", "share", "--fail-if", "total > +5%"});
  EXPECT_EQ(shares.status, 2);
  EXPECT_THAT(shares.error,
              HasSubstr("the whole of them is the same on both sides\ntry: --normalize absolute"));
}

// What a whole run allocated is compared per second, too, and the condition stood there once more with that unit.
TEST_F(Cli, DiffSaysAConditionOfTheHeapOnce) {
  analysis::HandMadeHeap before = analysis::small_heap(), after = analysis::small_heap();
  after.slice();
  after.row({0}, {50'000, 50'000'000}, {50'000, 50'000'000});
  const std::string base = folder_ + "/base.fathom", fresh = folder_ + "/new.fathom";
  for (auto [path, hand] : {std::pair(base, &before), std::pair(fresh, &after)}) {
    hand->profile.meta.facts["command"] = "server";
    hand->profile.meta.facts["exit"] = "0";
    ASSERT_TRUE(store::Writer::create(path).value().finish(hand->profile));
  }
  const Outcome outcome = run({"diff", base, fresh, "--top", "10", "--fail-if", "allocated > +5%"});
  EXPECT_EQ(outcome.status, 5) << outcome.error;
  EXPECT_THAT(outcome.out, HasSubstr("allocated bytes per second"));
  EXPECT_EQ(outcome.error.find(" holds: "), outcome.error.rfind(" holds: ")) << outcome.error;
}

TEST_F(Cli, DiffTakesRangesRunsAndFoldedStacks) {
  const std::string base = folder_ + "/base.fathom", fresh = folder_ + "/new.fathom";
  ASSERT_TRUE(store::Writer::create(base).value().finish(analysis::side_of_change(false)));
  ASSERT_TRUE(store::Writer::create(fresh).value().finish(analysis::side_of_change(true)));
  EXPECT_THAT(run({"diff", base, "--base", ":10", "--new", "10:"}).out,
              HasSubstr("No function changed by more than noise"));
  const Outcome runs = run({"diff", "--base", base, base, "--new", fresh, fresh});
  EXPECT_EQ(runs.status, 0);
  EXPECT_THAT(runs.out, HasSubstr("base  2 runs ("));
  const std::string a = file("a.folded", "app;main;parse 300\napp;main;write 700\n");
  const std::string b = file("b.folded", "app;main;parse 500\napp;main;write 500\n");
  const Outcome folded = run({"diff", a, b, "--wide"});
  EXPECT_EQ(folded.status, 0);
  EXPECT_THAT(folded.out, HasSubstr("--normalize share"));
  EXPECT_THAT(folded.out, HasSubstr("parse went from 30.0 % to 50.0 %"));
}

TEST_F(Cli, DiffComparesPhasesByTheirMarksAndProcessesByTheirNumbers) {
  const std::string file = folder_ + "/base.fathom";
  model::Profile profile = analysis::side_of_change(true);
  profile.meta.facts["marks"] = "0.000 s: startup\n5.000 s: load\n10.000 s: rest\n15.000 s: load\n";
  ASSERT_TRUE(store::Writer::create(file).value().finish(profile));
  const Outcome once = run({"diff", file, "--base", "startup", "--new", "rest", "--wide"});
  EXPECT_EQ(once.status, 0) << once.error;
  EXPECT_THAT(once.out, HasSubstr("base.fathom startup (5.00 s, "));
  EXPECT_THAT(run({"diff", file, "--base", "startup", "--new", "load", "--wide"}).out, HasSubstr("2 runs ("));
  const Outcome unknown = run({"diff", file, "--base", "startup", "--new", "lunch"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(
      unknown.error,
      HasSubstr("'lunch' is neither a range of seconds nor a mark; the marks are 'startup', 'load', 'rest'"));
  EXPECT_THAT(run({"diff", file, "--base", "pid:10", "--new", "pid:10", "--wide"}).out,
              HasSubstr("base.fathom pid:10 ("));
  EXPECT_EQ(run({"diff", file, "--base", "pid:10", "--new", "pid:x"}).status, 2);
}

TEST_F(Cli, DiffSaysHowFarRunsLieApartAndHowEvenTheLoadWas) {
  const std::string base = folder_ + "/base.fathom", fresh = folder_ + "/new.fathom";
  ASSERT_TRUE(store::Writer::create(base).value().finish(analysis::side_of_change(false)));
  ASSERT_TRUE(store::Writer::create(fresh).value().finish(analysis::side_of_change(true)));
  const std::string equal = run({"diff", base, base, "--wide"}).out;
  EXPECT_THAT(equal, HasSubstr("1,150 samples, an even load)"));
  EXPECT_THAT(run({"diff", base, fresh, "--wide"}).out, HasSubstr("with 1.0 % assumed between runs"));
  const std::string runs =
      run({"diff", "--base", base, base, base, base, "--new", fresh, "--wide", "--top", "10"}).out;
  EXPECT_THAT(runs, HasSubstr("runs lie apart by 0.0 %"));
  EXPECT_THAT(runs, HasSubstr("The run-to-run variation is known for"));
  EXPECT_THAT(runs, Not(HasSubstr("is assumed")));
}

TEST_F(Cli, DiffRefusesWhatAreNoTwoSides) {
  const std::vector<std::vector<std::string>> wrong = {{recording_},
                                                       {recording_, recording_, recording_},
                                                       {recording_, "--base", "0:5"},
                                                       {recording_, "--base", "0:5", "--new", "5:x"},
                                                       {recording_, "--base", "5:0", "--new", "5:9"},
                                                       {"-", "-"},
                                                       {recording_, recording_, "--fail-if", "everything"},
                                                       {recording_, recording_, "--normalize", "work"},
                                                       {recording_, recording_, "--work-base", "1", "2"},
                                                       {recording_, recording_, "--work-base", "nan"},
                                                       {recording_, recording_, "--work-base", "inf"},
                                                       {recording_, recording_, "--work-new", "1e-320"},
                                                       {recording_, recording_, "--work-new", "-1"},
                                                       {recording_, recording_, "--power", "none"}};
  for (std::vector<std::string> arguments : wrong) {
    arguments.insert(arguments.begin(), "diff");
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 2) << arguments.back();
    EXPECT_THAT(outcome.error, HasSubstr("\ntry: ")) << arguments.back();
  }
  EXPECT_EQ(run({"diff", recording_, folder_ + "/nothing"}).status, 3);
  EXPECT_EQ(run({"diff", recording_, recording_, "--metric", "off-cpu"}).status, 3);
}

}  // namespace
}  // namespace fathom::cli
