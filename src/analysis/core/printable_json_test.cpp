#include "analysis/core/printable_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analysis/core/words.h"

namespace fathom::analysis {
namespace {

TEST(PrintableJson, HoldsNothingThatCommandsATerminalAndLosesNothing) {
  const std::string name = "a\u009b31m \u202eevil\u2066 \u200f\u061c\u2028 \x7f \u00e9\u2026\u00a0";
  const std::string text = printable_json(nlohmann::json(name).dump());
  EXPECT_EQ(text, R"("a\u009b31m \u202eevil\u2066 \u200f\u061c\u2028 \u007f )"
                  "\u00e9\u2026\u00a0\"");
  EXPECT_EQ(printable(text), text);
  EXPECT_EQ(nlohmann::json::parse(text).get<std::string>(), name);
  EXPECT_EQ(printable_json("{}"), "{}");
}

}  // namespace
}  // namespace fathom::analysis
