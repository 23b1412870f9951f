#include "analysis/annotate/code_costs.h"

#include <gtest/gtest.h>

namespace fathom::annotate {
namespace {

// hot() at 0x100 by itself, calling leaf() from 0x110, and calling itself from 0x120.
class CodeCostsTest : public testing::Test {
 protected:
  CodeCostsTest() : builder_(profile_) {
    module_ = builder_.module(
        {model::ModuleKind::kFile, builder_.string("prog"), builder_.string("/prog"), {}, {}, {}});
    profile_.processes.push_back({});
    profile_.threads.push_back({});
    profile_.meta.end_ns = 1'000'000'000;
  }
  model::FrameId frame(std::uint64_t address, std::vector<model::Builder::NamedLine> lines) {
    const model::FrameId id = builder_.frame(module_, {address});
    builder_.name_frame(id, lines);
    return id;
  }
  void sample(const std::vector<model::FrameId>& root_first, std::int64_t value = 1) {
    model::StackId stack{0};
    for (const model::FrameId id : root_first) stack = builder_.stack(stack, id);
    model::Sample row;
    row.value = value;
    row.stack = stack;
    profile_.samples.push_back(row);
  }
  Cost at(const CodeCosts& costs, std::uint64_t address) const {
    const auto place = costs.places.find(PlaceKey{module_, ElfAddress{address}, 0});
    return place == costs.places.end() ? Cost{-1, -1} : place->second.cost;
  }
  model::Profile profile_;
  model::Builder builder_;
  model::ModuleId module_;
};

TEST_F(CodeCostsTest, TheLeafHasSelfAndACallerHasTotalOnly) {
  const auto main = frame(0x50, {{"main", "m.c", 3}});
  const auto self = frame(0x100, {{"hot", "m.c", 10}}), call = frame(0x110, {{"hot", "m.c", 11}});
  const auto leaf = frame(0x200, {{"leaf", "m.c", 20}});
  sample({main, self}, 7);
  sample({main, call, leaf}, 5);
  sample({main, leaf}, 3);
  const auto costs = code_costs(profile_, {}, "hot");
  ASSERT_TRUE(costs) << costs.error().message;
  EXPECT_EQ(costs->cost, (Cost{7, 12}));
  EXPECT_EQ(costs->all, 15);
  EXPECT_EQ(at(*costs, 0x100), (Cost{7, 7}));
  EXPECT_EQ(at(*costs, 0x110), (Cost{0, 5}));
  EXPECT_EQ(costs->places.size(), 2U);
}

TEST_F(CodeCostsTest, RecursionCountsOnce) {
  const auto again = frame(0x120, {{"hot", "m.c", 12}}), self = frame(0x100, {{"hot", "m.c", 10}});
  sample({again, again, again, self}, 4);
  const auto costs = code_costs(profile_, {}, "hot");
  ASSERT_TRUE(costs);
  EXPECT_EQ(costs->cost, (Cost{4, 4}));
  EXPECT_EQ(at(*costs, 0x120), (Cost{0, 4}));
}

TEST_F(CodeCostsTest, AFunctionThatIsInlinedIsFoundInItsHost) {
  const auto inside = frame(0x130, {{"square", "s.h", 3}, {"hot", "m.c", 13}});
  const auto self = frame(0x100, {{"hot", "m.c", 10}});
  sample({inside}, 2);
  sample({self}, 1);
  const auto inlined = code_costs(profile_, {}, "square");
  ASSERT_TRUE(inlined);
  EXPECT_EQ(inlined->cost, (Cost{2, 2}));
  EXPECT_EQ(inlined->inlined.size(), 1U);
  const auto host = code_costs(profile_, {}, "hot");
  ASSERT_TRUE(host);
  EXPECT_EQ(host->cost, (Cost{3, 3})) << "what was inlined is of its code";
  EXPECT_TRUE(host->inlined.empty());
}

TEST_F(CodeCostsTest, NamesWithoutAddressesAreStillPlacesOfTheirOwn) {
  const auto other = builder_.named_frame("other", module_), hot = builder_.named_frame("hot", module_);
  sample({other, hot}, 2);
  sample({hot, other}, 3);
  const auto costs = code_costs(profile_, {}, "hot");
  ASSERT_TRUE(costs);
  EXPECT_EQ(costs->cost, (Cost{2, 5}));
  ASSERT_EQ(costs->places.size(), 1U);
  EXPECT_EQ(costs->places.begin()->second.cost, (Cost{2, 5}));
}

TEST_F(CodeCostsTest, ThePatternIsThatOfCallers) {
  sample({frame(0x100, {{"hot_one", "m.c", 1}})});
  sample({frame(0x200, {{"hot_two", "m.c", 2}})});
  EXPECT_EQ(code_costs(profile_, {}, "hot").error().kind, ErrorKind::kUsage);
  EXPECT_EQ(code_costs(profile_, {}, "cold").error().kind, ErrorKind::kNotFound);
  const auto both = code_costs(profile_, {}, "/hot_/");
  ASSERT_TRUE(both);
  EXPECT_EQ(both->functions, (std::vector<std::string>{"hot_one", "hot_two"}));
}

}  // namespace
}  // namespace fathom::annotate
