#include "analysis/summary/hot_spot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"
#include "analysis/summary/report.h"
#include "present/sentences/hot_spot_sentences.h"

namespace fathom::analysis {
namespace {

using testing::HasSubstr;

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

TEST_F(HotSpots, FurtherOnesAreToldByTheirNames) {
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

TEST_F(HotSpots, OperatorsAreToldByWhoCallsThemAlsoWhereTheyWereInlined) {
  sample(50, {{"encode"}});
  sample(30, {{"operator==(Key const&, Key const&)", "Table::find(Key const&)"}});
  EXPECT_THAT(sentence(), HasSubstr("; next is operator==, called by Table::find, with 38 %."));
}

TEST_F(HotSpots, ThoseWhoseNamesReadAlikeAreToldByWhoCallsThem) {
  sample(50, {{"Shop::serve"}, {"Pool<int>::take()"}});
  sample(30, {{"Shop::fill"}, {"Pool<char>::take()"}});
  const std::string text = sentence();
  EXPECT_THAT(text, HasSubstr("Pool::take, called by Shop::serve, accounts for 62 %"));
  EXPECT_THAT(text, HasSubstr("; next is Pool::take, called by Shop::fill, with 38 %."));
}

}  // namespace
}  // namespace fathom::analysis
