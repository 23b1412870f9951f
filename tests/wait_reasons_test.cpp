// The reported reasons of waits, in a program that knows them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json reasons_of(const std::string& recording) {
  const Outcome said = fathom({"report", recording, "--metric", "off-cpu", "--json"});
  EXPECT_TRUE(said.ok()) << said.describe();
  const json report = json::parse(said.output, nullptr, false);
  return report.is_discarded() ? json() : report.at("waits").at("reasons");
}

json row_of(const json& reasons, std::string_view start, std::string_view site) {
  for (const json& row : reasons) {
    if (row.at("reason").get<std::string>().starts_with(start) && row.at("site") == site) return row;
  }
  return {};
}

// Of many waits some stand for the others: what is left of the total at the far end of its error. Three totals are held
// against the program's, so each error is taken half as wide again.
double at_least(const json& row) {
  return row.at("total_s").get<double>() - 1.5 * row.at("total_error_s").get<double>();
}

TEST(WaitReasonsTruth, PoolReaderWriterLockAndNameServerAreRecognisedInTheirPlaces) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  const Outcome program =
      fathom({"record", "-o", folder / "x.fathom", "--", RECOGNISED_WAITS, "3", folder / "log"});
  ASSERT_TRUE(program.ok()) << program.describe();
  const std::map<std::string, double> truth = answer_of(program);
  const json reasons = reasons_of(folder / "x.fathom");
  const json pool = row_of(reasons, "a connection of a pool", "ConnectionPool::acquire()");
  ASSERT_FALSE(pool.is_null()) << reasons.dump(1);
  EXPECT_EQ(pool.at("evidence"), "ConnectionPool::acquire()");
  EXPECT_GE(pool.at("threads"), 2);
  // The program's clock counts the time in the run queue, too: on a busy machine that is much of it.
  EXPECT_LE(at_least(pool), 1.05 * truth.at("query_database") + 0.1);
  EXPECT_GT(pool.at("total_s").get<double>(), 0);
  const json lock = row_of(reasons, "a reader-writer lock", "read_table");
  ASSERT_FALSE(lock.is_null()) << reasons.dump(1);
  EXPECT_THAT(lock.at("evidence").get<std::string>(), HasSubstr("pthread_rwlock_rdlock"));
  EXPECT_LE(at_least(lock), 1.05 * truth.at("read_table") + 0.1);
  const json names = row_of(reasons, "an answer of the DNS", "look_up_peer");
  ASSERT_FALSE(names.is_null()) << reasons.dump(1);
  EXPECT_LE(at_least(names), 1.05 * truth.at("look_up_peer") + 0.1);
  EXPECT_GE(names.at("max_s").get<double>(), 0.018) << "the server takes 20 ms for an answer";
  const std::string table = fathom({"report", folder / "x.fathom", "--waits"}).output;
  EXPECT_THAT(table, HasSubstr("a connection of a pool"));
  EXPECT_THAT(table, HasSubstr("an answer of the DNS"));
}

}  // namespace
}  // namespace fathom::support
