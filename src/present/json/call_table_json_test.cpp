#include "present/json/call_table_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/random_profile.h"

namespace fathom::present {
namespace {

TEST(CallTableJson, HasFunctionsTheirCallersAndThePathsToThem) {
  analysis::CallTable table;
  analysis::CallsOfFunction put;
  put.name = "put";
  put.module = "libdb.so";
  put.sums.calls = 3;
  put.sums.returned = 2;
  put.sums.total_ns = 100;
  put.sums.longest_ns = 60;
  analysis::CallsFromCaller caller;
  caller.name = "serve";
  caller.paths.push_back({{"serve", "main"}, put.sums});
  put.callers.push_back(caller);
  table.functions.push_back(put);
  const auto json = nlohmann::json::parse(to_json(table, "server", 1.5, 0));
  EXPECT_EQ(json["target"], "server");
  const auto& function = json["functions"].at(0);
  EXPECT_EQ(function["name"], "put");
  EXPECT_EQ(function["calls"], 3);
  EXPECT_EQ(function["mean_ns"], 50.0);
  EXPECT_EQ(function["not_returned"], 1);
  EXPECT_TRUE(function["bytes"].is_null()) << "no size was asked for";
  EXPECT_EQ(function["callers"].at(0)["paths"].at(0)["path"].at(1), "main");
}

TEST(CallTableJson, OfAnyProfileIsSound) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto table = analysis::make_call_table(model::random_profile(seed), {});
    if (!table) continue;
    EXPECT_TRUE(nlohmann::json::accept(to_json(*table, "\xff", 1, 2))) << seed;
  }
}

}  // namespace
}  // namespace fathom::present
