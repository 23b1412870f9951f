#include "model/counted_limit.h"

#include <gtest/gtest.h>

namespace fathom::model {
namespace {

using Kind = CountedLimit::Kind;

TEST(CountedLimits, AreReadBackAsTheyWereWritten) {
  std::map<std::string, std::string> facts{{"limit", "x"}, {"limits", "y"}};
  const LimitsOfProcess first{12, {{Kind::kMappings, 48'313, 65'530}, {Kind::kDescriptors, 248, 256}}};
  const LimitsOfProcess second{7, {{Kind::kCommitted, 1ULL << 40, 1ULL << 41}}};
  put_counted_limits(first, facts);
  put_counted_limits(second, facts);
  put_counted_limits({9, {}}, facts);
  EXPECT_EQ(counted_limits_of(facts), (std::vector{second, first}));
}

TEST(CountedLimits, OfAFileThatIsWrongAreLeftOut) {
  EXPECT_TRUE(counted_limits_of({{"limit.x", "mappings 1 2"},
                                 {"limit.1", ""},
                                 {"limit.2", "mappings 1"},
                                 {"limit.3", "mappings 5 0"},
                                 {"limit.4", "mappings -1 5"},
                                 {"limit.5", "colours 1 5"}})
                  .empty());
  EXPECT_EQ(counted_limits_of({{"limit.6", "colours 1 5 tasks 3 4"}}),
            (std::vector{LimitsOfProcess{6, {{Kind::kTasks, 3, 4}}}}));
}

TEST(CountedLimits, AreKeptAtTheirLargestShareAndReportedFromSevenTenthsOn) {
  std::vector<CountedLimit> kept;
  keep_larger(kept, std::vector<CountedLimit>{{Kind::kMappings, 699, 1000}, {Kind::kDescriptors, 3, 1024}});
  EXPECT_TRUE(near_limits(kept).empty());
  keep_larger(kept, std::vector<CountedLimit>{{Kind::kMappings, 700, 1000}, {Kind::kDescriptors, 2, 1024}});
  EXPECT_EQ(kept, (std::vector<CountedLimit>{{Kind::kMappings, 700, 1000}, {Kind::kDescriptors, 3, 1024}}));
  keep_larger(kept, std::vector<CountedLimit>{{Kind::kDescriptors, 1000, 1024}});
  EXPECT_EQ(near_limits(kept),
            (std::vector<CountedLimit>{{Kind::kDescriptors, 1000, 1024}, {Kind::kMappings, 700, 1000}}));
}

}  // namespace
}  // namespace fathom::model
