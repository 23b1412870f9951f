#include "present/text/text_call_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/golden.h"
#include "model/random_profile.h"

namespace fathom::present {
namespace {

analysis::CallSums sums(std::uint64_t calls, std::uint64_t total_ns, std::uint64_t longest_ns) {
  analysis::CallSums made;
  made.calls = made.returned = calls;
  made.total_ns = total_ns;
  made.longest_ns = longest_ns;
  return made;
}

analysis::CallTable table() {
  analysis::CallTable made;
  analysis::CallsOfFunction put;
  put.name = "db::Table::put";
  put.sums = sums(1'200, 36'000'000, 4'000'000);
  put.sums.calls += 303;
  put.sums.counted_only = 300;
  put.sums.sized = 1'200;
  put.sums.bytes = 1'200 * 512;
  analysis::CallsFromCaller serve;
  serve.name = "serve";
  serve.paths = {{{"serve", "accept", "run", "loop", "start", "main", "__libc_start_main"},
                  sums(1'000, 30'000'000, 4'000'000)},
                 {{"serve", "main"}, sums(203, 6'000'000, 90'000)}};
  serve.paths[0].sums.sized = 1'200;
  serve.paths[0].sums.bytes = 1'200 * 512;
  analysis::CallsFromCaller nobody;
  nobody.paths = {{{}, {}}};
  nobody.paths[0].sums.calls = nobody.paths[0].sums.counted_only = 300;
  put.callers = {serve, nobody};
  analysis::CallsOfFunction open;
  open.name = "db_open";
  open.timed = false;
  open.sums.calls = 2;
  made.functions = {put, open};
  made.breakpoints = 2'703;
  made.own_ns = 9'000'000;
  made.notes = {
      "calls of db_open are counted and not timed: the jump at 0x1234 may lead out of it, or to a place "
      "within"};
  return made;
}

TEST(TextCallTable, FunctionsThenWhoCalledThemThenWhatIsMissing) {
  expect_golden("call_table.txt", call_table_text(table(), {}));
}

TEST(TextCallTable, SaysWhatWasCutOff) {
  TextOptions options;
  options.top = 1;
  EXPECT_THAT(call_table_text(table(), options), testing::HasSubstr("... 2 paths more (--top 0 shows all)"));
}

TEST(TextCallTable, AFunctionThatWasNotCalledIsAnAnswer) {
  EXPECT_THAT(call_table_text({}, {}), testing::StartsWith("The probed functions were not called.\n"));
}

TEST(TextCallTable, OfAnyProfileHoldsNoControlCharacters) {
  int seen = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto made = analysis::make_call_table(model::random_profile(seed), {});
    if (!made) continue;
    ++seen;
    for (const char c : call_table_text(*made, {}))
      ASSERT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << seed;
  }
  EXPECT_GT(seen, 10);
}

}  // namespace
}  // namespace fathom::present
