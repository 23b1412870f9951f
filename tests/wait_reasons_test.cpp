// What waits are said to be for, in a program that knows it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(WaitReasonsTruth, APoolAndAReaderWriterLockAreRecognisedInTheirPlaces) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  const Outcome program =
      fathom({"record", "-o", folder / "x.fathom", "--", RECOGNISED_WAITS, "3", folder / "log"});
  ASSERT_TRUE(program.ok()) << program.describe();
  const std::map<std::string, double> truth = answer_of(program);
  const Outcome said = fathom({"report", folder / "x.fathom", "--metric", "off-cpu", "--json"});
  ASSERT_TRUE(said.ok()) << said.describe();
  const json reasons = json::parse(said.output).at("waits").at("reasons");
  const auto reason = [&](std::string_view start, std::string_view site) {
    for (const json& row : reasons) {
      if (row.at("reason").get<std::string>().starts_with(start) && row.at("site") == site) return row;
    }
    return json();
  };
  const json pool = reason("a connection of a pool", "ConnectionPool::acquire()");
  ASSERT_FALSE(pool.is_null()) << reasons.dump(1);
  EXPECT_EQ(pool.at("evidence"), "ConnectionPool::acquire()");
  EXPECT_GE(pool.at("threads"), 2);
  // The program's clock counts the time in the run queue, too: on a busy machine that is much of it.
  EXPECT_LE(pool.at("total_s").get<double>(), 1.05 * truth.at("query_database") + 0.1);
  EXPECT_GT(pool.at("total_s").get<double>(), 0);
  const json lock = reason("a reader-writer lock", "read_table");
  ASSERT_FALSE(lock.is_null()) << reasons.dump(1);
  EXPECT_THAT(lock.at("evidence").get<std::string>(), HasSubstr("pthread_rwlock_rdlock"));
  EXPECT_LE(lock.at("total_s").get<double>(), 1.05 * truth.at("read_table") + 0.1);
  EXPECT_THAT(fathom({"report", folder / "x.fathom", "--waits"}).output, HasSubstr("a connection of a pool"));
}

}  // namespace
}  // namespace fathom::support
