#include "analysis/summary/hot_spot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"
#include "analysis/summary/report.h"
#include "present/sentences/hot_spot_sentences.h"

namespace fathom::analysis {
namespace {

using testing::HasSubstr;
using testing::Not;

// A program with one function that explains half of its time, and two that share the rest.
class HotSpots : public testing::Test {
 protected:
  // How many samples end in the function that main() calls by way of these, outermost first.
  void sample(int count, const std::vector<std::vector<std::string>>& frames) {
    std::vector<model::FrameId> chain{main_};
    for (const auto& names : frames) chain.push_back(hand_.frame(app_, names));
    hand_.sample(thread_, hand_.stack(chain), count);
  }
  std::string sentence() const {
    return present::sentence_of_hot_spot(make_report(hand_.profile, {}).value());
  }

  HandMade hand_;
  model::ModuleId app_ = hand_.module("app");
  model::ThreadId thread_ = hand_.thread(hand_.process(10, "app"), 10, "app");
  model::FrameId main_ = hand_.frame(app_, {"main"});
};

TEST_F(HotSpots, FurtherOnesAreListedByName) {
  sample(50, {{"encode"}});
  sample(30, {{"Shop::serve"}, {"Table::find"}});
  sample(20, {{"Shop::fill"}, {"Table::insert"}});
  EXPECT_THAT(sentence(), HasSubstr("; next are Table::find with 30 % and Table::insert with 20 %."));
}

TEST_F(HotSpots, CodeWithoutANameCountsForItsCaller) {
  sample(50, {{"encode"}});
  sample(30, {{"Shop::serve"}, {"app@0x2040"}});
  EXPECT_THAT(sentence(), HasSubstr("; next is Shop::serve with 38 %."));
}

TEST_F(HotSpots, OperatorsAreNamedWithTheirCallersAlsoWhereTheyWereInlined) {
  sample(50, {{"encode"}});
  sample(30, {{"operator==(Key const&, Key const&)", "Table::find(Key const&)"}});
  EXPECT_THAT(sentence(), HasSubstr("; next is operator==, called by Table::find, with 38 %."));
}

TEST_F(HotSpots, ThoseWithEqualNamesAreNamedWithTheirCallers) {
  sample(50, {{"Shop::serve"}, {"Pool<int>::take()"}});
  sample(30, {{"Shop::fill"}, {"Pool<char>::take()"}});
  const std::string text = sentence();
  EXPECT_THAT(text, HasSubstr("Pool::take, called by Shop::serve, accounts for 62 %"));
  EXPECT_THAT(text, HasSubstr("; next is Pool::take, called by Shop::fill, with 38 %."));
}

// What a subject before it calls was counted there.
TEST_F(HotSpots, TheCallerOfAFurtherOneIsThatOfItsOwnSamples) {
  sample(50, {{"Map::look_up"}, {"encode"}});
  sample(25, {{"Map::look_up"}, {"std::_Hash::find"}});
  sample(25, {{"Map::fill"}, {"std::_Hash::find"}});
  EXPECT_THAT(sentence(), HasSubstr("Map::look_up"));
  EXPECT_THAT(sentence(), Not(HasSubstr("called by Map::look_up")));
}

// libz without its debug file: "44 % of it in an unnamed function of libz (0x4b10), 34 % in an unnamed function of libz (0x5d80)".
TEST_F(HotSpots, SeveralFunctionsWithoutNamesAreOnePart) {
  const model::ModuleId lib = hand_.module("libz.so.1");
  const auto below = [&](int count, const char* name) {
    hand_.sample(thread_, hand_.stack({main_, hand_.frame(lib, {"deflate"}), hand_.frame(lib, {name})}),
                 count);
  };
  below(45, "libz.so.1@0x4b10");
  below(35, "libz.so.1@0x5d80");
  below(11, "libz.so.1@0x9000");
  hand_.sample(thread_, hand_.stack({main_, hand_.frame(lib, {"deflate"})}), 9);
  EXPECT_THAT(sentence(), HasSubstr("almost all of it in unnamed functions of libz"));
}

// node without names of its functions: "spread over many calls; the largest part is 7.6 % in [jit+0x7f4c78005d73]".
TEST_F(HotSpots, GeneratedCodeWithoutNamesIsOnePart) {
  const model::ModuleId generated = hand_.module("[jit]", model::ModuleKind::kAnonymous);
  for (int i = 0; i < 20; ++i)
    hand_.sample(thread_,
                 hand_.stack({main_, hand_.frame(app_, {"execute_pattern"}),
                              hand_.frame(generated, {"[jit+0x" + std::to_string(1000 + i) + "]"})}),
                 5);
  EXPECT_THAT(sentence(), HasSubstr("code generated at run time"));
  EXPECT_THAT(sentence(), Not(HasSubstr("[jit")));
}

// Two modules have a function of one name: the place is that of the one that is meant.
TEST_F(HotSpots, APlaceIsOfTheModuleThatIsMeant) {
  const model::FrameId own = hand_.frame(app_, {"walk"}),
                       other = hand_.frame(hand_.module("libtree.so"), {"walk"});
  const auto stand = [&](model::FrameId frame, const char* file) {
    model::Line& line = hand_.profile.lines[hand_.profile.frames[frame.value].first_line];
    line.file = hand_.builder.string(file);
    line.line = 7;
  };
  stand(own, "/home/me/own.cpp");
  stand(other, "/usr/src/tree.c");
  hand_.sample(thread_, hand_.stack({main_, own}), 60);
  hand_.sample(thread_, hand_.stack({main_, other}), 40);
  const std::string text = sentence();
  EXPECT_THAT(text, HasSubstr("walk (own.cpp:7), called by main, accounts for 60 %"));
  EXPECT_THAT(text, Not(HasSubstr("tree.c:7) accounts")));
  const HotPath path = make_report(hand_.profile, {}).value().hot_path;
  ASSERT_FALSE(path.frames.empty());
  EXPECT_EQ(path.frames.back().place.file, "own.cpp");
}

// Assembly that a Rust program links in belongs to the crate that calls it, whatever was sampled.
class LinkedCode : public testing::TestWithParam<bool> {};
TEST_P(LinkedCode, BelongsToItsCallers) {
  HandMade hand;
  const auto process = hand.process(10, "my-node");
  hand.profile.processes[process.value].executable = hand.builder.string("/usr/bin/my-node");
  const auto app = hand.module("my-node");
  const auto thread = hand.thread(process, 10, "my-node");
  const auto frame = [&](const char* name) { return hand.frame(app, {name}); };
  const auto root = frame("my_node::state::build_root"), keccak = frame("__KeccakF1600"),
             other = frame("alloy_trie::HashBuilder::add_leaf");
  hand.sample(thread,
              hand.stack({frame("<core::iter::Map<I,F> as core::iter::Iterator>::next"), root, keccak}), 58);
  hand.sample(thread, hand.stack({root}), 2);
  hand.sample(thread, hand.stack({other, keccak}), 30);
  hand.sample(thread, hand.stack({other}), 10);
  // Of code that the program does not call.
  hand.sample(thread, hand.stack({frame("tiny_keccak::Keccak::finalize"), keccak}), 150);
  if (GetParam()) hand.frame(app, {"launcher::main"});  // as a recording of waits sees it
  const HotPath path = make_report(hand.profile, {}).value().hot_path;
  EXPECT_EQ(path.own_self, 60);
  ASSERT_TRUE(path.spot);
  EXPECT_EQ(path.spot->name, "tiny_keccak::Keccak::finalize");
  EXPECT_EQ(path.spot->total, 150);
}
INSTANTIATE_TEST_SUITE_P(HotSpots, LinkedCode, testing::Bool());

}  // namespace
}  // namespace fathom::analysis
